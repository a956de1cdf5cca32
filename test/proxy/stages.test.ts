// The steps of a request, each with its own arguments: who calls, where to, which body, which provider, and how answers end.
import { createServer, IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import * as fc from 'fast-check';
import { type Test, test } from 'tap';
import { createFailedLogins } from '../../plane/failed-logins.ts';
import { authenticateAdmin } from '../../proxy/admin/authenticate-admin.ts';
import { createBalance } from '../../proxy/balance.ts';
import { BodyBudget } from '../../proxy/body-budget.ts';
import { readCall } from '../../proxy/call/call.ts';
import { readHead } from '../../proxy/call/head.ts';
import { answerRefusal } from '../../proxy/connection/answer-refusal.ts';
import { closeExchange, type Exchange, openExchange } from '../../proxy/connection/exchange.ts';
import { Refusal, refusal } from '../../proxy/errors.ts';
import { createKeyStreams } from '../../proxy/key-streams.ts';
import { createLimiter } from '../../proxy/limits/limiter.ts';
import { createMetrics, type Metrics } from '../../proxy/metrics.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Route, Snapshot, Target } from '../../proxy/snapshot/snapshot.ts';
import { admit } from '../../proxy/stages/admit.ts';
import { type Accepted, attempt, type FailedAttempt, type RoutedCall } from '../../proxy/stages/attempt.ts';
import { authenticate } from '../../proxy/stages/authenticate.ts';
import { expectJson, receive } from '../../proxy/stages/receive.ts';
import { type Delivery, type Ending, relay } from '../../proxy/stages/relay.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import { settle, type Trip } from '../../proxy/stages/settle.ts';
import { UsageTap } from '../../proxy/tokens/usage-tap.ts';
import { createDeadlines } from '../../proxy/upstream/deadlines.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import { type AuthKey, readAuthKey } from '../../schemas/keys/auth-key.ts';
import { type Credentials, credentialsOf } from '../../schemas/keys/credentials.ts';
import { modelAccess } from '../../schemas/keys/model-access.ts';
import { digestOf } from '../../schemas/keys/secret.ts';
import { compileRules } from '../../schemas/rules/rule.ts';
import type { Limit } from '../../schemas/types.ts';
import { runs } from '../support/extent.ts';
import { type Behaviour, createGate, type FakeUpstream, fin, startFakeUpstream } from '../support/fake-upstream.ts';
import { listen } from '../support/ports.ts';
import { rawRequest } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';
import { sampleConfig } from './sample-config.ts';

const nowMs = (): number => performance.now();

/** An exchange on a socket that is not connected: for stages that only read. */
function exchangeOf(headers: Record<string, string>, socket = new Socket(), startedAtMs = 0): Exchange {
  const request = new IncomingMessage(socket);
  const rawHeaders = ['Host', 'gateway.test', ...Object.entries(headers).flat()];
  Object.assign(request, { rawHeaders, httpVersionMajor: 1, httpVersionMinor: 1, method: 'POST' });
  return openExchange(request, new ServerResponse(request), readHead(request, 'x-gateway-user-path'), startedAtMs);
}

/** Unexpected failures. */
const reported: unknown[] = [];

/** What the stages from admission on need: a limiter without rules, pools and deadlines of their own. */
function partsOf() {
  const limiter = createLimiter();
  return {
    limiter,
    metrics: metricsOf(limiter),
    balance: (route: Route) => route.targets,
    pools: createPools(),
    deadlines: createDeadlines(nowMs),
    usageEnabled: true,
    reportFailure: (error: unknown) => void reported.push(error),
    keyStreams: createKeyStreams(() => compile(sampleConfig({}), '', credentialsOf(undefined, [])), nowMs),
    nowMs,
  };
}

function metricsOf(limiter = createLimiter()): Metrics {
  return createMetrics({
    config: () => undefined,
    state: () => undefined,
    limiter,
    bodies: new BodyBudget(0),
    connections: () => ({
      open: 0,
      refused: { max_connections: 0, max_connections_per_address: 0 },
      cut: { pipelined: 0, tiny_chunks: 0, garbage: 0, unread: 0 },
    }),
    nowMs: () => 0,
    store: () => ({ isUp: true, writtenAtMs: 0 }),
  });
}

/** What `run` is refused with. */
async function refusedBy(run: () => unknown): Promise<Refusal> {
  try {
    await run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('was accepted');
}

// --- authenticate

const credentials = credentialsOf(digestOf('sk-master'), []);
const open = credentialsOf(undefined, []);
const master = { kind: 'master_key', keyId: undefined, userPath: '/', allowedModels: undefined };
const anonymous = { ...master, kind: 'anonymous' };

/** Authenticates a request with these headers at this moment, as the first one of a connection unless given one. */
function showing(headers: Record<string, string>, known: Credentials, atMs = 0, socket = new Socket()) {
  const exchange = exchangeOf(headers, socket, atMs);
  return authenticate(exchange, known);
}

function keyOf(id: string, more: object = {}): AuthKey {
  const key = readAuthKey(id, {
    name: id,
    dashboard_access: false,
    digest: digestOf(`sk-gw-${id}`),
    redacted_value: 'sk-gw-...',
    enabled: true,
    created_at: '1970-01-01T00:00:00Z',
    updated_at: '1970-01-01T00:00:00Z',
    created_by: 'master_key',
    ...more,
  });
  if (key === undefined) throw new Error('is no key');
  return key;
}

await test('the master key lets in, as bearer or as x-api-key', async (t) => {
  const ways: Record<string, string>[] = [
    { Authorization: 'Bearer sk-master' },
    { authorization: 'bearer sk-master' },
    { Authorization: 'BEARER sk-master' },
    { 'x-api-key': 'sk-master' },
    { Authorization: 'Bearer sk-master', 'X-Api-Key': 'sk-master' },
  ];
  for (const way of ways) {
    t.same(showing(way, credentials), master, JSON.stringify(way));
    t.same(showing(way, open), anonymous, 'without a master key everyone may');
  }
  t.same(showing({}, open), anonymous);
});

await test('an unknown key is not refused while the keys could not be read', async (t) => {
  const unread = credentialsOf(digestOf('sk-master'), [], false);
  const socket = new Socket();
  const show = (key: string) => showing({ 'x-api-key': key }, unread, 0, socket);
  for (let count = 0; count < 30; count += 1) {
    const refused = await refusedBy(() => show('sk-gw-of-somebody'));
    t.match(refused, { status: 503, code: 'store_unavailable', headers: { 'retry-after': '1' } });
  }
  t.match(show('sk-master'), { kind: 'master_key' });
  t.match(await refusedBy(() => showing({}, unread)), { status: 401 }, 'without a key there is nothing to wait for');
});

await test('every failure to show a key looks the same', async (t) => {
  const ways: Record<string, string>[] = [
    {},
    { Authorization: '' },
    { Authorization: 'Bearer' },
    { Authorization: 'Bearer ' },
    { Authorization: 'Bearer\tsk-master' },
    { Authorization: 'Bearersk-master' },
    { Authorization: 'Basic sk-master' },
    { Authorization: 'sk-master' },
    { Authorization: 'Bearer sk-maste' },
    { Authorization: 'Bearer sk-master1' },
    { Authorization: 'Bearer SK-MASTER' },
    { Authorization: 'Token x', 'x-api-key': 'sk-master' },
    { Authorization: 'Bearer sk-gw-off' },
    { Authorization: 'Bearer sk-gw-past' },
    { 'x-api-key': '' },
    { 'x-api-key': 'Bearer sk-master' },
    { 'api-key': 'sk-master' },
  ];
  const past = { expires_at: '1970-01-01T00:00:00Z' };
  const known = credentialsOf(digestOf('sk-master'), [keyOf('off', { enabled: false }), keyOf('past', past)]);
  const answers = new Set<string>();
  for (const way of ways) {
    const refused = await refusedBy(() => showing(way, known));
    t.match(
      refused,
      { status: 401, code: 'invalid_api_key', type: 'authentication_error', param: null, headers: {} },
      JSON.stringify(way),
    );
    answers.add(refused.message);
  }
  t.equal(answers.size, 1);
});

await test('two different keys are ambiguous, even when one of them is right', async (t) => {
  for (const known of [credentials, open]) {
    for (const other of ['sk-other', '']) {
      const way = { Authorization: 'Bearer sk-master', 'x-api-key': other };
      t.match(await refusedBy(() => showing(way, known)), { status: 400, code: 'ambiguous_credentials' });
    }
  }
});

await test('what a connection showed before counts for the same key and the same credentials only', async (t) => {
  const socket = new Socket();
  const right = { Authorization: 'Bearer sk-master' };
  for (let time = 0; time < 2; time += 1) t.same(showing(right, credentials, 0, socket), master);
  for (const wrong of [{ Authorization: 'Bearer sk-other' }, {}, { 'x-api-key': 'sk-other' }] as Record<
    string,
    string
  >[]) {
    const refused = await refusedBy(() => showing(wrong, credentials, 0, socket));
    t.match(refused, { code: 'invalid_api_key' }, JSON.stringify(wrong));
  }
  t.same(showing(right, credentials, 0, socket), master, 'a wrong key in between forgets nothing');
  const changed = credentialsOf(digestOf('sk-new'), []);
  t.match(await refusedBy(() => showing(right, changed, 0, socket)), { code: 'invalid_api_key' });
});

await test('a repeated key is not hashed again', async (t) => {
  const socket = new Socket();
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a')]);
  const way = { 'x-api-key': 'sk-gw-a', 'x-gateway-user-path': '/x' };
  const first = showing(way, known, 0, socket);
  t.equal(showing(way, known, 1, socket), first, 'the same principal, not an equal one');
  t.not(showing({ ...way, 'x-gateway-user-path': '/y' }, known, 2, socket), first);
});

await test('a managed key is its own consumer, and a path of its own always wins', async (t) => {
  const known = credentialsOf(digestOf('sk-master'), [
    keyOf('free', { any_user_path: true }),
    keyOf('plain', { any_user_path: false }),
    keyOf('bound', { user_path: '/team/app', allowed_models: ['p/*'] }),
    keyOf('rooted', { user_path: '/' }),
  ]);
  const as = (id: string, path?: string) =>
    showing({ Authorization: `Bearer ${id}`, ...(path === undefined ? {} : { 'x-gateway-user-path': path }) }, known);
  t.same(as('sk-gw-free'), { kind: 'managed_key', keyId: 'free', userPath: '/', allowedModels: undefined });
  t.equal(as('sk-gw-free', 'team/x').userPath, '/team/x');
  t.equal(as('sk-master', 'team/x').userPath, '/team/x');
  for (const path of [undefined, '/other', '/team/app/deeper', '/a/../b', 'a:b', '\xff'])
    t.match(
      as('sk-gw-bound', path),
      { kind: 'managed_key', keyId: 'bound', userPath: '/team/app', allowedModels: new Set(['p/*']) },
      path ?? 'no header',
    );
  t.equal(as('sk-gw-rooted', '/other').userPath, '/');
  for (const path of [undefined, '/', '']) t.equal(as('sk-gw-plain', path).userPath, '/');
  t.match(await refusedBy(() => as('sk-gw-plain', '/team')), { status: 403, code: 'user_path_denied' });
  for (const id of ['sk-gw-free', 'sk-gw-plain', 'sk-master'])
    t.match(await refusedBy(() => as(id, '/a/../b')), { status: 400, code: 'invalid_user_path' });
});

await test('a key that expires or is revoked is refused on a connection that knows it', async (t) => {
  const socket = new Socket();
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a', { expires_at: '1970-01-01T00:00:01Z' })]);
  const way = { Authorization: 'Bearer sk-gw-a' };
  t.match(showing(way, known, 0, socket), { keyId: 'a' });
  t.match(showing(way, known, 999, socket), { keyId: 'a' });
  t.match(await refusedBy(() => showing(way, known, 1_000, socket)), { code: 'invalid_api_key' });
  const revoked = credentialsOf(digestOf('sk-master'), [keyOf('a', { enabled: false })]);
  t.match(showing(way, known, 5, socket), { keyId: 'a' });
  t.match(await refusedBy(() => showing(way, revoked, 6, socket)), { code: 'invalid_api_key' });
});

await test('a wrong key is always 401, however many were tried', async (t) => {
  const statuses = new Set<number>();
  for (let count = 0; count < 50; count += 1) {
    const guess = count === 0 ? '' : `guess-${count}`;
    statuses.add((await refusedBy(() => showing({ 'x-api-key': guess }, credentials))).status);
  }
  t.same([...statuses], [401]);
  t.same(showing({ 'x-api-key': 'sk-master' }, credentials), master);
});

// --- authenticate under /admin

await test('under /admin only a bearer key counts, and who keeps failing is put off', async (t) => {
  const known = credentialsOf(digestOf('sk-master'), [keyOf('a')]);
  const logins = createFailedLogins();
  const at = (headers: Record<string, string>, atMs = 0, among = known) =>
    authenticateAdmin(exchangeOf(headers, new Socket(), atMs), among, logins);
  t.match(at({ authorization: 'Bearer sk-master' }), { kind: 'master_key' });
  t.match(at({ authorization: 'Bearer sk-gw-a' }), { key: { id: 'a' } }, 'what it may do, the control plane decides');
  t.match(at({}, 0, open), { kind: 'anonymous' });
  for (const headers of [{}, { 'x-api-key': 'sk-master' }, { authorization: 'Basic x' }] as Record<string, string>[])
    t.match(await refusedBy(() => at(headers)), { status: 401, code: 'invalid_api_key' }, JSON.stringify(headers));
  const wrong = { authorization: 'Bearer wrong' };
  const unread = credentialsOf(digestOf('sk-master'), [], false);
  t.match(await refusedBy(() => at(wrong, 0, unread)), {
    status: 503,
    code: 'store_unavailable',
    headers: { 'retry-after': '1' },
  });
  for (let count = 0; count < 20; count += 1) t.match(await refusedBy(() => at(wrong, count)), { status: 401 });
  t.match(await refusedBy(() => at(wrong, 1_000)), {
    status: 429,
    code: 'too_many_failed_logins',
    headers: { 'retry-after': '59', 'x-should-retry': 'false' },
  });
  t.match(
    at({ authorization: 'Bearer sk-master' }, 1_000),
    { kind: 'master_key' },
    'a right key is let in all the same',
  );
  t.match(await refusedBy(() => at({}, 1_000)), { status: 401 }, 'no key is no attempt');
  t.match(await refusedBy(() => at(wrong, 60_000)), { status: 401 });
});

// --- resolve

/** What a call says of where it wants to go. */
const named = (model: string, routingMember?: string) => ({ model, routingMember });

function routeWith(weights: readonly number[]): Route {
  const models = weights.map((_, index) => `m${index}`);
  const targets = weights.map((weight, index) => ({ model: `p/m${index}`, weight }));
  const snapshot = compile(
    sampleConfig({ providers: { p: { models } }, aliases: [{ source: 'a', targets }] }),
    '',
    open,
  );
  return resolve(named('a'), snapshot, undefined);
}

const firstOf = (targets: readonly Target[]): string => targets[0]?.model ?? '';

await test('an unknown model is not found, and says its name harmlessly', async (t) => {
  const snapshot = compile(sampleConfig({ providers: { p: {} } }), '', open);
  t.equal(resolve(named('p/m'), snapshot, undefined).targets[0]?.upstream.name, 'p');
  const refused = await refusedBy(() => resolve(named('no\nsuch'), snapshot, undefined));
  t.match(refused, {
    status: 404,
    code: 'model_not_found',
    type: 'not_found_error',
    param: 'model',
    message: '"no?such"',
  });
});

await test('a restricted caller reaches what is granted, by whatever name it asks', async (t) => {
  const snapshot = compile(
    sampleConfig({
      providers: { p: { models: ['m', 'n'] }, q: { models: ['m'] } },
      aliases: [{ source: 'mix', targets: [{ model: 'p/m' }, { model: 'q/m' }, { model: 'p/n' }] }],
    }),
    '',
    open,
  );
  const reached = async (allowed: string[], name: string) => {
    try {
      const { targets } = resolve(named(name), snapshot, modelAccess(allowed));
      return targets.map(({ upstream, model }) => `${upstream.name}/${model}`).join(' ');
    } catch (error) {
      return error instanceof Refusal ? `${error.status} ${error.type} ${error.code} ${error.param}` : error;
    }
  };
  const denied = '403 permission_error model_access_denied model';
  const rows: [allowed: string[], name: string, outcome: string][] = [
    [[], 'mix', 'p/m q/m p/n'],
    [['p/m'], 'p/m', 'p/m'],
    [['p/m'], 'm', 'p/m'],
    [['q/m'], 'm', 'q/m'],
    [[], 'm', 'p/m q/m'],
    [['m'], 'm', 'p/m q/m'],
    [['P/M'], 'p/m', 'p/m'],
    [['p/m'], 'q/m', denied],
    [['p/m'], 'p/n', denied],
    [['p/m'], 'mix', 'p/m'],
    [['p/*'], 'mix', 'p/m p/n'],
    [['m'], 'mix', 'p/m q/m'],
    [['mix'], 'mix', 'p/m q/m p/n'],
    [['mix'], 'p/m', denied],
    [['q/n'], 'mix', denied],
    [['p/m'], 'P/M', '404 not_found_error model_not_found model'],
    [['p/m'], 'nothing', '404 not_found_error model_not_found model'],
  ];
  for (const [allowed, name, outcome] of rows)
    t.equal(await reached(allowed, name), outcome, `${JSON.stringify(allowed)}: ${name}`);
});

await test('a routing member takes a restricted caller only to providers that allow it', async (t) => {
  const snapshot = compile(
    sampleConfig({
      providers: { p: {}, q: { allow_routing_members: true }, r: {} },
      aliases: [{ source: 'mix', targets: [{ model: 'p/m' }, { model: 'q/m' }, { model: 'r/m' }] }],
    }),
    '',
    open,
  );
  const reached = (name: string, allowed: string[]) =>
    resolve(named(name, 'models'), snapshot, modelAccess(allowed)).targets.map(({ upstream }) => upstream.name);
  t.same(reached('mix', ['mix']), ['q'], 'the others are left out');
  t.same(reached('q/m', ['q/*']), ['q']);
  t.same(reached('mix', []), ['p', 'q', 'r'], 'without a restriction nothing changes');
  const refused = { status: 400, type: 'invalid_request_error', code: 'routing_member_not_allowed', param: 'models' };
  t.match(await refusedBy(() => reached('p/m', ['p/m'])), { ...refused, message: /"models"/ });
  t.match(await refusedBy(() => reached('mix', ['p/m', 'r/m'])), refused);
  t.match(
    await refusedBy(() => reached('p/m', ['q/m'])),
    { code: 'model_access_denied' },
    'what is worse is told first',
  );
});

await test('a bare id always begins with the provider that is declared first', async (t) => {
  const providers = { q: { models: ['m'] }, p: { models: ['m'] }, o: { models: ['m'] } };
  const snapshot = compile(sampleConfig({ providers }), '', open);
  const balance = createBalance();
  const order = (access?: string[]) =>
    balance(resolve(named('m'), snapshot, access && modelAccess(access))).map(({ upstream }) => upstream.name);
  for (let request = 0; request < 3; request += 1) t.same(order(), ['q', 'p', 'o']);
  for (let request = 0; request < 3; request += 1) t.same(order(['o/m', 'p/*']), ['p', 'o']);
});

await test('the granted part of an alias is balanced by itself', async (t) => {
  const snapshot = compile(
    sampleConfig({
      providers: { p: { models: ['a', 'b', 'c'] } },
      aliases: [{ source: 'mix', targets: [{ model: 'p/a', weight: 9 }, { model: 'p/b' }, { model: 'p/c' }] }],
    }),
    '',
    open,
  );
  const access = modelAccess(['p/b', 'p/c']);
  const balance = createBalance();
  const firsts = Array.from({ length: 6 }, () => firstOf(balance(resolve(named('mix'), snapshot, access))));
  t.same(firsts, ['b', 'c', 'b', 'c', 'b', 'c']);
  const turns = Array.from({ length: 11 }, () => firstOf(balance(resolve(named('mix'), snapshot, undefined))));
  t.equal(turns.filter((model) => model === 'a').length, 9, 'and leaves the turns of others alone');
});

await test('weights of 5, 1 and 1 are spread smoothly', async (t) => {
  const balance = createBalance();
  const route = routeWith([5, 1, 1]);
  const order = Array.from({ length: 14 }, () => firstOf(balance(route)));
  const cycle = ['m0', 'm0', 'm1', 'm0', 'm2', 'm0', 'm0'];
  t.same(order, [...cycle, ...cycle]);
});

await test('over a cycle each target comes first exactly as often as its weight says', async () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 5 }), (weights) => {
      const balance = createBalance();
      const route = routeWith(weights);
      const counts = weights.map(() => 0);
      const total = weights.reduce((sum, weight) => sum + weight, 0);
      for (let request = 1; request <= total; request += 1) {
        const index = Number(firstOf(balance(route)).slice(1));
        counts[index] = (counts[index] ?? 0) + 1;
        const skew = weights.map((weight, each) => Math.abs((counts[each] ?? 0) - (request * weight) / total));
        if (Math.max(...skew) >= weights.length) return false;
      }
      return JSON.stringify(counts) === JSON.stringify(weights);
    }),
    runs(300),
  );
});

