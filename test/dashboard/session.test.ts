// The dashboard without a browser: what is served to strangers, logging in and out, and what a cookie can do, through both planes.
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { t as suite, type Test, test } from 'tap';
import { csrfHeader } from '../../domain/keys/session.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { masterKey } from '../support/gateway.ts';
import { openRaw } from '../support/raw-http.ts';
import { Agent, fetch, Pool, type RequestInit, request } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

const fleet = await startFleet(suite, {
  store: 'sqlite',
  proxies: 1,
  upstream: await startFakeUpstream({ t: suite }),
  config: { server: { trusted_proxies: ['127.0.0.1'] } },
});
const proxy = fleet.proxies[0]?.url ?? '';
const doors = [
  ['the control plane', fleet.controlPlane.address],
  ['a proxy', proxy],
] as const;
const agent = new Agent({ pipelining: 1 });
suite.teardown(() => agent.destroy());

async function ask(url: string, init: RequestInit = {}) {
  const response = await fetch(url, { dispatcher: agent, ...init });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (isJson ? JSON.parse(text) : {}) as Record<string, unknown>,
  };
}

/** A login, and the headers of reads and writes with its session. */
async function logIn(door: string, key = masterKey, headers: Record<string, string> = {}) {
  const json = { 'content-type': 'application/json', ...headers };
  const answer = await ask(`${door}/admin/session`, { method: 'POST', headers: json, body: JSON.stringify({ key }) });
  const given = answer.headers.get('set-cookie') ?? '';
  const cookie = given.split(';')[0] ?? '';
  const own = { cookie, [csrfHeader]: String(answer.body['csrf_token']), 'sec-fetch-site': 'same-origin' };
  return { answer, given, read: { cookie }, write: { ...own, 'content-type': 'application/json' } };
}

const rule = (cap: number): string => JSON.stringify({ user_path: '/s', period: 'day', max_requests: cap });

for (const [name, door] of doors) {
  await test(`${name} serves the page to strangers, and no data`, async (t) => {
    const shell = await ask(`${door}/admin/dashboard/rate-limits?scope=model`);
    t.equal(shell.status, 200);
    t.match(shell.headers.get('content-security-policy'), /^default-src 'none'; script-src 'self'; style-src 'self';/);
    t.notMatch(shell.headers.get('content-security-policy'), /unsafe|\*|https?:/);
    const shown = ['cache-control', 'x-content-type-options', 'referrer-policy'].map((each) => shell.headers.get(each));
    t.same(shown, ['no-store', 'nosniff', 'no-referrer']);
    const addresses = [...shell.text.matchAll(/(?:href|src)="(\/[^"]+)"/g)].map((match) => match[1] ?? '');
    t.ok(addresses.length > 15);
    let bytes = shell.text.length;
    for (const address of new Set(addresses)) {
      const asset = await raw(`${door}${address}`, 'br');
      t.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable', address);
      bytes += asset.length;
    }
    t.ok(bytes < 150_000, `first paint takes ${bytes} bytes`);
    t.equal((await ask(`${door}/admin/dashboard/assets/none.js`)).status, 404);
    t.match(await ask(`${door}/admin/rate-limits`), { status: 401, body: { code: 'invalid_api_key' } });
    t.equal((await ask(`${door}/admin/dashboard`, { method: 'POST' })).status, 401);
  });

  await test(`at ${name} a session reads, writes with its token, and ends`, async (t) => {
    const { answer, given, read, write } = await logIn(door);
    t.match(answer, { status: 200, body: { kind: 'master_key', user_path: '/', scoped: false } });
    t.match(given, /^gateway_session=[\w-]+; Path=\/admin; Max-Age=43200; HttpOnly; SameSite=Strict$/);
    t.notOk(given.includes(masterKey));
    t.match(await ask(`${door}/admin/session`, { headers: read }), { status: 200, body: { kind: 'master_key' } });
    const url = `${door}/admin/rate-limits`;
    const put = (headers: Record<string, string>) => ask(url, { method: 'PUT', headers, body: rule(5) });
    const refused = { status: 403, body: { code: 'csrf_refused' } };
    t.match(await put({ ...write, [csrfHeader]: 'x' }), refused, 'another token');
    t.match(await put({ ...write, 'sec-fetch-site': 'cross-site' }), refused, 'a page of another site');
    t.match(await put({ ...write, 'sec-fetch-site': 'same-site' }), refused, 'a page of a sister site');
    const { 'sec-fetch-site': _, ...bare } = write;
    t.match(await put(bare), refused, 'no word of a browser');
    t.match(await put({ ...bare, origin: 'http://other.example' }), refused, 'another origin');
    t.match(await put({ ...bare, origin: door }), { status: 200 }, 'a browser that only sends its origin');
    t.match(await put(write), { status: 200 });
    const withKey = { cookie: 'gateway_session=x', authorization: `Bearer ${masterKey}` };
    t.match(await ask(url, { headers: withKey }), { status: 200 }, 'a key comes before a cookie');
    const ended = { status: 401, body: { code: 'session_ended' } };
    t.match(await ask(url, { headers: { cookie: 'gateway_session=x' } }), ended);
    const left = await ask(`${door}/admin/session`, { method: 'DELETE', headers: write });
    t.match([left.status, left.headers.get('set-cookie')], [204, /^gateway_session=; Path=\/admin; Max-Age=0;/]);
  });

  await test(`over HTTPS ${name} marks the cookie as secure`, async (t) => {
    const host = new URL(door).host;
    const { given } = await logIn(door, masterKey, { origin: `https://${host}`, 'sec-fetch-site': 'same-origin' });
    t.match(given, /; Secure$/);
    const foreign = await logIn(door, masterKey, { origin: 'https://other.example' });
    t.match(foreign.answer, { status: 403, body: { code: 'csrf_refused' } });
  });
}

