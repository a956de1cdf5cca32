// Browsers: pages of configured origins may call the model API with a key, and read answers and errors; /admin stays closed.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';

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

await test('another origin, another path or a body is no preflight', async (t) => {
  t.match(await send('/v1/chat/completions', preflight('https://app.test.evil')), { status: 401, allowed: null });
  t.match(await send('/v1/chat/completions', preflight('null')), { status: 401, allowed: null });
  for (const path of ['/admin', '/admin/rate-limits', '/metrics', '/metrics?a']) {
    const answer = await send(path, preflight(origin));
    t.not(answer.status, 204, path);
    t.match(answer, { allowed: null, vary: null }, path);
  }
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
  t.match(await send('/v1/chat/completions', preflight(origin)), { status: 401, allowed: null });
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
