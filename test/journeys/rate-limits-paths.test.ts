// User-path rules: a rule covers the paths below it, templates give every child its own counters, GET /v1/usage shows each caller its limits.
// One gateway with templates serves most tests; each puts its own rules in force, on subjects that no other test has rules for.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { t as suite, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const requests = (max_requests: number) => [{ period: 'minute', max_requests }];
const templateAt = (path: string, max_requests = 2) => ({ path, per_child: true, limits: requests(max_requests) });
const gateway = await startGateway(suite, { upstream, env: { GATEWAY_ENTITLEMENTS: 'quota_templates' } });

suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

interface Listed {
  readonly subject: string;
  readonly user_path: string;
  readonly requests_used: number;
  readonly requests_remaining?: number;
  readonly tokens_reserved?: number;
}

async function usage(userPath?: string, header = 'x-gateway-user-path', from = gateway) {
  const response = await from.fetch('/v1/usage', { headers: userPath === undefined ? {} : { [header]: userPath } });
  return { status: response.status, body: (await response.json()) as { user_path: string; rate_limits: Listed[] } };
}

/** Puts these limits in force, and no others. */
const limitTo = (rate_limits: object, rest: object = {}) =>
  gateway.applyConfig({ 'gateway.yaml': { rate_limits, ...rest } });

/** What a caller sees as `path used` for every rule that concerns it. */
async function usedBy(userPath?: string, from = gateway) {
  const { body } = await usage(userPath, undefined, from);
  return body.rate_limits.map(({ user_path, requests_used }) => `${user_path} ${requests_used}`);
}

await test('a rule counts its path and the paths below it, not the ones beside it; / counts all', async (t) => {
  await limitTo({
    user_paths: [
      { path: '/', limits: requests(100) },
      { path: 'team/', limits: requests(3) },
      { path: '/team-alpha', limits: requests(10) },
    ],
  });
  for (const userPath of ['/team', '/Team/app', 'team//app/deep/', '/team-alpha', '/teams', '/', undefined]) {
    t.equal((await ask(gateway, userPath)).status, 200, userPath ?? 'no path');
  }
  t.strictSame(await usedBy(), ['/ 7'], 'without a path, too');
  t.strictSame(await usedBy('/team/any'), ['/ 7', '/team 3']);
  t.strictSame(await usedBy('/team-alpha/any'), ['/ 7', '/team-alpha 1']);
  t.strictSame(await usedBy('/teams'), ['/ 7']);

  const refused = await ask(gateway, '/team/other');
  t.equal(refused.status, 429, 'one counter for all of /team');
  t.match(refused.text, 'Rate limit exceeded for /team: 3 requests per minute', 'the path as requests have it');
  t.strictSame(await usedBy(), ['/ 7'], 'a refusal takes from no rule');
  t.equal((await ask(gateway, '/team-alpha')).status, 200);
});

await test('the header has the name that the config gives it, from the next request on', async (t) => {
  const rate_limits = { user_paths: [{ path: '/squad', limits: requests(100) }] };
  await limitTo(rate_limits);
  const old = 'x-gateway-user-path';
  t.equal((await usage('/squad', old)).body.user_path, '/squad');
  await limitTo(rate_limits, { server: { user_path_header: 'X-Consumer' } });
  t.equal((await usage('/squad', old)).body.user_path, '/', 'the old name means nothing any more');
  t.equal((await usage('/squad', 'x-consumer')).body.user_path, '/squad');
  t.equal((await usage('/squad/../x', 'X-CONSUMER')).status, 400);
  t.equal((await usage('/squad/../x', old)).status, 200);
  t.equal(
    (await ask(gateway, undefined, {}, { headers: { 'x-consumer': '/squad/secret' } })).headers.get(
      'x-ratelimit-limit-requests',
    ),
    '100',
  );
  t.notMatch(JSON.stringify(upstream.ledger.at(-1)?.headers), /consumer|secret/i, 'the provider does not get it');
  await ask(gateway, '/squad/secret');
  t.notMatch(JSON.stringify(upstream.ledger.at(-1)?.headers), /user-path|secret/i, 'nor a header that means nothing');
  t.strictSame(
    (await usage('/squad', 'x-consumer')).body.rate_limits.map(({ requests_used }) => requests_used),
    [1],
  );
});

