// The admin API through a proxy is the admin API of the control plane; without a control plane, model requests still work.
import { t as suite, type Test, test } from 'tap';
import { signClientAddress } from '../../domain/keys/client-address.ts';
import { ask } from '../support/consumer.ts';
import { extent, scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { type Gateway, type GatewayRequest, masterKey } from '../support/gateway.ts';
import { doorsOf } from '../support/operator.ts';
import { rawRequest } from '../support/raw-http.ts';
import { Agent, fetch, type Response } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);

const list = '/admin/rate-limits';
const rule = { user_path: '/team', limit_key: { period: 'minute' }, max_requests: 5 };
const key = { scope: 'user_path', subject: '/team', limit_key: { period: 'minute' } };
const put = (body: GatewayRequest['body'], headers: Record<string, string> = {}): GatewayRequest => ({
  method: 'PUT',
  headers,
  ...(body === undefined ? {} : { body }),
});

/** Requests in order, each the same for both doors; the status that both answer with. */
const asked: readonly (readonly [what: string, status: number, path: string, init?: GatewayRequest])[] = [
  ['nothing there yet', 200, list],
  ['a write', 200, list, put(rule)],
  ['a listing', 200, list],
  ['a listing of one path', 200, `${list}?user_path=team%2F&scope=user_path`],
  ['a listing with an unknown query', 400, `${list}?page=1&page=2`],
  ['a head', 200, list, { method: 'HEAD' }],
  ['a write on condition', 200, list, put(rule, { 'if-match': '*' })],
  ['a write on a condition that fails', 412, list, put(rule, { 'if-match': '"0"' })],
  ['a write on several conditions that fail', 412, list, put(rule, { 'if-match': '"0", "1000000"' })],
  ['no body', 400, list, { method: 'PUT', headers: { 'content-type': 'application/json' } }],
  ['no JSON', 400, list, put('{', { 'content-type': 'application/json' })],
  ['another media type', 415, list, put('a=b', { 'content-type': 'application/x-www-form-urlencoded' })],
  ['a compressed body', 415, list, put(rule, { 'content-encoding': 'gzip' })],
  ['an unknown member', 400, list, put({ ...rule, max_request: 5 })],
  ['a member of the wrong type', 400, list, put({ ...rule, max_requests: '5' })],
  ['a template without the entitlement', 403, list, put({ ...rule, per_child: true })],
  ['a reset of one', 200, `${list}/reset-one`, { method: 'POST', body: { user_path: '/team', period: 'minute' } }],
  ['a reset without confirmation', 400, `${list}/reset`, { method: 'POST', body: {} }],
  ['a reset of all', 200, `${list}/reset`, { method: 'POST', body: { confirmation: 'reset' } }],
  ['a removal', 200, list, { method: 'DELETE', body: key }],
  ['a removal of what is not there', 404, list, { method: 'DELETE', body: { ...key, subject: '/nobody' } }],
  ['an unknown path', 404, '/admin/no-such-thing'],
  ['no path at all', 404, '/admin'],
  ['nothing behind the slash', 404, '/admin/'],
  ['an unknown method', 405, list, { method: 'PATCH', body: {} }],
  ['a method that does not fit', 405, `${list}/reset`],
  ['status', 200, '/admin/status'],
  ['keys', 200, '/admin/auth-keys'],
  ['a key that is not there', 404, '/admin/auth-keys/no-such-key'],
  ['a key with an endless name', 404, `/admin/auth-keys/${'x'.repeat(300)}`],
  ['without a key', 401, list, { headers: { authorization: 'Basic eDp5' } }],
  ['with a wrong key', 401, list, { headers: { authorization: 'Bearer wrong' } }],
];

interface Listing {
  readonly rate_limits: readonly { readonly subject: string }[];
}

const comparedHeaders = ['content-type', 'etag', 'cache-control', 'allow', 'retry-after', 'www-authenticate'];

/** What a client sees of an answer, without what may differ from one moment to the next. */
async function seen(response: Response): Promise<{ status: number; headers: string[]; body: string }> {
  const text = await response.text();
  const moment =
    /"(server_time|created_at|updated_at|window_start|window_end|heard_at|converged|lag_seconds|state_revision)":("[^"]*"|[\w.]+)/g;
  return {
    status: response.status,
    headers: comparedHeaders.map((name) => `${name}: ${response.headers.get(name)}`),
    body: text.replace(moment, '"$1":0'),
  };
}

/** The entity tag counts writes, and every write is made twice here. */
const countless = (value: object): object =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/(etag: |entity tag is )\\"\d+\\"/g, '$1')
      // Records may be stored between the two.
      .replace(/used_bytes\\":\d+/g, 'used_bytes\\":0'),
  ) as object;