/** The bytes as they are sent. */
async function raw(url: string, encoding: 'br' | 'gzip') {
  const { origin, pathname: path } = new URL(url);
  const pool = new Pool(origin);
  const asked = { method: 'GET', path, headers: { 'accept-encoding': encoding } } as const;
  const { body, headers, statusCode } = await request(pool, asked);
  const bytes = Buffer.from(await body.arrayBuffer());
  await pool.destroy();
  const given = new Map(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  return { status: statusCode, length: bytes.length, bytes, headers: { get: (name: string) => given.get(name) } };
}

await test('files are sent as the browser takes them, and not again when it has them', async (t) => {
  const shell = await ask(`${proxy}/admin/dashboard`);
  const address = /src="([^"]+)"/.exec(shell.text)?.[1] ?? '';
  const [br, gzip] = [await raw(`${proxy}${address}`, 'br'), await raw(`${proxy}${address}`, 'gzip')];
  t.same([br.headers.get('content-encoding'), gzip.headers.get('content-encoding')], ['br', 'gzip']);
  t.same(brotliDecompressSync(br.bytes), gunzipSync(gzip.bytes));
  const headers = { 'if-none-match': br.headers.get('etag') ?? '' };
  t.match(await ask(`${proxy}${address}`, { headers }), { status: 304, text: '' });
});

await test('one session is good at both planes, and for what a proxy answers itself', async (t) => {
  const { read, write } = await logIn(fleet.controlPlane.address);
  t.match(await ask(`${proxy}/admin/session`, { headers: read }), { status: 200 });
  t.match(await ask(`${proxy}/admin/explain?model=none`, { headers: read }), { status: 200 });
  t.match(await ask(`${proxy}/admin/rate-limits`, { method: 'PUT', headers: write, body: rule(6) }), { status: 200 });
  await fleet.restartControlPlane();
  t.match(await ask(`${proxy}/admin/session`, { headers: read }), { status: 200 }, 'it survives a restart');
});

/** Issues a key with dashboard access; the proxy knows it then. */
async function issue(t: Test, more: object): Promise<{ id: string; value: string }> {
  const body = JSON.stringify({ name: 'operator', dashboard_access: true, ...more });
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' };
  const response = await fetch(`${proxy}/admin/auth-keys`, { dispatcher: agent, method: 'POST', headers, body });
  t.equal(response.status, 201);
  return (await response.json()) as { id: string; value: string };
}