await test('customers behind a template do not disturb each other', async (t) => {
  await limitTo({
    user_paths: [
      templateAt('/customers'),
      { path: '/slots', per_child: true, limits: [{ period: 'concurrent', max_requests: 1 }] },
    ],
  });
  t.equal((await ask(gateway, '/customers/alice')).headers.get('x-ratelimit-remaining-requests'), '1');
  t.equal((await ask(gateway, '/customers/alice/app/deep')).headers.get('x-ratelimit-remaining-requests'), '0');
  const refused = await ask(gateway, '/customers/alice/other');
  t.equal(refused.status, 429, 'deeper paths share the counter of the child');
  t.match(refused.text, 'for /customers/alice: 2 requests per minute', 'the child is named');
  t.equal((await ask(gateway, '/customers/bob')).headers.get('x-ratelimit-remaining-requests'), '1', 'Bob is unharmed');

  for (const userPath of ['/customers', '/customersX', '/', undefined]) {
    for (let index = 0; index < 3; index += 1) {
      const answer = await ask(gateway, userPath);
      t.equal(answer.status, 200, `${userPath} is not limited`);
      t.notOk(answer.headers.has('x-ratelimit-limit-requests'));
    }
    t.strictSame(await usedBy(userPath), []);
  }

  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate });
  const held = ask(gateway, '/slots/alice');
  await waitFor('a held request', () => gate.waiting === 1);
  t.equal((await ask(gateway, '/slots/alice/app')).status, 429);
  const beside = ask(gateway, '/slots/bob');
  await waitFor("Bob's request", () => gate.waiting === 2);
  gate.release();
  t.equal((await held).status, 200);
  t.equal((await beside).status, 200);

  // Names that an object would already have.
  for (const name of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
    t.strictSame(await usedBy(`/customers/${name}`), [`/customers/${name} 0`]);
    for (const status of [200, 200, 429]) t.equal((await ask(gateway, `/customers/${name}/x`)).status, status, name);
    t.strictSame(await usedBy(`/customers/${name}`), [`/customers/${name} 2`]);
  }
});

await test('GET /v1/usage fits its schema, shows the own child, and costs nothing', async (t) => {
  await limitTo({
    user_paths: [
      { path: '/', limits: [{ period: 'day', max_requests: 1_000, max_tokens: 50_000 }] },
      templateAt('/clients'),
      { path: '/clients/alice', limits: [{ period: 'concurrent', max_requests: 4 }] },
      { path: '/clients/alice/app', limits: [{ period_seconds: 90, max_tokens: 20, mode: 'shadow' }] },
    ],
    providers: [{ name: 'fake', limits: requests(500) }],
    models: [{ model: 'fake-small', limits: requests(500) }],
  });
  const schemaFile = join(import.meta.dirname, '../../schemas/model-api/usage.schema.json');
  const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z$/;
  const ajv = new Ajv2020({ strict: true, allErrors: true, formats: { 'date-time': instant } });
  const validate = ajv.compile(JSON.parse(readFileSync(schemaFile, 'utf8')) as object);
  const valid = async (userPath?: string) => {
    const { status, body } = await usage(userPath);
    t.equal(status, 200);
    t.ok(validate(body), JSON.stringify(validate.errors));
    return body;
  };

  for (const [query, param] of Object.entries({ 'foo=1': 'foo', 'days=1&days=2': 'days' })) {
    const refused = await gateway.fetch(`/v1/usage?${query}`);
    t.match(await refused.json(), { error: { code: 'invalid_query', param } }, query);
  }
  t.match(await valid('/clients/alice/app/x'), { user_path: '/clients/alice/app/x', usage: null, budgets: [] });
  const gate = createGate();
  await upstream.behave([{ kind: 'openai' }, { kind: 'hold', gate }]);
  t.equal((await ask(gateway, '/clients/alice')).status, 200);
  const held = ask(gateway, '/clients/alice/app');
  await waitFor('a held request', () => gate.waiting === 1);

  const { rate_limits } = await valid('/clients/alice/app');
  const setAside = rate_limits[0]?.tokens_reserved ?? 0;
  t.ok(setAside > 1_024 && setAside < 1_100, `the prompt, and 1,024 for an answer of unknown length: ${setAside}`);
  const expected = [
    {
      subject: '/',
      per_child: false,
      user_path: '/',
      effective_subject: '/',
      mode: 'enforce',
      period_seconds: 86_400,
      period_label: 'day',
      max_requests: 1_000,
      max_tokens: 50_000,
      requests_used: 2,
      requests_remaining: 998,
      requests_usage_ratio: 0.002,
      tokens_used: 13,
      tokens_reserved: setAside,
      tokens_remaining: 49_987 - setAside,
      tokens_usage_ratio: 0.000_26,
      in_flight: 0,
      exhausted: false,
    },
    {
      subject: '/clients',
      per_child: true,
      user_path: '/clients/alice',
      effective_subject: '/clients/alice',
      mode: 'enforce',
      period_seconds: 60,
      period_label: 'minute',
      max_requests: 2,
      requests_used: 2,
      requests_remaining: 0,
      requests_usage_ratio: 1,
      tokens_used: 0,
      in_flight: 0,
      exhausted: true,
    },
    {
      subject: '/clients/alice',
      per_child: false,
      user_path: '/clients/alice',
      effective_subject: '/clients/alice',
      mode: 'enforce',
      period_seconds: 0,
      period_label: 'concurrent',
      max_requests: 4,
      requests_used: 0,
      requests_remaining: 3,
      requests_usage_ratio: 0.25,
      tokens_used: 0,
      in_flight: 1,
      exhausted: false,
    },
    {
      subject: '/clients/alice/app',
      per_child: false,
      user_path: '/clients/alice/app',
      effective_subject: '/clients/alice/app',
      mode: 'shadow',
      period_seconds: 90,
      period_label: '90s',
      max_tokens: 20,
      requests_used: 0,
      tokens_used: 0,
      tokens_reserved: 20,
      tokens_remaining: 0,
      tokens_usage_ratio: 0,
      in_flight: 0,
      exhausted: true,
    },
  ];
  const windows = rate_limits as (Listed & Record<string, unknown>)[];
  t.strictSame(
    windows.map(({ window_start: _start, window_end: _end, resets_in_seconds: _resets, ...rest }) => rest),
    expected,
    'the rules that cover the path, in their order; none of providers and models',
  );
  for (const { period_seconds, window_start, window_end, resets_in_seconds } of windows) {
    if (period_seconds === 0) {
      t.strictSame([window_start, window_end, resets_in_seconds], [undefined, undefined, undefined]);
      continue;
    }
    const [start, end] = [Date.parse(String(window_start)), Date.parse(String(window_end))];
    const [sliceMs, asked] = [(1000 * Number(period_seconds)) / 60, Date.now()];
    t.ok(start <= asked && start > asked - 61 * sliceMs, 'from the oldest use that counts');
    t.ok(end > asked && end <= asked + 61 * sliceMs, 'until the newest use has left');
    t.ok(Number(resets_in_seconds) >= 1 && Number(resets_in_seconds) <= (61 * sliceMs) / 1000);
  }
  gate.release();
  t.equal((await held).status, 200);

  const before = await valid('/clients/alice/app');
  const decided = await gateway.metric('gateway_rate_limit_decisions_total');
  const modelRequests = await gateway.metric('gateway_requests_total');
  for (let index = 0; index < 10; index += 1) await usage('/clients/alice/app');
  for (let index = 0; index < 5; index += 1) await (await gateway.fetch('/v1/models')).text();
  const after = await valid('/clients/alice/app');
  const counts = ({ rate_limits: listed }: typeof before) => listed.map(({ requests_used }) => requests_used);
  t.strictSame(counts(after), counts(before), 'also for a caller whose limit is used up');
  t.equal(await gateway.metric('gateway_rate_limit_decisions_total'), decided);
  t.equal(await gateway.metric('gateway_requests_total'), modelRequests);
  t.strictSame(
    (await valid('/clients/bob')).rate_limits.map(({ user_path }) => user_path),
    ['/', '/clients/bob'],
  );
  t.strictSame(
    (await valid()).rate_limits.map(({ subject }) => subject),
    ['/'],
  );
  t.equal(await gateway.metric('gateway_rate_limit_counters'), 6, 'asking about Bob made no counter for him');

  const noKey = await gateway.fetch('/v1/usage', { headers: { authorization: 'Bearer sk-wrong' } });
  t.equal(noKey.status, 401);
  t.match(await noKey.json(), { error: { code: 'invalid_api_key', type: 'authentication_error' } });
  const badPath = await usage('/a/../b');
  t.equal(badPath.status, 400);
  t.match(badPath.body, { error: { code: 'invalid_user_path' } });
  const posted = await gateway.fetch('/v1/usage', { method: 'POST', body: {} });
  t.equal(posted.status, 405);
  t.equal(posted.headers.get('allow'), 'GET, HEAD');
  await posted.text();
});

