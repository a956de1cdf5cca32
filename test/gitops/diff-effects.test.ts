// What a change of guardrails, aliases and settings does to callers: loosened, tightened, or neither.
import { test } from 'tap';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { diffConfigs } from '../../gitops/diff/diff.ts';
import { lines, one } from './load-fixtures.ts';

const config = (text: string): AssembledConfig => {
  const { config: loaded, problems } = one(text);
  if (loaded === undefined) throw new Error(lines(problems).join());
  return loaded;
};
const words = (before: string, after: string): string[] =>
  diffConfigs(config(before), config(after)).map(({ words: said }) => said);
const guard = (...entries: string[]): string => `guardrails: [${entries.map((entry) => `{ ${entry} }`).join(', ')}]`;
const opposite = (said: string): string =>
  said.replace(/^\w+/, (verb) => (verb === 'loosened' ? 'tightened' : 'loosened'));

await test('a guardrail that comes or goes has an effect, unless it only records', async (t) => {
  const pii = guard('name: a, user_paths: [/team], pii: {}');
  t.same(words('{}', pii), ['added (tightened): guardrail a: pii, action mask, user_paths [/team]']);
  t.same(words(pii, '{}'), ['removed (loosened): guardrail a']);
  for (const only of ['name: a, mode: shadow, pii: {}', 'name: a, pii: { action: flag }'])
    t.match(words(guard(only), '{}'), ['removed: guardrail a']);
});

await test('what a guardrail does less loosens, what it does more tightens, and the way back is the opposite', async (t) => {
  const cases: [tight: string, loose: string, said: string][] = [
    ['pii: { action: mask }', 'pii: { action: flag }', 'pii.action mask → flag'],
    ['pii: { action: block }', 'pii: { action: redact }', 'pii.action block → redact'],
    ['pii: { kinds: [email, card] }', 'pii: { kinds: [email] }', 'pii.kinds -card'],
    ['pii: {}', 'mode: shadow, pii: {}', 'mode enforce → shadow'],
    ['pii: {}', 'models: [m], pii: {}', 'models none → [m]'],
    ['user_paths: [/team], pii: {}', 'user_paths: [/team/app], pii: {}', 'user_paths +/team/app, -/team'],
    ['on: [input, output], pii: {}', 'pii: {}', 'on -output'],
    [
      'keywords: { words: [x, y], action: block }',
      'keywords: { words: [y], action: block }',
      'keywords.words (0 added, 1 removed)',
    ],
    [
      'regex: { patterns: [x, y], action: block }',
      'regex: { patterns: [x], action: block }',
      'regex.patterns (0 added, 1 removed)',
    ],
    ['limits: { max_tools: 1, max_tokens: 9 }', 'limits: { max_tokens: 9 }', 'limits.max_tools 1 → none'],
    ['limits: { allowed_tools: [] }', 'limits: { allowed_tools: [x] }', 'limits.allowed_tools +x'],
    ['webhook: { url: "https://a/b" }', 'webhook: { url: "https://a/b", fail: open }', 'webhook.fail closed → open'],
  ];
  for (const [tight, loose, said] of cases) {
    const [from, to] = [tight, loose].map((text) => guard(`name: a, ${text}`)) as [string, string];
    t.same(words(from, to), [`loosened: guardrail a: ${said}`]);
    t.match(words(to, from)[0], opposite('loosened: guardrail a: '), `and back: ${tight}`);
  }
});

await test('what is neither certain is a change, and no secret and no word is told', async (t) => {
  const hook = (token: string): string =>
    guard(`name: a, webhook: { url: "https://a/${token}", secret: ${token}, headers: { X-Key: ${token} } }`);
  t.same(words(hook('canary-1'), hook('canary-2')), [
    'changed: guardrail a: webhook.headers, webhook.secret, webhook.url',
  ]);
  const changes = [...diffConfigs(config(hook('canary-1')), config(hook('canary-2')))];
  t.notMatch(JSON.stringify(changes), /canary/);
  t.notMatch(JSON.stringify(diffConfigs(config('{}'), config(hook('canary-1')))), /canary/);
  const prompt = (text: string): string => guard(`name: a, system_prompt: { text: ${text} }`);
  t.same(words(prompt('x'), prompt('y')), ['changed: guardrail a: system_prompt.text']);
  t.match(words(guard('name: a, pii: {}'), prompt('x')), [/^changed: guardrail a: pii\.action mask → none/]);
  t.same(words(guard('name: a, pii: {}', 'name: b, pii: {}'), guard('name: b, pii: {}', 'name: a, pii: {}')), [
    'changed: setting order of guardrails: a, b → b, a',
  ]);
});

await test('settings of cache, CORS and audit, and who may use an alias, loosen and tighten', async (t) => {
  const alias = (paths: string): string =>
    `providers: { z: { type: openai, models: [m] } }\naliases: [{ source: x, target: z/m${paths} }]`;
  const cases: [tight: string, loose: string, said: string][] = [
    ['{}', 'cache: { enabled: true }', 'setting cache.enabled: false → true'],
    ['{}', 'cache: { scope: gateway }', 'setting cache.scope: user_path → gateway'],
    ['cache: { without: [/a, /b] }', 'cache: { without: [/a] }', 'setting cache.without: -/b'],
    [
      'cache: { semantic: { model: m } }',
      'cache: { semantic: { model: m, threshold: 0.5 } }',
      'setting cache.semantic.threshold: 0.92 → 0.5',
    ],
    ['{}', 'server: { cors: { origins: ["*"] } }', 'setting server.cors.origins: +*'],
    [
      'server: { cors: { origins: ["https://a"] } }',
      'server: { cors: { origins: ["*"] } }',
      'setting server.cors.origins: +*, -https://a',
    ],
    ['{}', 'server: { trusted_proxies: ["10.0.0.0/8"] }', 'setting server.trusted_proxies: +10.0.0.0/8'],
    ['{}', 'server: { body_limit: 64MiB }', 'setting server.body_limit: 32MiB → 64MiB'],
    ['{}', 'audit: { enabled: false }', 'setting audit.enabled: true → false'],
    ['{}', 'audit: { without: [/a] }', 'setting audit.without: +/a'],
    ['{}', 'audit: { sample: 0.1 }', 'setting audit.sample: 1 → 0.1'],
    ['{}', 'audit: { original_bodies: true }', 'setting audit.original_bodies: false → true'],
    ['budgets: { unpriced: refuse }', '{}', 'setting budgets.unpriced: refuse → allow'],
    [alias(', user_paths: [/a]'), alias(', user_paths: [/a, /b]'), 'alias x: user_paths +/b'],
    [alias(', user_paths: [/a/x]'), alias(', user_paths: [/a]'), 'alias x: user_paths +/a, -/a/x'],
    [alias(', user_paths: [/a]'), alias(''), 'alias x: user_paths [/a] → none'],
  ];
  for (const [tight, loose, said] of cases) {
    t.same(words(tight, loose), [`loosened: ${said}`]);
    t.match(words(loose, tight), [/^tightened: /], `and back: ${loose}`);
  }
  t.same(words(alias(', user_paths: [/a]'), alias(', user_paths: [/b]')), ['changed: alias x: user_paths +/b, -/a']);
  t.ok(words('{}', 'cache: { semantic: { model: m } }').includes('loosened: setting cache.semantic.model: none → m'));
  t.same(words('audit: { bodies: true }', '{}'), ['changed: setting audit.bodies: true → false']);
});
