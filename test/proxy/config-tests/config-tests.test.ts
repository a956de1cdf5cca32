// Tests of a configuration: each member of what is given and expected decides as the gateway does, in a world of its own.
import { test } from 'tap';
import { stringify } from 'yaml';
import type { ConfigTest } from '../../../schemas/types.ts';
import { checked } from './fixture.ts';

type Written = readonly [given: object, expect: ConfigTest['expect']];

const used = (requests: number, over?: string, more: object = {}) => [{ requests, ...(over && { over }), ...more }];
const both = ['main/m', 'spare/m'];

/** What holds, by the sentence that each row proves. */
const rows: Readonly<Record<string, Written>> = {
  'the 41st request of a minute waits for the first to leave the window': [
    { user_path: '/a/x', used_before: used(40, '30s') },
    { refused: { by: 'a-minute', code: 'rate_limit_exceeded', status: 429, retry_after: '31s' } },
  ],
  'a rule has its title as a name': [
    { user_path: '/A/x', used_before: used(40) },
    { refused: { by: 'user_path /a minute', retry_after: '61s' } },
  ],
  'the 40th is admitted': [{ user_path: '/a/x', used_before: used(39) }, { admitted: true }],
  'requests that have left the window are not counted': [
    { user_path: '/a', used_before: used(40, '30s', { ago: '62s' }) },
    { admitted: true },
  ],
  'one rule alone may have counted': [
    { user_path: '/a', used_before: [{ rule: 'user_path /a day', tokens: 100_000, ago: '1h' }] },
    { refused: { by: 'user_path /a day' } },
  ],
  'requests of another path count under the rules that they share': [
    { user_path: '/a/x', used_before: used(40, '10s', { user_path: '/a/y' }) },
    { admitted: false },
  ],
  'open requests hold slots': [
    { user_path: '/a/jobs', used_before: [{ in_flight: 3 }] },
    { refused: { by: 'user_path /a/jobs concurrent', retry_after: '1s' } },
  ],
  'a shadow rule refuses nothing': [{ user_path: '/a/dry', used_before: used(5) }, { admitted: true }],
  'a target whose rule is used up is passed over': [
    { used_before: used(100, '10s', { rule: 'provider main minute' }) },
    { targets: ['spare/m'] },
  ],
  'a budget that is spent refuses': [
    { user_path: '/a', used_before: [{ spent: 5 }] },
    { refused: { code: 'budget_exceeded', by: 'user_path /a monthly' } },
  ],
  'a budget of a label counts requests of the key': [
    { key: 'ci', used_before: [{ spent: 1, budget: 'label batch daily' }] },
    { refused: { by: 'label batch daily' } },
  ],
  'a key has its own path': [{ key: 'ci', used_before: used(40) }, { refused: { by: 'a-minute' } }],
  'a key may use its models alone': [
    { key: 'ci', model: 'main/n' },
    { refused: { code: 'model_access_denied', status: 403 } },
  ],
  'a key ends': [{ key: 'ci', time: '2027-01-01T00:00:00Z' }, { refused: { code: 'invalid_api_key' } }],
  'rights follow from claims': [
    { claims: { sub: 'ada', staff: true, groups: ['batch'] }, used_before: [...used(40)] },
    { refused: { by: 'a-minute' } },
  ],
  'claims without rights are refused': [
    { claims: { iss: 'https://id.example.org', sub: 'ada' } },
    { refused: { code: 'invalid_token', status: 401 } },
  ],
  'labels are those of some key': [
    { labels: ['batch'], used_before: [{ spent: 1 }] },
    { refused: { by: 'label batch daily' } },
  ],
  'a name that leads nowhere is refused': [{ model: 'chta' }, { refused: { code: 'model_not_found' } }],
  'targets come in their order, and an alias has a name': [{}, { targets: both, alias: 'chat' }],
  'what is down is not asked': [{ down: ['main/m'] }, { targets: ['spare/m'] }],
  'the price is that of the first target': [{ tokens: { input: 1_000, output: 500 } }, { price: 0.002 }],
  'and that of the next one where the first is down': [
    { down: ['main'], tokens: { input: 1_000, output: 500 } },
    { price: 0.005 },
  ],
  'a time has the hour of the time zone: 08:30 in Berlin': [
    { model: 'by-day', time: '2026-01-01T07:30:00Z' },
    { targets: both },
  ],
  'and 07:30 half a year later is 09:30': [{ model: 'by-day', time: '2026-07-01T06:00:00Z' }, { targets: both }],
  'before the clocks are set forward 06:59 is 07:59': [
    { model: 'by-day', time: '2026-03-28T06:59:59Z' },
    { targets: ['spare/m'] },
  ],
  'and after it 08:59': [{ model: 'by-day', time: '2026-03-29T06:59:59Z' }, { targets: both }],
  'times may be far away': [
    { user_path: '/a', time: '9999-12-31T23:59:59Z', used_before: used(40, '30s') },
    { refused: { by: 'a-minute', retry_after: '31s' } },
  ],
  'and long ago': [
    { user_path: '/a', time: '0001-01-01T00:00:00Z', used_before: used(40, '30s') },
    { refused: { by: 'a-minute' } },
  ],
  'headers are seen by conditions': [{ model: 'golden', headers: { 'X-Tier': 'gold' } }, { targets: both }],
  'a header that is not named was not sent': [{ model: 'golden' }, { targets: ['spare/m'] }],
  'tools are counted': [{ model: 'golden', headers: { 'x-tier': 'gold' }, tools: 2 }, { targets: ['spare/m'] }],
  'an endpoint that counts nothing is not refused': [
    { user_path: '/a', endpoint: '/v1/messages/count_tokens', used_before: used(40) },
    { admitted: true },
  ],
  'a guardrail blocks': [
    { user_path: '/a', text: 'card 4111 1111 1111 1111' },
    {
      refused: { by: 'cards', code: 'guardrail_blocked' },
      guardrail: { name: 'cards', verdict: 'block', reason: 'card' },
    },
  ],
  'or revises': [
    { user_path: '/a', text: 'write to ada@example.org' },
    { admitted: true, guardrail: { name: 'mails', verdict: 'revise' } },
  ],
  'or lets pass': [{ user_path: '/a', text: 'hello' }, { guardrail: { name: 'cards', verdict: 'pass' } }],
  'or is for others': [
    { text: 'card 4111 1111 1111 1111' },
    { admitted: true, guardrail: { name: 'cards', verdict: 'none' } },
  ],
};