await test('a template without the entitlement: a reload is refused, the old rules stay', async (t) => {
  const plain = { path: '/customers', limits: requests(10) };
  const bare = await startGateway(t, { upstream, config: { rate_limits: { user_paths: [plain] } } });
  t.equal((await ask(bare, '/customers/alice')).status, 200);
  bare.writeConfig({ 'gateway.yaml': { rate_limits: { user_paths: [templateAt('/customers', 1)] } } });
  await waitFor('the refusal', async () => (await bare.metric('gateway_config_last_reload_successful')) === 0);
  await bare.process.waitForLine(/quota_templates/);
  for (const name of ['alice', 'bob']) {
    const { headers } = await ask(bare, `/customers/${name}`);
    t.equal(headers.get('x-ratelimit-limit-requests'), '10', 'shared as before');
  }
  t.strictSame(await usedBy('/customers', bare), ['/customers 3']);
});

await test('a template without the entitlement: the start aborts and says what to do', async (t) => {
  const rate_limits = { user_paths: [templateAt('/customers')] };
  const bare = await startGateway(t, { upstream, ready: 'spawned', config: { rate_limits } });
  t.match(await bare.process.exited, { code: 1, signal: null });
  t.match(bare.process.lastLines(), /gateway\.yaml:\d+:\d+ .*per_child.*quota_templates.*GATEWAY_ENTITLEMENTS/);

  // The last test: the gateway of this file loses its entitlement.
  await limitTo(rate_limits);
  const withoutIt = gateway.process.restart({ GATEWAY_ENTITLEMENTS: '' });
  await t.rejects(withoutIt, /cannot start.*quota_templates/s, 'a last good config is no way around it');
  t.match(await gateway.process.exited, { code: 1 });
});
