// What operators have set, as YAML: what is put into git holds as before once it is deleted at the admin API.
import { array, assert, constantFrom, integer, property, record, string } from 'fast-check';
import { test } from 'tap';
import { parse } from 'yaml';
import { normaliseUserPath } from '../../domain/user-path.ts';
import { managedYaml } from '../../gitops/cli/managed-yaml.ts';
import {
  alias,
  authored,
  budget,
  filesOf,
  guardrail,
  issued,
  nowMs,
  problemsOf,
  rule,
  type Stored,
  standOf,
} from '../control-plane/drift-stand.ts';
import { anyCharacter } from '../support/arbitrary.ts';

const providers =
  'providers:\n  demo: { type: openai, base_url: "https://demo.test/v1", api_key: "k", models: [small, big] }\n';

/** Texts that YAML, or the gateway's variables, would read as something else. */
const odd = [
  '<<',
  'null',
  '~',
  'true',
  'yes',
  '1',
  '0x1F',
  '1.0',
  '1e3',
  '.inf',
  '2026-01-01',
  '=',
  '-',
  '- a',
  '? a',
  ': a',
  'a: b',
  'a:',
  '# a',
  'a # b',
  '*a',
  '&a',
  '!a',
  '|',
  '>',
  '%a',
  '@a',
  '`a`',
  '[a]',
  '{a}',
  '{a',
  'a, b',
  "it's",
  '"a"',
  "'",
  '"',
  '\\',
  '\\n',
  'a  b',
  'é',
  '日本',
  '😀',
  '\u00a0a',
  `\${HOME}`,
  `\${HOME:-x}`,
  '$HOME',
  '$$',
  '$$$',
  `$$\${A}`,
  '$a',
  '$5',
  `\${file:/etc/passwd}`,
  `\${`,
  'REDIS_URL',
  '$REDIS_URL',
  '__proto__',
  'constructor',
];
const pathOf = (text: string): string | undefined => normaliseUserPath(`/${text.replaceAll(/[:/]/g, '-')}`).path;

/** The texts of the export, beside files that have none of what was set. */
function exported(sets: readonly Stored[]): {
  readonly text: string;
  readonly before: object;
  readonly after: readonly object[];
} {
  const git = { 'providers.yaml': providers };
  const stand = standOf(filesOf(git), sets);
  const text = managedYaml(stand.overrides());
  const files = filesOf({ ...git, 'manual.yaml': text });
  const after = (['keep', 'error'] as const).map((variables) => {
    const problems = problemsOf(files, variables);
    if (problems.length > 0) throw new Error(problems.slice(0, 5).join('\n'));
    return standOf(files, [], variables).inForce();
  });
  return { text, before: stand.inForce(), after };
}

