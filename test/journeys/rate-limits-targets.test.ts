// Provider and model rules protect the providers: a used-up target is skipped; a client is refused only when all are used up.
import { t as suite, test } from 'tap';
import { ruleKey } from '../../domain/rules/rule.ts';
import { ruleId } from '../../domain/rules/rule-id.ts';
import type { Scope } from '../../domain/rules/scope.ts';
import { ask, usageOf } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const left = await startFakeUpstream({ t: suite });
const right = await startFakeUpstream({ t: suite });
const at = (upstream: typeof left) => ({
  type: 'openai',
  base_url: upstream.url,
  models: ['m', 'shared', 'Mixed-Case'],
  timeouts: { first_byte: '300ms' },
});
const requests = (max_requests: number, period = 'minute') => [{ period, max_requests }];
const pair = (source: string, first: string, second: string, weight = 1) => ({
  source,
  targets: [{ model: `${first}/m` }, { model: `${second}/m`, weight }],
});

const gateway = await shareGateway({
  config: {
    providers: {
      'free-left': at(left),
      'free-right': at(right),
      'Odd.Name': at(left),
      'direct-left': at(left),
      'skip-left': at(left),
      'skip-right': at(right),
      'full-left': at(left),
      'full-right': at(right),
      'slots-left': at(left),
      'slots-right': at(right),
      'fail-left': at(left),
      'fail-right': at(right),
      'last-left': at(left),
      'last-right': at(right),
      'hour-left': at(left),
      'z-first': { ...at(left), models: ['both', 'odd'] },
      'a-second': { ...at(right), models: ['both', 'z-first/odd'] },
    },
    aliases: [
      pair('skip', 'skip-left', 'skip-right'),
      pair('full', 'full-left', 'full-right', 3),
      pair('slots', 'slots-left', 'slots-right'),
      pair('fail', 'fail-left', 'fail-right'),
      pair('last', 'last-left', 'last-right'),
      pair('hour-or-free', 'hour-left', 'free-right'),
    ],
    rate_limits: {
      user_paths: [
        {
          path: '/counted',
          limits: [
            { period: 'minute', max_requests: 10_000, max_tokens: 1_000_000 },
            { period: 'concurrent', max_requests: 100 },
          ],
        },
        { path: '/spent', limits: requests(1) },
      ],
      providers: [
        { name: 'oDD.nAME', limits: requests(2) },
        { name: 'direct-left', limits: requests(1) },
        { name: 'skip-left', limits: requests(1) },
        { name: 'full-left', limits: requests(1, 'hour') },
        { name: 'full-right', limits: requests(2) },
        { name: 'slots-left', limits: requests(1, 'concurrent') },
        { name: 'slots-right', limits: requests(1, 'concurrent') },
        { name: 'fail-left', limits: requests(100) },
        { name: 'fail-right', limits: requests(100) },
        { name: 'last-right', limits: requests(1) },
        { name: 'hour-left', limits: requests(1, 'hour') },
        { name: 'z-first', limits: requests(6) },
      ],
      models: [
        { model: 'SHARED', limits: requests(3) },
        { model: 'FREE-left/mixed-CASE', limits: requests(1) },
        { model: 'Z-first/odd', limits: requests(1) },
      ],
    },
  },
});

suite.beforeEach(async () => {
  await left.behave({ kind: 'openai' });
  await right.behave({ kind: 'openai' });
});

/** One request of a consumer for that model, its answer read to the end; the message when it is refused. */
async function askFor(model: string, userPath: string, extra: object = {}) {
  const answer = await ask(gateway, userPath, { model, ...extra });
  const failure = answer.status === 200 ? undefined : (JSON.parse(answer.text) as { error: { message: string } }).error;
  return { ...answer, message: failure?.message ?? '' };
}

/** What /counted/<name> has used of its rules, which all tests share: only differences mean something. */
async function used(): Promise<{ requests: number; inFlight: number }> {
  const rows = await usageOf(gateway, '/counted');
  return {
    requests: rows.reduce((sum, { requests_used }) => sum + requests_used, 0),
    inFlight: rows.reduce((sum, { in_flight }) => sum + in_flight, 0),
  };
}

