// Browsers: pages of configured origins may call the model API with a key, and read answers and errors; /admin stays closed.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const origin = 'https://app.test';
const config = (server: object) => ({ server });
const gateway = await startGateway(suite, { upstream, config: config({ cors: { origins: [origin] } }) });

async function send(path: string, init: Parameters<typeof gateway.fetch>[1] = {}, at = gateway) {
  const response = await at.fetch(path, init);
  const header = (name: string) => response.headers.get(name);
  return {
    status: response.status,
    text: await response.text(),
    allowed: header('access-control-allow-origin'),
    exposed: header('access-control-expose-headers'),
    vary: header('vary'),
    header,
  };
}

const chat = { model: 'fake/fake-small', messages: [{ role: 'user', content: 'hello' }] };
const preflight = (from: string, more: Record<string, string> = {}) => ({
  method: 'OPTIONS',
  headers: {
    authorization: '',
    origin: from,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    ...more,
  },
});

await test('a preflight of a configured origin is answered without a key', async (t) => {
  const answer = await send('/v1/chat/completions', preflight(origin));
  t.match(answer, { status: 204, text: '', allowed: origin });
  t.equal(answer.header('access-control-allow-headers'), 'authorization,content-type,x-stainless-lang');
  t.match(answer.header('access-control-allow-methods'), /\bPOST\b/);
  t.equal(answer.header('access-control-max-age'), '7200');
  t.match(answer.vary, /^Origin\b/);
  t.equal(await gateway.metric('gateway_http_requests_total', { trip: 'other', status: '204' }), 1);
  const long = await send('/v1/models', preflight(origin, { 'access-control-request-headers': 'x'.repeat(2_049) }));
  t.equal(long.header('access-control-allow-headers'), null);
});

await test('a preflight that may not be answered is a 403 that says why, and no failed login', async (t) => {
  const failures = async () => (await gateway.metrics()).match(/^gateway_auth_failures_total.*$/gm);
  const before = await failures();
  const refused = async (path: string, from: string) => {
    const answer = await send(path, preflight(from, { 'x-request-id': `preflight${path.replaceAll(/\W/g, '-')}` }));
    t.match(answer, { status: 403, allowed: null }, path);
    return JSON.parse(answer.text) as { error?: object };
  };
  const type = 'permission_error';
  t.match(await refused('/v1/chat/completions', 'https://app.test.evil'), {
    error: {
      code: 'origin_not_allowed',
      type,
      message: /"https:\/\/app\.test\.evil".*server\.cors\.origins does not name it/,
    },
  });
  t.match(await refused('/v1/models', 'null'), { error: { message: /"null"/ } });
  t.ok(JSON.stringify(await refused('/v1/models', `https://${'x'.repeat(4_000)}\u00a0`)).length < 500, 'bounded');
  t.match(await refused('/admin/rate-limits', origin), {
    code: 'origin_not_allowed',
    message: /\/admin/,
    status_code: 403,
  });
  t.match(await refused('/metrics?a', origin), { error: { message: /\/metrics/ } });
  t.same(await failures(), before);
  const line = await waitFor('its line', () =>
    gateway.process.requests().find(({ request_id }) => request_id === 'preflight-v1-chat-completions'),
  );
  t.match(line, { status: 403, error_code: 'origin_not_allowed', method: 'OPTIONS', endpoint: '/v1/chat/completions' });
});

await test('any other OPTIONS request is one of a method that the path does not have: a key is asked for, then 405', async (t) => {
  const { 'access-control-request-method': _, authorization: __, ...headers } = preflight(origin).headers;
  t.match(await send('/v1/chat/completions', { method: 'OPTIONS', headers }), { status: 405, allowed: origin });
  t.match(await send('/health', { method: 'OPTIONS', headers: { authorization: '' } }), { status: 405 });
  t.match(await send('/v1/chat/completions', { method: 'OPTIONS', headers: { authorization: '' } }), { status: 401 });
  t.match(await send('/v1/chat/completions', { ...preflight(origin), body: 'x' }), { status: 401, allowed: origin });
});

await test('answers and errors of every kind can be read by the page', async (t) => {
  const headers = { origin };
  const cases: [status: number, path: string, init: Parameters<typeof gateway.fetch>[1]][] = [
    [200, '/v1/chat/completions', { method: 'POST', body: chat }],
    [200, '/v1/chat/completions', { method: 'POST', body: { ...chat, stream: true } }],
    [200, '/v1/models', {}],
    [400, '/v1/chat/completions', { method: 'POST', body: '{' }],
    [401, '/v1/chat/completions', { method: 'POST', body: chat, headers: { authorization: 'Bearer wrong' } }],
    [401, '/v1/models', { headers: { authorization: '' } }],
    [404, '/chat/completions', { method: 'POST', body: chat }],
    [404, '/v1/models/none', {}],
    [415, '/v1/chat/completions', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }],
  ];
  for (const [status, path, init] of cases) {
    const answer = await send(path, { ...init, headers: { ...headers, ...init?.headers } });
    t.match(answer, { status, allowed: origin, vary: 'Origin' }, `${path} ${status} ${answer.text}`);
    t.match(answer.exposed, /\bX-Request-Id\b/);
    t.equal(answer.header('access-control-allow-credentials'), null);
  }
  const foreign = await send('/v1/models', { headers: { origin: 'https://other.test' } });
  t.match(foreign, { status: 200, allowed: null, vary: 'Origin' });
  t.match(await send('/v1/models'), { status: 200, allowed: null, vary: 'Origin' });
  t.match(await send('/admin/rate-limits', { headers }), { allowed: null, exposed: null });
});

await test('origins are hot, * is every origin, and without them nothing is said', async (t) => {
  await gateway.applyConfig({ 'gateway.yaml': config({ cors: { origins: ['*'] } }) });
  t.match(await send('/v1/models', { headers: { origin: 'null' } }), { status: 200, allowed: '*' });
  await gateway.applyConfig({ 'gateway.yaml': config({}) });
  t.match(await send('/v1/models', { headers: { origin } }), { status: 200, allowed: null, vary: null, exposed: null });
  const off = await send('/v1/chat/completions', preflight(origin));
  t.match(off, { status: 403, text: /server\.cors\.origins is not set/, allowed: null });
});

await test('without a master key only origins that are named may write', async (t) => {
  const env = { GATEWAY_INSECURE: 'true', GATEWAY_MASTER_KEY: '' };
  const insecure = await startGateway(t, { upstream, env, config: config({ cors: { origins: ['*', origin] } }) });
  const write = (from: string) =>
    send(
      '/v1/chat/completions',
      { method: 'POST', body: chat, headers: { authorization: '', origin: from } },
      insecure,
    );
  t.match(await write(origin), { status: 200 });
  t.match(await write('https://other.test'), { status: 403, allowed: '*' });
  t.match(await send('/admin/rate-limits/reset', { method: 'POST', body: {}, headers: { origin } }, insecure), {
    status: 403,
    allowed: null,
  });
});