async function flat(t: Test, response: Response, status: number, code: string): Promise<void> {
  const body = (await response.json()) as Record<string, unknown>;
  t.equal(response.status, status, JSON.stringify(body));
  t.match(response.headers.get('content-type'), /^application\/json/);
  t.match(body, { code, status_code: status, type: String, message: String });
  const known = ['code', 'message', 'param', 'provider', 'status_code', 'type'];
  t.same(
    Object.keys(body).filter((name) => !known.includes(name)),
    [],
    'flat',
  );
}

const readiness = async (gateway: Gateway): Promise<unknown> => (await gateway.fetch('/health/ready')).json();

/** One failed login, from an address of this machine; the status. */
async function failFrom(url: string, localAddress: string, headers: Record<string, string> = {}): Promise<number> {
  const dispatcher = new Agent({ localAddress, pipelining: 1 });
  const response = await fetch(`${url}${list}`, { dispatcher, headers: { authorization: 'Bearer wrong', ...headers } });
  await response.body?.cancel();
  await dispatcher.destroy();
  return response.status;
}

/** Who write at once, and then read at once. */
const operators = extent(100, 40);

/** So many failures in a minute are answered as what they are. */
const mostFailures = 20;

/** An answer for which the store was asked in time: on a busy machine a listing may be given without its figures. */
async function inTime<Answer extends { readonly body: string }>(answered: () => Promise<Answer>): Promise<Answer> {
  const answer = await answered();
  return answer.body.includes('"stale":true') ? answered() : answer;
}

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await startFleet(group, { store, upstream });
    const [proxy, other] = fleet.proxies;
    if (proxy === undefined || other === undefined) throw new Error('two proxies are needed');

    await group.test('the admin API through a proxy is the admin API itself', async (t) => {
      for (const [what, status, path, init] of asked) {
        const direct = await inTime(async () => seen(await fleet.admin(path, init)));
        const through = await inTime(async () => seen(await proxy.fetch(path, init)));
        t.match(direct, { status }, what);
        // What was removed directly cannot be removed again.
        if (what === 'a removal') t.match(through, { status: 404 });
        else t.same(countless(through), countless(direct), what);
        if (status >= 400) await flat(t, await proxy.fetch(path, init), status, codeIn(direct));
      }
    });

    await group.test('an entity tag from one proxy is a condition on another', async (t) => {
      const etag = (await proxy.fetch(list)).headers.get('etag') ?? '';
      t.match(etag, /^"\d+"$/);
      const written = await other.fetch(list, put(rule, { 'if-match': etag }));
      t.equal(written.status, 200);
      t.not(written.headers.get('etag'), etag);
      await flat(t, await proxy.fetch(list, put(rule, { 'if-match': etag })), 412, 'precondition_failed');
      const again = await proxy.fetch(list, put(rule, { 'if-match': written.headers.get('etag') ?? '' }));
      t.equal(again.status, 200);
    });

    await group.test('a body may have 1 MiB, through a proxy too', async (t) => {
      const padded = (bytes: number): string => JSON.stringify(rule).padEnd(bytes, ' ');
      for (const door of doorsOf(fleet)) {
        const init = (bytes: number) => put(padded(bytes), { 'content-type': 'application/json' });
        t.equal((await door(list, init(1_048_576))).status, 200);
        await flat(t, await door(list, init(1_048_577)), 413, 'body_too_large');
      }
    });

    await group.test(`${operators} operators at once are all served`, async (t) => {
      const each = Array.from({ length: operators }, (_, index) => index);
      const capped = (index: number) => put({ ...rule, user_path: `/crowd/${index}`, max_requests: index + 1 });
      const written = await Promise.all(each.map((index) => proxy.fetch(list, capped(index))));
      t.same(new Set(written.map(({ status }) => status)), new Set([200]));
      const read = await Promise.all(each.map(() => fleet.admin(list)));
      t.same(new Set(read.map(({ status }) => status)), new Set([200]));
      for (const { rate_limits: rules } of await Promise.all(
        read.map((response) => response.json() as Promise<Listing>),
      )) {
        t.equal(rules.filter(({ subject }) => subject.startsWith('/crowd/')).length, operators);
      }
      // On a busy machine the store may have been too slow for a moment.
      await waitFor('the control plane to be ready', async () => {
        const ready = (await (await fleet.admin('/health/ready')).json()) as { status: string };
        return ready.status === 'ready';
      });
    });

    await group.test('an answer has the request id of its request', async (t) => {
      for (const path of [list, '/admin/nothing']) {
        const response = await proxy.fetch(path, { headers: { 'x-request-id': 'of-mine' } });
        t.equal(response.headers.get('x-request-id'), 'of-mine');
        t.match((await proxy.fetch(path)).headers.get('x-request-id'), /^[\w-]{8,}$/);
      }
    });

    await group.test('two keys in one request are refused, in whatever order', async (t) => {
      const [right, wrong] = [`Authorization: Bearer ${masterKey}`, 'Authorization: Bearer wrong'];
      for (const port of [Number(new URL(fleet.controlPlane.address).port), proxy.port]) {
        for (const lines of [
          [right, wrong],
          [wrong, right],
          [right, right],
        ]) {
          const head = [`GET ${list} HTTP/1.1`, 'Host: gateway.test', ...lines, 'Connection: close'];
          const { responses } = await rawRequest(port, `${head.join('\r\n')}\r\n\r\n`);
          const door = port === proxy.port ? 'through the proxy' : 'at the control plane';
          t.equal(responses[0]?.status, 400, `${lines.join(', ')} ${door}`);
          t.match(responses[0]?.json(), { code: 'ambiguous_credentials', status_code: 400 });
        }
      }
    });

    await group.test('without a control plane only operators are affected', async (t) => {
      const written = await proxy.fetch(list, put({ ...rule, user_path: '/kept', max_requests: 2 }));
      t.equal(written.status, 200);
      await fleet.settle();
      t.match(await readiness(proxy), { status: 'ready', reasons: [] });
      await fleet.controlPlane.kill();
      for (const init of [{}, put(rule), { method: 'DELETE', body: key }]) {
        const refused = await proxy.fetch(list, init);
        t.equal(refused.headers.get('retry-after'), '1');
        await flat(t, refused, 503, 'control_plane_unavailable');
      }
      const degraded = { status: 'degraded', reasons: ['control_plane_unavailable'] };
      await waitFor('both proxies to notice', async () => {
        const said = await Promise.all(fleet.proxies.map(readiness));
        return said.every((each) => JSON.stringify(each) === JSON.stringify(degraded));
      });
      t.equal((await proxy.fetch('/health/ready')).status, 200, 'it still accepts traffic');
      t.same([await proxy.metric('gateway_ready'), await proxy.metric('gateway_control_plane_up')], [1, 0]);
      for (const status of [200, 200, 429]) {
        t.equal((await ask(proxy, '/kept')).status, status);
        t.equal((await ask(other, '/kept')).status, status, 'what operators have set stays in force');
      }

      await fleet.restartControlPlane();
      const operated = await waitFor('the admin API to be back', async () => {
        const response = await proxy.fetch(list);
        if (response.status !== 200) await response.body?.cancel();
        return response.status === 200 && response;
      });
      t.match(await operated.text(), /"subject":"\/kept"/);
      await waitFor('both proxies to notice', async () => {
        const said = (await Promise.all(fleet.proxies.map(readiness))) as { status: string }[];
        return said.every(({ status }) => status === 'ready');
      });
    });

    await group.test('failed logins through a proxy count for the address of the client', async (t) => {
      const [one, two, three] = ['127.0.0.41', '127.0.0.42', '127.0.0.43'] as const;
      const forged = [
        signClientAddress('10.0.0.1', 'sk-guessed'),
        '10.0.0.2',
        // Even a signature that was seen somewhere: the proxy knows who is connected to it.
        signClientAddress('10.0.0.3', masterKey),
      ];
      for (let failure = 0; failure < mostFailures; failure += 1) {
        const claimed = forged[failure % forged.length] ?? '';
        t.equal(await failFrom(proxy.url, one, { 'x-gateway-client-address': claimed }), 401);
      }
      for (const claimed of forged) {
        t.equal(await failFrom(proxy.url, one, { 'x-gateway-client-address': claimed }), 429);
      }
      t.equal(await failFrom(other.url, one), 401, 'every proxy and the control plane count for themselves');
      t.equal(await failFrom(proxy.url, two), 401, 'another client is not refused');
      t.equal(await failFrom(fleet.controlPlane.address, three), 401);
      t.equal((await proxy.fetch(list)).status, 200, 'the address of the proxy itself has failed at nothing');

      // Without a proxy between, only a signature with the master key vouches for an address.
      const claims = { guessed: signClientAddress(two, 'sk-guessed'), signed: signClientAddress(one, masterKey) };
      const failAs = (claimed: string): Promise<number> =>
        failFrom(fleet.controlPlane.address, three, { 'x-gateway-client-address': claimed });
      for (let failure = 0; failure < mostFailures; failure += 1) t.equal(await failAs(claims.signed), 401);
      t.equal(await failAs(claims.signed), 429);
      t.equal(await failAs(claims.guessed), 401);
      const refused = await proxy.fetch(list, { headers: { authorization: 'Bearer wrong' } });
      t.equal(refused.status, 401);
      t.equal(refused.headers.get('www-authenticate'), 'Bearer');
      t.equal(await failFrom(fleet.controlPlane.address, one), 429, 'a signed address is the address');
    });
  });
}

function codeIn(answer: object): string {
  return /"code\\?":\\?"(\w+)/.exec(JSON.stringify(answer))?.[1] ?? 'none';
}