await test('the other targets follow in declared order', async (t) => {
  const balance = createBalance();
  const route = routeWith([1, 1, 1]);
  const orders = Array.from({ length: 3 }, () =>
    balance(route)
      .map(({ model }) => model)
      .join(' '),
  );
  t.same(orders, ['m0 m1 m2', 'm1 m0 m2', 'm2 m0 m1']);
  const single = routeWith([3]);
  t.equal(balance(single), single.targets);
});

await test('a reload that leaves an alias as it is leaves its turn as it is', async (t) => {
  const balance = createBalance();
  const [before, after, changed] = [routeWith([1, 1]), routeWith([1, 1]), routeWith([2, 1])];
  t.same(
    [before, after, before, changed, before].map((route) => firstOf(balance(route))),
    ['m0', 'm1', 'm0', 'm0', 'm1'],
    'a changed alias begins anew, beside the old one',
  );
});

// --- receive

/** Room for whatever a test sends. */
const held = () => new BodyBudget(2 ** 30).open('/', { bodyLimitBytes: 2 ** 20, bodyBudgetBytes: undefined });

await test('only plain JSON in UTF-8 is read', async (t) => {
  const json = { 'Content-Type': 'application/json' };
  const accepted: Record<string, string>[] = [
    json,
    { 'Content-Type': 'Application/JSON' },
    { 'Content-Type': 'application/json; charset=utf-8' },
    { 'Content-Type': 'application/json;charset="UTF-8"' },
    { 'Content-Type': 'application/json ; x=y' },
    { ...json, 'Content-Encoding': 'identity' },
  ];
  for (const headers of accepted) {
    const exchange = exchangeOf(headers);
    expectJson(exchange, 10);
    const received = receive(exchange, 10, held());
    exchange.request.push('{}');
    exchange.request.push(null);
    t.equal((await received).toString(), '{}', JSON.stringify(headers));
  }
  const refused: [headers: Record<string, string>, code: string][] = [
    [{}, 'unsupported_media_type'],
    [{ 'Content-Type': '' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'text/plain' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'application/jsonp' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'application/json, text/plain' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'x; a=application/json' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'application/json; charset=latin1' }, 'unsupported_media_type'],
    [{ ...json, 'Content-Encoding': 'gzip' }, 'unsupported_encoding'],
    [{ ...json, 'Content-Encoding': 'identity, gzip' }, 'unsupported_encoding'],
  ];
  for (const [headers, code] of refused) {
    t.match(await refusedBy(() => expectJson(exchangeOf(headers), 10)), { status: 415, code }, JSON.stringify(headers));
  }
});

