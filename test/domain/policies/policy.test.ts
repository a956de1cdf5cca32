// Expressions of policies: what may be written, what it means, what is refused and where, and that nothing in them takes long or shows a secret.
import { test } from 'tap';
import { type AllFacts, membersOfKinds, notKnown, written } from '../../../domain/policies/kinds.ts';
import { askPolicies, compilePolicy } from '../../../domain/policies/policy.ts';
import type { Type } from '../../../domain/policies/type.ts';
import type { Policy } from '../../../schemas/types.ts';
import { loadExpressionParser } from '../../../schemas/validation/parse-expression.ts';

await loadExpressionParser();

const none = { provider: [], model: [], alias: [], guardrail: [], key: [], identity: [], budget: [] };
const paths = ['/', '/public', '/public/app'];
const facts: AllFacts = {
  ...none,
  provider: [
    { title: 'p', name: 'p', type: 'openai', base_url: 'https://a', dialects: ['chat'], timeouts: { total: '90s' } },
  ],
  key: [{ title: 'k', name: 'k', expires_at: '2027-01-31T00:00:00Z' }],
  rule: [
    { title: 'r', user_path: '/public', seconds: 60, max_tokens: 10, mode: 'enforce', per_child: false },
    { title: 's', provider: 'p', seconds: 60, max_requests: 20, mode: 'shadow', per_child: false },
  ],
  user_path: paths.map((path) => ({ title: path, path, depth: path.split('/').filter(Boolean).length })),
  config: { server: { body_limit: '32MiB' }, audit: { enabled: true } },
};

/** A variable, as the configuration writes it. */
const base = `$\{BASE}`;

function policyOf(given: Partial<Policy>): Policy {
  return { name: 'x', for: 'provider', expect: 'true', message: 'no', severity: 'error', except: [], ...given };
}

/** Whether the first entry keeps to it; the mistake in it when it has one. */
function held(expect: string, kind: Policy['for'] = 'provider', of: AllFacts = facts): boolean | string {
  const compiled = compilePolicy(policyOf({ for: kind, expect }));
  if (!('policy' in compiled)) return compiled.map(({ problem }) => problem).join();
  const [answer] = askPolicies([compiled], of);
  return answer?.findings[0] === undefined;
}

await test('what is written is what it means', (t) => {
  const rows: readonly [expect: string, holds: boolean, kind?: Policy['for']][] = [
    ['provider.type == "openai" && !(provider.name in ["a", "b"])', true],
    ['rules.exists(r, r.provider == provider.name)', true],
    ['rules.exists(r, r.provider == provider.name && r.mode == "enforce")', false],
    ['rules.all(r, r.seconds == 60)', true],
    ['rules.filter(r, r.mode == "shadow").size() == 1', true],
    ['rules.map(r, r.max_requests).sum() == 10 + 2 * 5', true],
    ['rules.exists(r, r.user_path == r.user_path && !has(r.provider))', true],
    ['"/public" in user_paths.map(u, u.path)', true],
    ['user_paths.exists(u, rules.exists(r, r.user_path == u.path && u.depth == 1))', true],
    ['"chat" in provider.dialects && "rerank" in provider.dialects == false', true],
    ['provider.base_url.matches("^https?://[a-z]+$") && provider.name.size() == 1', true],
    ['provider.timeouts.total <= "2m" && provider.timeouts.total > "60s"', true],
    ['key.expires_at < "2027-02-01T00:00:00Z"', true, 'key'],
    ['config.server.body_limit == "32MiB" && config.server.body_limit < "1GiB"', true, 'config'],
    ['user_path.depth == 0 ? user_path.path == "/" : user_path.path != "/"', true, 'user_path'],
    ['"/public/app".within("/public") && !"/publication".within("/public")', true],
    // Absent.
    ['provider.discovery.include.all(i, false) && provider.forward_headers.size() == 0', true],
    ['provider.auth == "aws"', false],
    ['provider.auth != "aws"', true],
    ['key.days_left <= 90', false, 'key'],
    ['key.days_left > 90', false, 'key'],
    ['-key.days_left < 90', false, 'key'],
    ['provider.ca_file.startsWith("")', false],
    ['has(provider.ca_file)', false],
    ['has(provider.api_key)', false],
  ];
  for (const [expect, holds, kind] of rows) t.equal(held(expect, kind), holds, expect);
  t.end();
});