const decisions = async (scope: Scope, subject: string, outcome: string, period = 60) =>
  (await gateway.metric('gateway_rate_limit_decisions_total', {
    rule: ruleId(ruleKey(scope, subject, period)),
    dimension: period === 0 ? 'concurrent' : 'requests',
    outcome,
  })) ?? 0;
const calls = () => [left.ledger.length, right.ledger.length] as const;
const callsSince = ([before, other]: readonly [number, number]) => [
  left.ledger.length - before,
  right.ledger.length - other,
];

await test('provider and model rules compare without regard to case, and show their subject as it is written', async (t) => {
  await askFor('Odd.Name/m', '/');
  t.equal((await askFor('Odd.Name/shared', '/')).headers.get('x-ratelimit-limit-requests'), '2');
  t.match(await askFor('Odd.Name/m', '/'), {
    status: 429,
    message: /^Rate limit exceeded for provider oDD\.nAME: 2 requests per minute\. Retry in \d+ s\.$/,
  });
  t.equal((await askFor('free-left/Mixed-Case', '/')).status, 200);
  t.match(await askFor('free-left/Mixed-Case', '/'), {
    status: 429,
    message: /for model FREE-left\/mixed-CASE: 1 request per minute\./,
  });
  t.equal((await askFor('free-right/Mixed-Case', '/')).status, 200, 'a qualified rule covers that provider alone');
});

await test('a rule on a bare model counts it on every provider', async (t) => {
  // One of three went to Odd.Name above.
  t.equal((await askFor('free-left/shared', '/')).status, 200);
  t.equal((await askFor('free-right/shared', '/')).headers.get('x-ratelimit-remaining-requests'), '0');
  for (const provider of ['free-left', 'free-right', 'direct-left']) {
    const before = calls();
    t.match(await askFor(`${provider}/shared`, '/'), {
      status: 429,
      message: /for model SHARED: 3 requests per minute/,
    });
    t.strictSame(callsSince(before), [0, 0], 'no call');
  }
  t.equal(await decisions('provider', 'direct-left', 'allow'), 0, 'and its provider was not charged for it');
});

await test("a rule on a model of a provider does not cover another provider's model of that id", async (t) => {
  t.equal((await askFor('z-first/odd', '/')).status, 200);
  t.match(await askFor('z-first/odd', '/'), { status: 429, message: /for model Z-first\/odd: 1 request per minute/ });
  for (let index = 0; index < 3; index += 1) t.equal((await askFor('a-second/z-first/odd', '/')).status, 200);
});

await test('a bare id goes to the provider declared first, and on to the next when that fails or is used up', async (t) => {
  const before = calls();
  for (let index = 0; index < 3; index += 1) t.equal((await askFor('both', '/')).status, 200);
  t.strictSame(callsSince(before), [3, 0], 'it is not balanced');
  await left.behave({ kind: 'error', status: 503 });
  t.equal((await askFor('both', '/')).status, 200);
  t.strictSame(callsSince(before), [4, 1]);
  await left.behave({ kind: 'openai' });
  for (let index = 0; index < 3; index += 1) t.equal((await askFor('both', '/')).status, 200);
  t.strictSame(callsSince(before), [5, 3], 'six of a minute, one of them for the model odd');
});

await test('a target that is used up is skipped without an error', async (t) => {
  const before = calls();
  for (let index = 0; index < 6; index += 1) {
    const answer = await askFor('skip', '/counted');
    t.equal(answer.status, 200);
    t.notOk(answer.headers.has('retry-after'));
  }
  t.strictSame(callsSince(before), [1, 5]);
  // The balance turns to it three times.
  t.equal(await decisions('provider', 'skip-left', 'skip_target'), 2);
  t.equal(await decisions('provider', 'skip-left', 'allow'), 1);
  t.equal(await decisions('provider', 'skip-left', 'reject'), 0);
  t.equal(await decisions('user_path', '/counted', 'allow'), 6);
});