await test('a body is whole, in its own bytes, up to the limit', async (t) => {
  const headers = { 'Content-Type': 'application/json' };
  const whole = exchangeOf(headers);
  const received = receive(whole, 10, held());
  for (const chunk of [
    [0, 255],
    [254, 1, 2],
    [3, 4, 5, 6, 7],
  ])
    whole.request.push(Buffer.from(chunk));
  whole.request.push(null);
  t.same([...(await received)], [0, 255, 254, 1, 2, 3, 4, 5, 6, 7]);
  t.equal(whole.onGone, undefined, 'no step waits any more');

  const long = exchangeOf(headers);
  const refused = refusedBy(() => receive(long, 10, held()));
  long.request.push(Buffer.alloc(6));
  long.request.push(Buffer.alloc(5));
  t.match(await refused, { status: 413, code: 'body_too_large', message: /10 bytes/ });

  const declared = exchangeOf({ ...headers, 'Content-Length': '11' });
  t.match(await refusedBy(() => expectJson(declared, 10)), { status: 413 }, 'without waiting for it');

  const left = exchangeOf(headers);
  const waiting = refusedBy(() => receive(left, 10, held()));
  await waitFor('the stage to wait', () => left.onGone);
  closeExchange(left);
  t.match(await waiting, { status: 499, code: 'client_left' });
});

