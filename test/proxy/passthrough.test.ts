// /p/{provider}/{endpoint}: what reaches a provider and what comes back. No byte goes elsewhere, no key crosses.
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, providerKey } from '../support/gateway.ts';
import { type RawResponse, rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';
import { passedPaths, privateHeaders, publicHeaders, refusedPaths } from './passthrough-cases.ts';
import { authorization, get, head, host, request } from './raw-cases.ts';

const upstream = await startFakeUpstream({ t: suite });
const origin = new URL(upstream.url).origin;
const provider = { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, models: ['fake-small'] };
const limit = (max_requests: number) => ({ period: 'minute', max_requests });
const gateway = await shareGateway({
  config: {
    server: { access_log: 'all' },
    providers: {
      fake: { ...provider, headers: { 'X-Configured': 'of-the-gateway' } },
      dated: { ...provider, base_url: `${origin}/deep/base?api-version=2024` },
      busy: { ...provider, type: 'vllm' },
      keyless: { ...provider, api_key: `\${NO_SUCH_KEY:-}` },
    },
    rate_limits: {
      user_paths: [{ path: '/once', limits: [{ ...limit(1), max_tokens: 1_000 }] }],
      providers: [{ name: 'busy', limits: [limit(1)] }],
      models: [{ model: 'dated/scarce', limits: [limit(1)] }],
    },
  },
});
suite.beforeEach(() => upstream.behave({ kind: 'json', body: { ok: true } }));

async function answerTo(send: string | Buffer, isHead = false): Promise<RawResponse> {
  const { responses } = await rawRequest(gateway.port, send, { head: isHead });
  const last = responses.at(-1);
  if (last === undefined) throw new Error(`no answer to ${send.toString()}`);
  return last;
}

const codeOf = (response: RawResponse): string | null =>
  (response.json() as { error: { code: string | null } }).error.code;
const as = (path: string) => ({ 'x-gateway-user-path': path });

await test('a path leads below the base path of its provider, or nowhere', async (t) => {
  for (const [path, target] of passedPaths) {
    const before = upstream.ledger.length;
    const { status } = await answerTo(get(`/p/${path}`));
    t.same([status, upstream.ledger[before]?.target], [200, target], path);
  }
  const before = upstream.ledger.length;
  for (const [path, code] of refusedPaths) {
    const refused = await answerTo(get(`/p/${path}`));
    t.same([refused.status, codeOf(refused)], [400, code], path);
    const keyless = await answerTo(head(`GET /p/${path} HTTP/1.1`, host));
    t.equal(keyless.status, 401, `${path}: a stranger learns nothing`);
  }
  const absolute = await answerTo(get('http://evil/p/fake/x'));
  t.same([absolute.status, codeOf(absolute)], [400, 'invalid_path']);
  t.equal(upstream.ledger.length, before, 'none of these reached a provider');
  for (const { target } of upstream.ledger) t.match(target, /^\/(v1|deep\/base)\//);
});

await test('a provider gets its own key and what is meant for it', async (t) => {
  const before = upstream.ledger.length;
  const shown = publicHeaders.map(([name, value]) => `${name}: ${value}`);
  for (const key of [authorization, `x-api-key: ${masterKey}`, `api-key: ${masterKey}`]) {
    await answerTo(head('GET /p/fake/x HTTP/1.1', host, key, ...privateHeaders, ...shown));
  }
  for (const { headers } of upstream.ledger.slice(before)) {
    const names = headers.map(([name]) => name.toLowerCase());
    t.same(names.length, new Set(names).size, 'each header once');
    const text = JSON.stringify(headers);
    t.notMatch(text, new RegExp(`${masterKey}|client-secret|of-the-client|203\\.0\\.113|evil`));
    t.notMatch(names.join(), /forwarded|x-gateway|x-hop|override|\bte\b|trailer|keep-alive|cookie|via/);
    const seen = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
    t.match(seen, {
      authorization: `Bearer ${providerKey}`,
      host: new URL(origin).host,
      'accept-encoding': 'identity',
      'x-configured': 'of-the-gateway',
      ...Object.fromEntries(publicHeaders.filter(([name]) => name !== '__proto__')),
      // Of two callers that send the same key each has an answer of its own.
      'idempotency-key': /^[0-9a-f]{64}$/,
    });
  }
});

await test('a client gets the answer as it is, without what is the business of the gateway alone', async (t) => {
  const body = Buffer.from([0, 255, 13, 10, 0x7f]);
  await upstream.behave({
    kind: 'json',
    status: 201,
    body,
    headers: [
      ['ETag', '"1"'],
      ['Location', '/v1/files/file-1'],
      ['X-Hop', 'gone'],
      ['Connection', 'keep-alive, X-Hop'],
      ['Set-Cookie', 'a=1'],
      ['WWW-Authenticate', 'Bearer'],
      ['x-ratelimit-limit-requests', '9'],
      ['anthropic-ratelimit-requests-limit', '9'],
      ['openai-organization', 'org-of-the-account'],
      ['openai-project', 'proj-canary'],
      ['request-id', 'req_anthropic'],
      ['X-Echo', `Bearer ${providerKey}`],
      ['x-request-id', 'req-of-provider'],
      ['Access-Control-Allow-Origin', '*'],
      ['X-Gateway-Rule', 'forged'],
    ],
  });
  const answer = await answerTo(get('/p/fake/files'));
  t.equal(answer.status, 201);
  t.strictSame(answer.body, body);
  const names = answer.headers.map(([name]) => name.toLowerCase()).sort();
  t.strictSame(names, [
    'connection',
    'content-length',
    'content-type',
    'date',
    'etag',
    'keep-alive',
    'location',
    'openai-organization',
    'request-id',
    'x-content-type-options',
    'x-request-id',
    'x-upstream-request-id',
  ]);
  t.equal(answer.header('x-upstream-request-id'), 'req-of-provider');
  t.equal(answer.header('request-id'), 'req_anthropic', 'which clients of Anthropic read');
  t.notMatch(answer.headers.join(), new RegExp(`canary|forged|${providerKey}`));
});

await test('statuses without a body, and HEAD', async (t) => {
  await upstream.behave({ kind: 'raw', steps: ['HTTP/1.1 204 No Content\r\n\r\n'] });
  const empty = await answerTo(get('/p/fake/x').replace('GET', 'DELETE'));
  t.same([empty.status, empty.header('content-length'), empty.body.length], [204, undefined, 0]);
  await upstream.behave({ kind: 'raw', steps: ['HTTP/1.1 304 Not Modified\r\nETag: "1"\r\n\r\n'] });
  t.equal((await answerTo(get('/p/fake/x'))).status, 304);
  await upstream.behave({ kind: 'json', status: 206, body: 'part', headers: [['Content-Range', 'bytes 0-3/9']] });
  const part = await answerTo(get('/p/fake/x'));
  t.same([part.status, part.header('content-range'), part.text()], [206, 'bytes 0-3/9', 'part']);
  await upstream.behave({
    kind: 'raw',
    steps: ['HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 123456\r\n\r\n'],
  });
  const peeked = await answerTo(get('/p/fake/x').replace('GET', 'HEAD'), true);
  t.same([peeked.status, peeked.header('content-length')], [200, '123456']);
});

await test('each method, with a body and without', async (t) => {
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    for (const body of ['', 'a=1']) {
      const before = upstream.ledger.length;
      await answerTo(request(`${method} /p/fake/x HTTP/1.1`, [host, authorization, 'Content-Type: text/x'], body));
      const entry = upstream.ledger[before];
      t.same([entry?.method, entry?.body.toString()], [method, body], `${method} ${body}`);
      t.equal(entry?.header('content-type'), 'text/x');
    }
  }
  const traced = await answerTo(get('/p/fake/x').replace('GET', 'TRACE'));
  t.same([traced.status, traced.header('allow')], [405, 'GET, POST, PUT, PATCH, DELETE, HEAD, OPTIONS']);
});

await test('errors of the provider come in the envelope', async (t) => {
  const ask = async (): Promise<RawResponse> => answerTo(get('/p/fake/x'));
  for (const status of [400, 402, 403, 404, 405, 409, 410, 413, 422, 429, 451, 500, 503]) {
    await upstream.behave({ kind: 'error', status, message: `no, ${providerKey}` });
    const refused = await ask();
    t.equal(refused.status, status);
    const type = status === 403 ? 'permission_error' : /./;
    t.match(refused.json(), { error: { provider: 'fake', type, message: /^no, \[redacted\]/ } });
  }
  await upstream.behave({ kind: 'error', status: 403, message: 'Your API key may not do this.' });
  t.match((await ask()).json(), { error: { type: 'permission_error', message: 'Your API key may not do this.' } });
  await upstream.behave({ kind: 'error', status: 401 });
  const refused = await ask();
  t.same([refused.status, codeOf(refused)], [502, 'upstream_unauthorized'], 'the key of the gateway');
  await upstream.behave({ kind: 'reset' });
  t.equal(codeOf(await ask()), 'upstream_disconnected');
});

await test('a secret in a JSON error with a status of success is masked; other bytes stay what they are', async (t) => {
  await upstream.behave({ kind: 'json', body: { error: { message: providerKey } } });
  t.notMatch((await answerTo(get('/p/fake/x'))).text(), providerKey);
  await upstream.behave({ kind: 'sse', chunks: [`data: {"error":{"message":"${providerKey}"}}\n\n`] });
  t.notMatch((await answerTo(get('/p/fake/x'))).text(), providerKey);
});

await test('a redirect keeps its status, is not followed, and leads to the provider behind the gateway or nowhere', async (t) => {
  const rows: readonly (readonly [location: string, shown: string | undefined])[] = [
    [`${upstream.url}/files/file-1?a=1`, '/p/fake/files/file-1?a=1'],
    ['/v1/x/', '/p/fake/x/'],
    ['y', '/p/fake/y'],
    ['/v1/v1/x', '/p/fake/v1/v1/x'],
    [`${origin}/elsewhere`, undefined],
    ['/v1/../elsewhere', undefined],
    ['http://10.0.0.1/v1/x', undefined],
    ['//evil/v1/x', undefined],
    [`${upstream.url}/x?key=${providerKey}`, undefined],
    ['http://[', undefined],
  ];
  const before = upstream.ledger.length;
  for (const [location, shown] of rows) {
    await upstream.behave({ kind: 'redirect', location, status: 307 });
    const answer = await answerTo(get('/p/fake/x'));
    t.same([answer.status, answer.header('location')], [307, shown], location);
  }
  for (const status of [300, 301, 302, 303, 308]) {
    await upstream.behave({ kind: 'redirect', location: '/v1/x', status });
    t.equal((await answerTo(get('/p/fake/x'))).status, status);
  }
  t.equal(upstream.ledger.length, before + rows.length + 5, 'each was asked once');
  t.notOk(upstream.ledger.some(({ target }) => target.includes('elsewhere')));
});

/** A model call at the passthrough. */
async function call(path: string, body: object, headers: Record<string, string> = {}, through: Gateway = gateway) {
  const answer = await through.fetch(`/p/${path}`, { method: 'POST', body, headers });
  const said = (await answer.json()) as { error?: { code: string } };
  return `${answer.status} ${said.error?.code ?? 'ok'}`;
}

await test('limits count as for model calls: user path, provider, and the model where it is read', async (t) => {
  await upstream.behave({ kind: 'openai' });
  const body = { model: 'scarce', messages: [{ role: 'user', content: 'a b c' }] };
  t.equal(await call('fake/chat/completions', body, as('/once')), '200 ok');
  const used = await usageOf(gateway, '/once');
  t.match(used, [{ requests_used: 1, tokens_used: 14 }]);
  t.equal(await call('fake/chat/completions', body, as('/once')), '429 rate_limit_exceeded');

  t.equal((await answerTo(get('/p/busy/models'))).status, 200);
  const refused = await answerTo(get('/p/vllm/models'));
  t.same([refused.status, codeOf(refused)], [429, 'rate_limit_exceeded'], 'by its type, too');
  t.ok(Number(refused.header('retry-after')) > 0);

  await upstream.behave({ kind: 'json', body: { ok: true } });
  t.equal(await call('dated/anything', body), '200 ok');
  t.equal(await call('dated/anything', body), '429 rate_limit_exceeded', 'the model of a body');
  t.equal(await call('dated/models/scarce:generateContent', {}), '429 rate_limit_exceeded', 'the model of a path');
  t.equal(await call('dated/anything', { model: 'another' }), '200 ok');
  const twice = '{"model":"another","model":"scarce"}';
  const doubled = await gateway.fetch('/p/dated/anything', { method: 'POST', body: twice });
  t.match(await doubled.json(), { error: { code: 'duplicate_key' } }, 'no two readers may differ');
});

await test('it is logged and counted as what it is', async (t) => {
  const before = await gateway.metric('gateway_requests_total', { endpoint: '/p/*', provider: 'fake', status: '200' });
  await gateway.fetch('/p/fake/files/file-1?purpose=secret').then((answer) => answer.text());
  t.equal(
    await gateway.metric('gateway_requests_total', { endpoint: '/p/*', provider: 'fake', status: '200' }),
    (before ?? 0) + 1,
  );
  const line = await waitFor('its line', () =>
    gateway.process.requests().findLast((said) => said['endpoint'] === '/p/fake/files/file-1'),
  );
  t.match(line, { method: 'GET', endpoint: '/p/fake/files/file-1', status: 200, attempts: [{ provider: 'fake' }] });
  t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
});

await test('a WebSocket is refused, and to strangers like everything else', async (t) => {
  const lines = ['Upgrade: websocket', 'Connection: Upgrade', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: eA=='];
  const refused = await answerTo(get('/p/fake/realtime', ...lines));
  t.same([refused.status, codeOf(refused), refused.header('upgrade')], [426, 'upgrade_not_supported', 'HTTP/1.1']);
  t.equal((await answerTo(head('GET /p/fake/realtime HTTP/1.1', host, ...lines))).status, 401);
});

await test('nothing failed, and the provider saw well-formed requests with its key alone', (t) => {
  t.same(upstream.malformed, []);
  t.same(gateway.process.stderr, []);
  t.notMatch(gateway.process.stdout.join('\n'), /"level":"(error|fatal)"|client-secret/);
  t.ok(upstream.ledger.every((entry) => entry.header('authorization') === `Bearer ${providerKey}`));
  t.end();
});

await test('the setting switches it off at once', async (t) => {
  await gateway.applyConfig({
    'server.yaml': null,
    'gateway.yaml': { server: { enable_passthrough_routes: false }, providers: { fake: provider } },
  });
  const { status, error } = await gateway.fetch('/p/fake/x').then(async (answer) => ({
    status: answer.status,
    ...((await answer.json()) as { error: { code: string } }),
  }));
  t.same([status, error.code], [404, 'route_not_found']);
});