await test('a session goes by the role that its key has now', async (t) => {
  const key = await issue(t, { role: 'admin' });
  const { answer, read, write } = await logIn(proxy, key.value);
  t.match(answer.body, { role: 'admin' });
  const trial = async (door: string) => {
    const init = { method: 'POST', headers: write, body: '{"text":"a"}' };
    return (await ask(`${door}/admin/guardrails/test`, init)).status;
  };
  const limit = async (door: string) => {
    const init = { method: 'PUT', headers: write, body: rule(7) };
    return (await ask(`${door}/admin/rate-limits`, init)).status;
  };
  t.same([await trial(proxy), await limit(proxy)], [200, 200]);
  const body = { dashboard_access: true, role: 'viewer' };
  await fleet.admin(`/admin/auth-keys/${key.id}/dashboard-access`, { method: 'PUT', body });
  await waitFor('the proxy to refuse a trial', async () => (await trial(proxy)) === 403, 1_500);
  for (const [name, door] of doors) {
    await waitFor(`a write to be refused at ${name}`, async () => (await limit(door)) === 403, 1_500);
    t.match(await ask(`${door}/admin/session`, { headers: read }), { status: 200, body: { role: 'viewer' } });
    t.match(await ask(`${door}/admin/rate-limits`, { headers: read }), { status: 200 });
  }
});

await test('the session of a key ends when the key is revoked', async (t) => {
  const key = await issue(t, { user_path: '/team' });
  const { answer, read } = await logIn(proxy, key.value);
  t.match(answer.body, { kind: 'managed_key', key_id: key.id, key_name: 'operator', user_path: '/team', scoped: true });
  t.match(await ask(`${proxy}/admin/status`, { headers: read }), { status: 403, body: { code: 'admin_scope_denied' } });
  await fleet.admin(`/admin/auth-keys/${key.id}/deactivate`, { method: 'POST' });
  for (const [name, door] of doors) {
    const isOver = async () => (await ask(`${door}/admin/rate-limits`, { headers: read })).status === 401;
    await waitFor(`the session to be over at ${name}`, isOver, 1_500);
  }
});

await test('a session that has logged out is over everywhere, also for who has copied its cookie', async (t) => {
  const second = await fleet.startControlPlane();
  const everywhere = [...doors, ['another control plane', second.address]] as const;
  for (const [name, door] of doors) {
    const { read, write } = await logIn(door);
    const other = await logIn(door);
    t.equal((await ask(`${door}/admin/session`, { method: 'DELETE', headers: write })).status, 204);
    for (const [where, each] of everywhere) {
      const isOver = async () => (await ask(`${each}/admin/rate-limits`, { headers: read })).status === 401;
      await waitFor(`the session of ${name} to be over at ${where}`, isOver, 1_500);
      t.equal((await ask(`${each}/admin/rate-limits`, { headers: other.read })).status, 200, 'another session goes on');
    }
    const again = await ask(`${door}/admin/session`, { method: 'DELETE', headers: write });
    t.match(again, { status: 401, body: { code: 'session_ended' } });
    if (door !== proxy) continue;
    await fleet.restartControlPlane();
    t.match(await ask(`${fleet.controlPlane.address}/admin/rate-limits`, { headers: read }), { status: 401 });
  }
});

await test('a key without access to the dashboard opens none, and guesses are put off', async (t) => {
  const plain = await issue(t, { dashboard_access: false });
  t.match((await logIn(proxy, plain.value)).answer, { status: 403, body: { code: 'dashboard_access_denied' } });
  const from = { 'x-forwarded-for': '192.0.2.7' };
  const statuses: number[] = [];
  for (let count = 0; count < 21; count += 1) statuses.push((await logIn(proxy, `guess-${count}`, from)).answer.status);
  t.same([statuses[0], statuses[19], statuses[20]], [401, 401, 429]);
  t.equal((await logIn(proxy, masterKey, from)).answer.status, 429, 'nor is the right key looked at');
  const bearer = { authorization: `Bearer ${masterKey}` };
  t.equal((await ask(`${proxy}/admin/status`, { headers: { ...from, ...bearer } })).status, 429, 'at no other door');
  t.equal((await logIn(proxy)).answer.status, 200, 'the right key from elsewhere');
});

await test('logins whose body never comes do not keep others from logging in', async (t) => {
  const { port, hostname: host } = new URL(proxy);
  const head = `POST /admin/session HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`;
  for (let count = 0; count < 100; count += 1) {
    const connection = await openRaw(Number(port), { t, host });
    await connection.send(head);
  }
  t.equal((await logIn(proxy)).answer.status, 200);
  t.equal((await ask(`${proxy}/admin/dashboard`)).status, 200);
});