await test('a request without another target is refused; no call is made, and the consumer pays nothing', async (t) => {
  t.equal((await askFor('direct-left/m', '/counted')).status, 200);
  const before = calls();
  const paid = await used();
  for (const stream of [false, true]) {
    const refused = await askFor('direct-left/m', '/counted', { stream });
    t.match(refused, { status: 429, message: /for provider direct-left: 1 request per minute\./ });
    t.match(JSON.parse(refused.text), { error: { code: 'rate_limit_exceeded', type: 'rate_limit_error' } });
    t.notOk('provider' in JSON.parse(refused.text).error, 'the gateway refuses, not the provider');
    t.match(refused.headers.get('retry-after'), /^\d+$/);
    t.equal(refused.headers.get('x-ratelimit-limit-requests'), '1');
  }
  t.strictSame(callsSince(before), [0, 0]);
  t.strictSame(await used(), paid);
  t.equal(await decisions('provider', 'direct-left', 'reject'), 2);
  t.equal(await decisions('provider', 'direct-left', 'skip_target'), 0);
});

await test('all targets used up: the wait is that of the target with room first, whatever the balance picks', async (t) => {
  const paid = await used();
  for (let index = 0; index < 3; index += 1) t.equal((await askFor('full', '/counted')).status, 200);
  const before = calls();
  // The second target weighs more: most of these would have gone there.
  for (let index = 0; index < 8; index += 1) {
    const refused = await askFor('full', '/counted', { stream: index % 2 === 1 });
    t.match(refused, { status: 429, message: /for provider full-right: 2 requests per minute\./ });
    const wait = Number(refused.headers.get('retry-after'));
    t.ok(wait > 0 && wait <= 61, `${wait} s: the minute of the one, not the hour of the other`);
    t.equal(refused.headers.get('x-ratelimit-limit-requests'), '2');
    t.equal(refused.headers.get('x-ratelimit-reset-requests'), `${wait}`);
  }
  t.strictSame(callsSince(before), [0, 0], 'no call');
  t.strictSame(await used(), { requests: paid.requests + 3, inFlight: 0 }, 'given back');
  const { data } = (await (await gateway.fetch('/v1/models')).json()) as { data: readonly { id: string }[] };
  const listed = data.map(({ id }) => id);
  for (const id of ['full', 'full-left/m', 'full-right/m']) t.ok(listed.includes(id), `${id} stays listed`);
  t.equal(await decisions('provider', 'full-left', 'reject', 3_600), 0);
  t.equal(await decisions('provider', 'full-right', 'reject'), 8);
  t.equal(await decisions('provider', 'full-left', 'skip_target', 3_600), 8);
  t.equal(await decisions('provider', 'full-right', 'skip_target'), 8);
});

await test('a consumer that is used up waits for its targets, too, where a short body names them', async (t) => {
  t.equal((await askFor('hour-left/m', '/spent')).status, 200);
  const before = calls();
  const long = { user: 'x'.repeat(17 * 1024) };
  const rows: [why: string, model: string, extra: object, limit: RegExp, most: number][] = [
    ['both are used up', 'hour-left/m', {}, /for provider hour-left: 1 request per hour\./, 3_660],
    ['both, for a stream', 'hour-left/m', { stream: true }, /for provider hour-left: 1 request per hour\./, 3_660],
    ['another target has room', 'hour-or-free', {}, /for \/spent: 1 request per minute\./, 61],
    ['the only target has room', 'free-left/m', {}, /for \/spent: 1 request per minute\./, 61],
    ['there is no such model', 'nothing', {}, /for \/spent: 1 request per minute\./, 61],
    ['the body is too long to be read', 'hour-left/m', long, /for \/spent: 1 request per minute\./, 61],
  ];
  for (const [why, model, extra, limit, most] of rows) {
    const refused = await askFor(model, '/spent', extra);
    t.match(refused, { status: 429, message: limit }, why);
    const wait = Number(refused.headers.get('retry-after'));
    t.ok(wait > most * 0.9 && wait <= most, `${why}: ${wait} s`);
    t.equal(refused.headers.get('x-ratelimit-reset-requests'), `${wait}`);
  }
  const head = ['POST /v1/chat/completions HTTP/1.1', 'Host: a', `Authorization: Bearer ${gateway.masterKey}`];
  head.push('X-Gateway-User-Path: /spent', 'Content-Type: application/json', 'Content-Length: 9', '', '');
  const { responses } = await rawRequest(gateway.port, head.join('\r\n'));
  t.match(responses[0]?.text(), /for \/spent: 1 request per minute\./, 'nor is one that does not come waited for');
  t.strictSame(callsSince(before), [0, 0]);
  t.equal(await decisions('user_path', '/spent', 'reject'), rows.length + 1, 'each is one decision');
  t.equal(await decisions('provider', 'hour-left', 'reject', 3_600), 0);
});