// --- attempt and relay, between a real client and real providers

/** How a request ended: its status and the provider that answered. */
interface Outcome {
  readonly status: number;
  readonly provider: string;
}

interface Stand {
  readonly providers: readonly FakeUpstream[];
  readonly snapshot: Snapshot;
  readonly port: number;
  readonly outcomes: Outcome[];
}

/** What was accepted, on its way to the client of no managed key, without headers about limits. */
function deliveryOf(routed: RoutedCall, accepted: Accepted): { delivery: Delivery; tap: UsageTap } {
  const { answer, target } = accepted;
  const tap = new UsageTap(routed, accepted, true);
  return { tap, delivery: { answer, provider: target.upstream.name, taps: [tap], headers: [], keyId: undefined } };
}

/** A server of two stages: every POST goes to the alias `all`, whose targets are the providers in order. */
async function startStand(t: Test, count = 2): Promise<Stand> {
  const providers = await Promise.all(Array.from({ length: count }, () => startFakeUpstream({ t, models: ['m'] })));
  const snapshot = compile(
    sampleConfig({
      providers: Object.fromEntries(
        providers.map(({ url }, index) => [`p${index}`, { base_url: url, api_key: 'canary-key' }]),
      ),
      aliases: [{ source: 'all', targets: providers.map((_, index) => ({ model: `p${index}/m` })) }],
    }),
    '',
    open,
  );
  const outcomes: Outcome[] = [];
  const parts = partsOf();
  const { pools } = parts;
  const serve = async (exchange: Exchange): Promise<void> => {
    try {
      const call = readCall(await receive(exchange, 1 << 20, held()));
      const route = resolve(named('all'), snapshot, undefined);
      const routed: RoutedCall = { operation: 'chat', call, route, consumer: admit('/', parts) };
      const accepted = await attempt(routed, [], exchange, parts);
      const { delivery } = deliveryOf(routed, accepted);
      const { status } = await relay(delivery, exchange, parts);
      outcomes.push({ status, provider: accepted.target.upstream.name });
    } catch (error) {
      const { status, provider = '' } = answerRefusal(error, exchange);
      outcomes.push({ status, provider });
    }
  };
  const server = createServer((request, response) => {
    const exchange = openExchange(request, response, readHead(request, 'x-gateway-user-path'), nowMs());
    response.on('close', () => closeExchange(exchange));
    void serve(exchange);
  });
  t.teardown(async () => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
    await Promise.all(snapshot.upstreams.map((upstream) => pools.get(upstream).destroy()));
  });
  return { providers, snapshot, outcomes, port: await listen(server) };
}