await test('what is put into git and deleted at the admin API holds as before, on both planes, whatever it is called', async (t) => {
  const paths = odd.flatMap((text) => pathOf(text) ?? []);
  const sources = odd.filter((text) => text.trim() === text && !text.includes('*') && !text.startsWith('\u00a0'));
  const labels = sources;
  const sets = [
    ...paths.map((path) => rule(path, { max_tokens: 2 ** 53 - 1, name: 'a name', on_store_loss: 'refuse' })),
    rule('/a', { period_seconds: 0, max_requests: 3 }),
    rule('/a', { period_seconds: 3_600, max_requests: 3, mode: 'shadow' }),
    rule('/a', { period_seconds: 300, max_requests: 3 }),
    rule('/Templates', { per_child: true }),
    rule('demo', { scope: 'provider' }),
    rule('demo/small', { scope: 'model', max_requests: null, max_tokens: 4 }),
    ...paths.map((path) => budget('user_path', path)),
    ...labels.map((label) => budget('label', label, { period_seconds: 7, amount_nano_dollars: 1 })),
    budget('user_path', '/a', { period_seconds: 2_592_000, mode: 'hard', per_child: true }),
    { kind: 'budget_settings', id: 'settings', body: { daily_reset_hour: 6, monthly_reset_day: 15 } },
    ...sources.map((source) =>
      alias(source, { description: source, user_paths: paths.slice(0, 3), when: 'tokens > 5' }),
    ),
    alias('two', {
      targets: [
        { model: 'demo/small', weight: 3, when: 'stream' },
        { model: 'demo/big', weight: 1, tier: 2 },
      ],
      enabled: false,
      hedge: { after: '2s' },
    }),
    guardrail('words', {
      on: ['input'],
      keywords: {
        words: odd.filter((text) => text.trim() !== ''),
        whole_words: false,
        replacement: '$$',
        action: 'mask',
      },
    }),
    guardrail('regex', {
      order: 3,
      regex: { patterns: ['\\$\\{x\\}', 'a$'], replacement: `\${1}`, action: 'mask' },
      user_paths: ['/a'],
    }),
    guardrail('prompt', { system_prompt: { text: `- a\n  b: \${C}\n\n# d\n`, position: 'before' } }),
    ...['Ann, editor', 'ann', 'ann', '<<', '日本', '-x-', `\${A}`].map((name) => issued(name)),
    issued('full', {
      userPath: '/a/$b',
      anyUserPath: false,
      labels: ['<<', '$$'],
      allowedModels: ['demo/*'],
      role: 'viewer',
      expiresAtMs: nowMs + 9e8,
      description: 'x: y',
    }),
  ];
  const { text, before, after } = exported(sets);
  t.same(after[0], before, 'on the control plane');
  t.same(after[1], before, 'on a proxy');
  t.notMatch(text, /kept|secret-/);
  t.match(text, /# set by ann on 2026-05-21T08:00:00.000Z\n +# launch day\n/);
  t.match(text, /- name: ann-2\n/);
});

await test('the same for any letters', async (t) => {
  const texts = string({ unit: anyCharacter, minLength: 1, maxLength: 12 });
  const sample = record({
    text: texts,
    seconds: integer({ min: 1, max: 2_147_483_647 }),
    cap: integer({ min: 1 }),
    isTemplate: constantFrom(true, false),
  });
  assert(
    property(array(sample, { maxLength: 6 }), (samples) => {
      const byId = new Map<string, Stored>();
      for (const { text, seconds, cap, isTemplate } of samples) {
        const path = pathOf(text);
        if (path === undefined || !path.isWellFormed()) continue;
        // One subject is a template or is none, in one entry.
        const each = rule(path, { period_seconds: seconds, max_requests: cap, per_child: isTemplate, reason: text });
        byId.set(each.id, each);
      }
      const { before, after } = exported([...byId.values()]);
      for (const each of after) t.same(each, before);
    }),
    { numRuns: 60 },
  );
});

await test('what has ended is left out; what the configuration cannot say is a comment that says why', (t) => {
  const ended = { expires_at: '2026-06-01T11:59:59.000Z' };
  const later = { expires_at: '2026-06-01T13:00:00.000Z' };
  const sets = [
    rule('/ended', ended),
    budget('label', 'ended', ended),
    rule('/blocked', { max_requests: 0, ...later, reason: 'a loop\nof theirs' }),
    rule('/until', later),
    guardrail('hook', {
      webhook: { url: 'https://hooks.test/T0/secret-path', timeout_ms: 2_000, fail: 'open' },
    }),
    { kind: 'target_drain', id: 'demo', body: { provider: 'demo', ...authored, ...later } },
    { kind: 'config_pin', id: 'config', body: { revision: '9f86d081884c', files: '', ...authored, ...later } },
    alias('lost', { targets: [{ model: 'nowhere/x', weight: 1 }] }),
    issued('gone', { expiresAtMs: nowMs - 1 }),
  ];
  const { text } = exported(sets.slice(0, 7));
  t.same(parse(text), {
    rate_limits: { user_paths: [{ path: '/until', limits: [{ period: 'minute', max_requests: 5 }] }] },
  });
  t.match(text, /# ends on 2026-06-01T13:00:00.000Z; an entry of the configuration has no end/);
  t.match(
    text,
    /# - rate limit user_path \/blocked minute: it is a block, .*; set by ann .*; a loop of theirs; ends on/,
  );
  t.match(text, /# - guardrail hook: the address of its webhook may hold a secret/);
  t.match(text, /# - drained target demo: a drain has an end/);
  t.match(text, /# - pinned revision 9f86d081884c: a pin has an end; .*; ends on 2026-06-01T13/);
  t.notMatch(text, /secret-path|ended/);
  t.match(exported(sets).text, /# - virtual model lost: the configuration would refuse it/);
  t.end();
});

await test('an override of an entry of git is the whole of it, with the caps that it takes from there', (t) => {
  const git = `${providers}rate_limits:\n  user_paths:\n    - path: /Team\n      limits:\n        - { period: minute, max_requests: 5, max_tokens: 9, name: theirs }\n`;
  const sets = [rule('/team', { max_requests: 50 }), rule('/team', { period_seconds: 3_600 })];
  const [minute, hour] = standOf(filesOf({ 'a.yaml': git }), sets).overrides();
  t.match(minute, {
    declared_at: 'a.yaml:7',
    entry: { subject: '/team', limit: { period: 'minute', max_requests: 50, max_tokens: 9, name: 'theirs' } },
  });
  t.notOk(hour && 'declared_at' in hour);
  const [same] = standOf(filesOf({ 'a.yaml': git }), [rule('/team')]).overrides();
  t.equal(same?.in_git, true, 'git says the same');
  t.end();
});