function written(cases: Readonly<Record<string, Written>>): string {
  const tests = Object.entries(cases).map(([name, [given, expect]]) => ({
    name,
    given: { model: 'chat', ...given },
    expect,
  }));
  return stringify({ tests });
}

await test('tests decide as the gateway does, whatever came before them', async (t) => {
  const { output, code } = await checked(t, written(rows));
  t.match(output, new RegExp(`, 1 file of tests, .*\n${Object.keys(rows).length} tests passed$`));
  t.equal(code, 0, output);
  const turned = Object.fromEntries(Object.entries(rows).toReversed());
  t.equal((await checked(t, written(turned))).code, 0, 'in the other order, too');
});

await test('a test that fails names its line, what was expected and what came, and explains', async (t) => {
  const text = `tests:
  - name: too much
    given: { user_path: /a, model: chat, used_before: [{ requests: 40, over: 30s }] }
    expect:
      refused:
        by: user_path /a day
        retry_after: 30s
  - name: elsewhere
    given: { model: chat }
    expect:
      targets: [spare/m]
      alias: by-day
  - name: dear
    given: { model: main/n, tokens: { input: 1 } }
    expect: { price: 1 }
`;
  const { output, code } = await checked(t, text);
  t.equal(code, 1);
  const lines = output.split('\n').filter((line) => line.includes('teams/a.test.yaml') || line.endsWith('failed'));
  t.same(lines, [
    'DIR/teams/a.test.yaml:2:5  failed: too much',
    '  DIR/teams/a.test.yaml:6:13  tests[0].expect.refused.by  expected user_path /a day; came user_path /a minute',
    '  DIR/teams/a.test.yaml:7:22  tests[0].expect.refused.retry_after  expected 30s; came 31s',
    'DIR/teams/a.test.yaml:8:5  failed: elsewhere',
    '  DIR/teams/a.test.yaml:12:14  tests[1].expect.alias  expected the alias by-day; came the alias chat',
    '  DIR/teams/a.test.yaml:11:16  tests[1].expect.targets  expected spare/m; came main/m, then spare/m',
    'DIR/teams/a.test.yaml:13:5  failed: dear',
    '  DIR/teams/a.test.yaml:15:22  tests[2].expect.price  expected $1; came no price is known',
    '3 of 3 tests failed',
  ]);
  t.match(output, 'a-minute: used up, admits again in 31 s (config.yaml:18)', 'as explain says it');
});

await test('what a test names and the configuration does not have fails it', async (t) => {
  const cases: Readonly<Record<string, readonly [...Written, message: string]>> = {
    rule: [
      { user_path: '/a', used_before: used(1, undefined, { rule: 'a-minut' }) },
      { admitted: true },
      'no rule that counts this request is called "a-minut"',
    ],
    budget: [
      { used_before: [{ spent: 1 }] },
      { admitted: true },
      'given.used_before[0].spent  is counted by no budget: none covers this request',
    ],
    key: [{ key: 'cii' }, { admitted: true }, 'no key of the configuration is called "cii"; did you mean "ci"?'],
    endpoint: [{ endpoint: '/v1/chat' }, { admitted: true }, 'no endpoint is called "/v1/chat"'],
    guardrail: [
      { text: 'x' },
      { guardrail: { name: 'card', verdict: 'pass' } },
      'no guardrail is called "card"; did you mean "cards"?',
    ],
    asked: [
      { user_path: '/a/asked', text: 'x' },
      { guardrail: { name: 'asked', verdict: 'pass' } },
      '"asked" asks a service or a model, so its verdict is not known here',
    ],
  };
  const { output, code } = await checked(
    t,
    written(Object.fromEntries(Object.entries(cases).map(([name, [given, expect]]) => [name, [given, expect]]))),
  );
  t.equal(code, 1);
  for (const [name, [, , message]] of Object.entries(cases)) t.match(output, message, name);
  t.match(output, '6 of 6 tests failed');
});