function post(port: number, body: string) {
  const lines = [
    'POST / HTTP/1.1',
    'Host: a',
    'Connection: close',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  return rawRequest(port, `${lines.join('\r\n')}\r\n\r\n${body}`);
}

const plain = '{"model":"all","messages":[]}';
const streaming = '{"model":"all","stream":true,"messages":[]}';
const error = (status: number): Behaviour => ({ kind: 'error', status });

await test('the next target is tried only when the first cannot have done the work', async (t) => {
  const { providers, port, outcomes } = await startStand(t);
  const [first, second] = providers as [FakeUpstream, FakeUpstream];
  const cases: [behaviour: Behaviour, status: number, servedBy: string][] = [
    [{ kind: 'openai' }, 200, 'p0'],
    [error(429), 200, 'p1'],
    [error(500), 200, 'p1'],
    [error(503), 200, 'p1'],
    [error(400), 400, 'p0'],
    [error(401), 401, 'p0'],
    [error(404), 404, 'p0'],
    [{ kind: 'reset' }, 502, 'p0'],
    [{ kind: 'fin' }, 502, 'p0'],
    [{ kind: 'hang' }, 504, 'p0'],
    [{ kind: 'not-http' }, 502, 'p0'],
    [{ kind: 'short-body' }, 502, 'p0'],
    [{ kind: 'html' }, 502, 'p0'],
    [{ kind: 'refused' }, 200, 'p1'],
  ];
  for (const [behaviour, status, provider] of cases) {
    await first.behave(behaviour);
    const before = second.ledger.length;
    outcomes.length = 0;
    const { responses } = await post(port, plain);
    const name = JSON.stringify(behaviour);
    t.equal(responses[0]?.status, status, name);
    t.same(outcomes, [{ status, provider }], name);
    t.equal(second.ledger.length - before, provider === 'p1' ? 1 : 0, `${name}: calls of the second`);
  }
});

await test('a trip knows every target that was asked, when, and what came of it', async (t) => {
  const { providers, snapshot } = await startStand(t, 3);
  await providers[0]?.behave({ kind: 'refused' });
  await providers[1]?.behave({ kind: 'error', status: 503, message: 'too busy' });
  const parts = partsOf();
  const route = resolve(named('all'), snapshot, undefined);
  const call = readCall(Buffer.from(plain));
  const failed: FailedAttempt[] = [];
  const routed: RoutedCall = { operation: 'chat', call, route, consumer: admit('/', parts) };
  const accepted = await attempt(routed, failed, exchangeOf({}), parts);
  const attempts = [...failed, accepted];
  t.same(
    attempts.map(({ target, answer, refused }) => [target.upstream.name, answer?.status, refused?.message]),
    [
      ['p0', 0, 'The provider could not be reached: connection refused.'],
      ['p1', 503, 'too busy'],
      ['p2', 200, undefined],
    ],
  );
  const moments = attempts.flatMap(({ startedAtMs, endedAtMs }) => [startedAtMs, endedAtMs]);
  t.same(
    moments.map(Math.floor),
    moments.map(Math.floor).sort((a, b) => a - b),
    'one after the other',
  );
  await Promise.all(snapshot.upstreams.map((upstream) => parts.pools.get(upstream).destroy()));
});

await test('when every target refuses, the last one’s refusal is the answer', async (t) => {
  const { providers, port } = await startStand(t);
  await providers[0]?.behave(error(500));
  await providers[1]?.behave({ kind: 'error', status: 429, retryAfter: '7', message: 'slow down, canary-key' });
  const { responses } = await post(port, plain);
  t.equal(responses[0]?.status, 429);
  t.equal(responses[0]?.header('retry-after'), '7');
  t.match(JSON.parse(responses[0]?.body.toString() ?? ''), {
    error: { type: 'rate_limit_error', provider: 'p1', message: 'slow down, [redacted]' },
  });
});

await test('a provider sees its key, its model and the request id, and nothing of the client', async (t) => {
  const { providers, port } = await startStand(t, 1);
  await post(port, plain);
  const entry = providers[0]?.ledger[0];
  t.equal(entry?.target, '/v1/chat/completions');
  t.equal(entry?.body.toString(), '{"model":"m","messages":[]}');
  t.equal(entry?.header('authorization'), 'Bearer canary-key');
  t.match(entry?.header('x-request-id'), /^req_/);
  const names = (entry?.headers ?? []).map(([name]) => name.toLowerCase()).sort();
  t.same(names, [
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-request-id',
  ]);
});

/** The data of each event in a body; a rest without a blank line at its end counts as an event. */
const eventsOf = (body: string): string[] => body.split(/\n\n/).filter((event) => event !== '');

await test('a stream comes through without the usage event that only the gateway wanted', async (t) => {
  const { providers, port } = await startStand(t, 1);
  const bytes = [
    ': hi\n\n',
    'data: {"choices":[{}]}\n',
    '\ndata: {"choices":[],"usage":{"total_tokens":3}}\n\nda',
    'ta: [DONE]\n\n',
  ];
  await providers[0]?.behave({ kind: 'sse', chunks: bytes });
  const { responses } = await post(port, streaming);
  t.equal(responses[0]?.body.toString(), ': hi\n\ndata: {"choices":[{}]}\n\ndata: [DONE]\n\n');
  t.equal(responses[0]?.header('cache-control'), 'no-cache');
  const own = streaming.replace('"messages"', '"stream_options":{"include_usage":true},"messages"');
  t.equal((await post(port, own)).responses[0]?.body.toString(), bytes.join(''), 'a client that asked gets it');
});

await test('a stream that breaks ends with an error event of its own, wherever it was cut', async (t) => {
  const { providers, port } = await startStand(t, 1);
  const whole = 'data: {"choices":[{}]}\n\n';
  const own = streaming.replace('"messages"', '"stream_options":{"include_usage":true},"messages"');
  const cuts: [name: string, chunks: string[], framing: 'chunked' | 'eof'][] = [
    ['between events', [whole], 'chunked'],
    ['inside an event', [whole, 'data: {"choi'], 'chunked'],
    ['at the end of a line', [whole, 'data: {"choices":[]}\n'], 'chunked'],
    ['before the terminal event', [whole], 'eof'],
    ['inside an event of unknown length', [whole, 'data: {"choi'], 'eof'],
    ['after text that mentions the terminal event', [whole, 'data: {"choices":[{"delta":"[DONE]"}]}\n\n'], 'eof'],
  ];
  for (const [name, chunks, framing] of cuts) {
    for (const body of [streaming, own]) {
      await providers[0]?.behave({ kind: 'sse', chunks: [...chunks, fin], framing });
      const text = (await post(port, body)).responses[0]?.body.toString() ?? '';
      t.ok(text.startsWith(whole), name);
      t.match(eventsOf(text).at(-1), /^data: \{"error":\{"code":"stream_incomplete".*"provider":"p0"/, `cut ${name}`);
      t.notMatch(text, 'data: [DONE]', name);
    }
  }
});

await test('a stream that is complete by its framing needs no terminal event', async (t) => {
  const { providers, port } = await startStand(t, 1);
  for (const [chunks, framing] of [
    [['data: 1\n\n'], 'chunked'],
    [['data: 1\n\n', 'data: [DONE]\n\n'], 'eof'],
    [['data: 1\r\n\r\ndata:[DO', 'NE]\r\n\r\n'], 'eof'],
  ] as const) {
    await providers[0]?.behave({ kind: 'sse', chunks, framing });
    const { responses } = await post(port, streaming);
    t.equal(responses[0]?.body.toString(), chunks.join(''), `${framing} ${chunks.length}`);
  }
});

await test('a long answer passes while it arrives, and one that breaks off is never taken for whole', async (t) => {
  const { providers, port, outcomes } = await startStand(t, 1);
  const body = `{"a":"${'x'.repeat(300_000)}"}`;
  await providers[0]?.behave({ kind: 'json', body });
  const { responses } = await post(port, plain);
  t.equal(responses[0]?.header('content-length'), String(body.length));
  t.ok(responses[0]?.body.toString() === body);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  await providers[0]?.behave({ kind: 'raw', steps: [head, body.slice(0, 200_000), fin] });
  t.equal((await post(port, plain)).responses[0]?.complete, false);
  t.same(outcomes, [
    { status: 200, provider: 'p0' },
    { status: 502, provider: 'p0' },
  ]);
});

await test('targets that were all used up a moment ago are refused, although a slice ends meanwhile', async (t) => {
  const providers = { p0: {}, p1: {} };
  const aliases = [{ source: 'all', targets: [{ model: 'p0/m' }, { model: 'p1/m' }] }];
  const snapshot = compile(sampleConfig({ providers, aliases }), '', open);
  const usedMs = 1_700_000_000_000;
  // The 61st second from there on is free again, and begins between two looks at the clock.
  const ticks = [usedMs + 60_999, usedMs + 61_000];
  const parts = { ...partsOf(), nowMs: () => ticks.shift() ?? usedMs + 61_001 };
  const limits: Limit[] = [{ period: 'minute', max_requests: 1, mode: 'enforce' }];
  parts.limiter.reconcile(
    compileRules({
      enabled: true,
      user_paths: [],
      providers: Object.keys(providers).map((name) => ({ name, limits })),
      models: [],
    }),
  );
  for (const name of Object.keys(providers)) {
    t.ok(parts.limiter.admit(parts.limiter.forTarget(name, 'm'), usedMs, 'reject').lease);
  }
  const consumer = admit('/', { ...parts, nowMs: () => usedMs });
  const call = readCall(Buffer.from(streaming));
  const route = resolve(named('all'), snapshot, undefined);
  const routed: RoutedCall = { operation: 'chat', call, route, consumer };
  const refused = await refusedBy(() => attempt(routed, [], exchangeOf({}), parts));
  t.match(refused, { status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after': '1' }, message: /p0/ });
});

await test('an answer that comes after the client has left is cancelled', async (t) => {
  const { providers, snapshot } = await startStand(t, 1);
  const gate = createGate();
  await providers[0]?.behave({ kind: 'sse', chunks: ['data: 1\n\n', gate] });
  const exchange = exchangeOf({});
  const parts = partsOf();
  const { pools } = parts;
  const route = resolve(named('all'), snapshot, undefined);
  const call = readCall(Buffer.from(streaming));
  const routed: RoutedCall = { operation: 'chat', call, route, consumer: admit('/', parts) };
  const accepted = await attempt(routed, [], exchange, parts);
  exchange.gone = true;
  const { delivery, tap } = deliveryOf(routed, accepted);
  t.match(await relay(delivery, exchange, parts), { status: 499, refused: { code: 'client_left' } });
  t.match(tap.usage(), { source: 'estimated' });
  await providers[0]?.waitFor((ledger) => ledger[0]?.clientClosedAtMs);
  await Promise.all(snapshot.upstreams.map((upstream) => pools.get(upstream).destroy()));
});

await test('a client that leaves takes its upstream call with it', async (t) => {
  const { providers, port, outcomes } = await startStand(t);
  const gate = createGate();
  const [first] = providers as [FakeUpstream, FakeUpstream];
  for (const behaviour of [
    { kind: 'hold', gate },
    { kind: 'sse', chunks: ['data: 1\n\n', gate] },
  ] as Behaviour[]) {
    await first.behave(behaviour);
    const socket = new Socket();
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined).connect(port, '127.0.0.1');
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${streaming.length}\r\n\r\n${streaming}`,
    );
    await waitFor('the provider to hold it', () => gate.waiting);
    if (behaviour.kind === 'sse') await new Promise((got) => socket.once('data', got));
    outcomes.length = 0;
    const leftAtMs = performance.now();
    socket.destroy();
    const closedAtMs = await first.waitFor((ledger) => ledger.at(-1)?.clientClosedAtMs);
    t.ok(closedAtMs - leftAtMs < 500, `cancelled after ${Math.round(closedAtMs - leftAtMs)} ms`);
    await waitFor('the outcome', () => outcomes.length > 0);
    t.equal(providers[1]?.ledger.length, 0, 'no other target is asked for a client that has left');
  }
});

await test('no provider is called for a client that has left', async (t) => {
  const { providers, snapshot } = await startStand(t, 1);
  const exchange = exchangeOf({});
  closeExchange(exchange);
  const parts = partsOf();
  const route = resolve(named('all'), snapshot, undefined);
  const call = readCall(Buffer.from(plain));
  const routed: RoutedCall = { operation: 'chat', call, route, consumer: admit('/', parts) };
  const refused = await refusedBy(() => attempt(routed, [], exchange, parts));
  t.match(refused, { status: 499, code: 'client_left' });
  t.equal(providers[0]?.ledger.length, 0);
});

// --- settle

/** The trip of a request that came nowhere and ended like this. */
function tripOf(exchange: Exchange, ending: Ending): Trip {
  return {
    path: '/v1/embeddings',
    exchange,
    snapshot: compile(sampleConfig({}), '', open),
    principal: undefined,
    consumer: undefined,
    call: undefined,
    route: undefined,
    failed: [],
    accepted: undefined,
    usageTap: undefined,
    ending,
  };
}

await test('a request is counted once, by how it ended and how long it took', async (t) => {
  const limiter = createLimiter();
  const metrics = metricsOf(limiter);
  const settled = (ending: Ending, gone: boolean): void => {
    const exchange = exchangeOf({});
    exchange.gone = gone;
    exchange.onGone = () => t.fail('no step waits any more');
    metrics.begin();
    const reportFailure = (thrown: unknown) => void reported.push(thrown);
    settle(tripOf(exchange, ending), { metrics, limiter, reportFailure, nowMs: () => 250 });
    t.equal(exchange.onGone, undefined);
  };
  const failed = refusal('upstream_timeout', { provider: 'p' });
  settled({ status: 504, headers: [], refused: failed }, false);
  settled({ status: 504, headers: [], refused: failed }, true);
  settled({ status: 404, headers: [], refused: refusal('model_not_found') }, false);
  const text = await metrics.text();
  for (const line of [
    'gateway_requests_total{endpoint="/v1/embeddings",provider="p",status="504"} 1',
    'gateway_requests_total{endpoint="/v1/embeddings",provider="p",status="499"} 1',
    'gateway_requests_total{endpoint="/v1/embeddings",provider="",status="404"} 1',
    'gateway_request_duration_seconds_bucket{le="0.1",endpoint="/v1/embeddings"} 0',
    'gateway_request_duration_seconds_bucket{le="0.5",endpoint="/v1/embeddings"} 3',
    'gateway_request_duration_seconds_bucket{le="+Inf",endpoint="/v1/embeddings"} 3',
    'gateway_request_duration_seconds_sum{endpoint="/v1/embeddings"} 0.75',
    'gateway_request_duration_seconds_count{endpoint="/v1/embeddings"} 3',
    'gateway_requests_in_flight 0',
  ]) {
    t.ok(text.split('\n').includes(line), line);
  }
});

await test('no failure was unexpected', (t) => {
  t.strictSame(reported, []);
  t.end();
});