await test('a mistake is named with its place, and what was probably meant', (t) => {
  const rows: readonly [expect: string, problem: RegExp, kind?: Policy['for']][] = [
    ['rule.exists(r, true)', /character 1 .*there is no "rule" here; all of them are rules/],
    ['provider.nam == "a"', /character 10 \("nam == \\"a\\""\): there is no member "nam"; did you mean "name"\?/],
    ['rules.exists(r, r.mod == "a")', /character 19 .*did you mean "mode"\?/],
    ['provider.type == "opnai"', /character 18 .*it is never "opnai"; did you mean "openai"\?/],
    ['"embedding" in provider.dialects', /character 1 .*did you mean "embeddings"\?/],
    ['provider.name == 3', /compares a text with a number/],
    ['provider.name', /expected true or false, found a text/],
    ['rules.exist(r, true)', /there is no exist\(\); did you mean "exists"\?/],
    ['rules.exists(r.mode == "x")', /exists is called like rules\.exists\(r, /],
    ['rules.exists(provider, true)', /"provider" has a meaning here already/],
    ['rules.mode == "shadow"', /a list is asked with exists, all, filter, map, size or in/],
    ['rules[0].mode == "shadow"', /places in brackets; ask a list with exists, all or in/],
    ['provider.name != null', /there is no null here: write has\(…\)/],
    ['provider.timeouts.total < 30', /compares a length of time with a number; write "30s" or "90d"/],
    ['provider.timeouts.total < "30 s"', /"30 s" is not a length of time; write/],
    ['provider.base_url.matches("(?=a)")', /the pattern has a lookahead or lookbehind, which RE2 cannot match/],
    ['"a".within("x:y")', /"x:y" has a colon in a segment/],
    ['provider.api_key == "sk-a"', /"api_key" may hold a secret: has\(…\) says whether it is there/],
    ['provider.name == "a" &&', /its end: it ends too early/],
    ['rules.all(a, rules.all(b, rules.all(c, rules.all(d, true))))', /loops are nested more than 3 deep/],
    [`${'('.repeat(400)}true${')'.repeat(400)}`, /mistake/],
    [`${'!'.repeat(998)}provider.learn_limits`, /1000 characters/],
  ];
  for (const [expect, problem, kind] of rows) t.match(held(expect, kind), problem, expect);
  t.match(compilePolicy(policyOf({ message: 'see {{provider.nam}}' })), [
    { key: 'message', problem: /character 16 \("nam}}"\): there is no member "nam"/ },
  ]);
  t.end();
});

await test('no member that may hold a secret can be read', (t) => {
  const secrets = ['api_key', 'api_keys', 'api_key_file', 'api_key_files', 'headers', 'proxy_url'];
  for (const name of secrets) t.equal(membersOfKinds.provider[name]?.is, 'secret', name);
  for (const name of ['hash', 'value_file']) t.equal(membersOfKinds.key[name]?.is, 'secret', name);
  const within = (type: Type | undefined): Readonly<Record<string, Type>> => (type?.is === 'entry' ? type.members : {});
  for (const name of ['url', 'headers', 'secret'])
    t.equal(within(membersOfKinds.guardrail['webhook'])[name]?.is, 'secret', name);
  for (const name of ['client_secret', 'client_secret_file'])
    t.equal(within(membersOfKinds.identity['sign_in'])[name]?.is, 'secret', name);
  t.end();
});

await test('what holds a variable is shown as it is written, and judged only where it is known', (t) => {
  const entry = { title: 'p', name: 'p', base_url: 'http://secret-host', [written]: { base_url: base } };
  const compiled = compilePolicy(
    policyOf({
      expect: 'provider.base_url.startsWith("https")',
      message: '{{provider.base_url}} {{provider.ca_file}}',
    }),
  );
  if (!('policy' in compiled)) throw new Error('a mistake');
  const ask = (provider: AllFacts['provider']) => askPolicies([compiled], { ...facts, provider })[0]?.findings;
  t.match(ask([entry]), [{ is: 'breach', message: `${base} (none)` }]);
  t.match(ask([{ ...entry, base_url: notKnown }]), [{ is: 'unknown' }]);
  t.end();
});

await test('an exception counts until its day is over, and one that nothing needs is told', (t) => {
  const except = [
    { entry: '/PUBLIC', reason: 'r', until: '2027-01-31' },
    { entry: '/', reason: 'r' },
  ];
  const compiled = compilePolicy(policyOf({ for: 'user_path', where: 'user_path.depth > 0', expect: 'false', except }));
  if (!('policy' in compiled)) throw new Error('a mistake');
  const on = (today: string) => askPolicies([compiled], facts, today)[0];
  t.match(on('2027-01-31'), { asked: 2, idle: [1], findings: [{ entry: { path: '/public/app' } }] });
  t.match(on('2027-02-01')?.findings, [{ message: 'no; its exception ended with 2027-01-31' }, { message: 'no' }]);
  t.end();
});

await test('a search costs no more with many entries, and a policy that would take long is stopped', (t) => {
  const many = 20_000;
  const user_path = Array.from({ length: many }, (_, index) => ({ title: `/${index}`, path: `/${index}`, depth: 1 }));
  const rule = user_path.map(({ path }) => ({ title: path, user_path: path, seconds: 60, mode: 'enforce' }));
  const ask = (expect: string) => {
    const compiled = compilePolicy(policyOf({ for: 'user_path', expect }));
    if (!('policy' in compiled)) throw new Error(JSON.stringify(compiled));
    return askPolicies([compiled], { ...facts, user_path, rule })[0];
  };
  for (const expect of [
    'rules.exists(r, r.user_path == user_path.path && r.mode == "enforce")',
    'rules.filter(r, "enforce" == r.mode && user_path.path == r.user_path).size() == 1',
    '!user_path.path.matches("(a*)*(a*)*b")',
  ])
    t.match(ask(expect), { isTooDear: false, asked: many, findings: [] }, expect);
  for (const expect of [
    'rules.exists(r, user_path.path.within(r.user_path) && r.seconds > 60)',
    'rules.all(a, rules.all(b, rules.all(c, a.mode == b.mode)))',
    'rules.map(a, rules.map(b, rules.map(c, c.title))).size() > 0',
  ])
    t.match(ask(expect), { isTooDear: true }, expect);
  t.end();
});