await test('slots of targets: the other one is asked while the first is busy; none free is a 429 with Retry-After 1', async (t) => {
  const gate = createGate();
  await left.behave({ kind: 'hold', gate });
  await right.behave({ kind: 'hold', gate });
  const paid = await used();
  const held = [askFor('slots', '/counted'), askFor('slots', '/counted', { stream: true })];
  await waitFor('both busy', () => gate.waiting === 2);
  const before = calls();
  const refused = await askFor('slots', '/counted');
  t.match(refused, { status: 429, message: /for provider slots-left: 1 concurrent request\. Retry in 1 s\./ });
  t.equal(refused.headers.get('retry-after'), '1');
  t.strictSame(callsSince(before), [0, 0]);
  t.strictSame(await used(), { requests: paid.requests + 2, inFlight: 2 });
  gate.release();
  for (const answer of await Promise.all(held)) t.equal(answer.status, 200);
  t.strictSame(await used(), { requests: paid.requests + 2, inFlight: 0 });
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  t.equal((await askFor('slots', '/counted')).status, 200);
});

await test('a request that fails over counts once for the consumer, and once for each target that was asked', async (t) => {
  await left.behave({ kind: 'error', status: 503 });
  const before = calls();
  const paid = await used();
  const answer = await askFor('fail', '/counted');
  t.equal(answer.status, 200);
  t.strictSame(callsSince(before), [1, 1]);
  t.strictSame(await used(), { requests: paid.requests + 1, inFlight: 0 });
  t.equal(await decisions('provider', 'fail-left', 'allow'), 1);
  t.equal(await decisions('provider', 'fail-right', 'allow'), 1);

  await right.behave({ kind: 'error', status: 500 });
  t.equal((await askFor('fail', '/counted')).status, 503, 'the right one began, the left one was asked last');
  t.strictSame(callsSince(before), [2, 2]);
  t.strictSame(await used(), { requests: paid.requests + 2, inFlight: 0 }, 'what providers were asked for is not free');
});

await test('a failed target before a used-up one: the client gets the failure, because the limit was not the cause', async (t) => {
  t.equal((await askFor('last-right/m', '/counted')).status, 200);
  await left.behave({ kind: 'error', status: 503, message: 'out of order' });
  const paid = await used();
  for (let index = 0; index < 2; index += 1) {
    const answer = await askFor('last', '/counted');
    t.match(answer, { status: 503, message: 'out of order' });
    t.notOk(answer.headers.has('retry-after'));
  }
  t.strictSame(await used(), { requests: paid.requests + 2, inFlight: 0 });
});

await test('every request that reached a provider was well-formed, and named the model as it knows it', async (t) => {
  t.same([...left.malformed, ...right.malformed], []);
  const models = [...left.ledger, ...right.ledger].map((entry) => (entry.json() as { model: string }).model);
  t.same(new Set(models), new Set(['m', 'shared', 'Mixed-Case', 'odd', 'z-first/odd', 'both']));
});
