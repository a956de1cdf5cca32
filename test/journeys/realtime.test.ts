// Realtime sessions through the gateway: from the client's handshake to the provider, what passes, what is counted, and how they end.
import { connect as connectPlain, type Socket } from 'node:net';
import { createServer as createTlsServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { OpenAI } from 'openai';
import { OpenAIRealtimeWebSocket } from 'openai/realtime/websocket';
import { OpenAIRealtimeWS } from 'openai/realtime/ws';
import { t as suite, test } from 'tap';
import { authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import { newSecret } from '../../domain/keys/secret.ts';
import { certificate } from '../support/certificate.ts';
import { speakAsOpenAi, startFakeRealtime } from '../support/fake-realtime.ts';
import { masterKey, untilIdle } from '../support/gateway.ts';
import { sampleKey } from '../support/managed-state.ts';
import { listen } from '../support/ports.ts';
import { openSession, refusedSession, type SessionRefusal } from '../support/realtime-client.ts';
import { openSealedStore } from '../support/sealed.ts';
import { shareGateway } from '../support/shared.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const canary = 'sk-provider-canary-0123456789';
const upstream = await startFakeRealtime(suite);
const second = await startFakeRealtime(suite);
const provider = (url: string, more: object = {}) => ({
  type: 'openai',
  base_url: url,
  api_key: canary,
  models: ['gpt-realtime'],
  dialects: ['realtime'],
  circuit_breaker: false,
  learn_limits: false,
  ...more,
});
const gateway = await shareGateway({
  config: {
    server: { access_log: 'all' },
    providers: {
      fake: provider(upstream.url),
      azure: provider(second.url, { type: 'azure', base_url: `${second.url.replace('/v1', '')}/openai/v1` }),
      quiet: provider(upstream.url, { models: ['mute'], dialects: ['chat'] }),
      gone: provider('http://127.0.0.1:9/v1', { models: ['nowhere'] }),
      slow: provider(second.url, { models: ['slow'], timeouts: { first_byte: '200ms' } }),
    },
    aliases: [
      { source: 'voice', target: 'fake/gpt-realtime' },
      { source: 'pair', strategy: 'failover', targets: [{ model: 'gone/nowhere' }, { model: 'fake/gpt-realtime' }] },
    ],
    rate_limits: {
      user_paths: [
        { path: '/one', limits: [{ period: 'concurrent', max_requests: 1 }] },
        {
          path: '/few',
          limits: [
            { period: 'hour', max_requests: 2 },
            { period: 'day', max_tokens: 1_000 },
          ],
        },
      ],
      providers: [{ name: 'azure', limits: [{ period: 'concurrent', max_requests: 1 }] }],
    },
  },
});
const onFake = { query: '?model=fake/gpt-realtime' };
const path = (userPath: string) => ({ ...onFake, headers: { 'x-gateway-user-path': userPath } });

suite.beforeEach(() => {
  upstream.greet('open');
  upstream.behave(speakAsOpenAi);
  second.greet('open');
});
suite.afterEach(() => untilIdle(gateway));

/** The clients of OpenAI speak TLS alone. Gives the address of a proxy in front of the gateway that does. */
async function startTlsFront(t: Teardown): Promise<string> {
  const { key, cert } = certificate(2020, 2120, 'localhost');
  setDefaultCACertificates([...getCACertificates('default'), cert]);
  const sockets = new Set<Socket>();
  const server = createTlsServer({ key, cert }, (socket) => {
    const onward = connectPlain(gateway.port, '127.0.0.1');
    sockets.add(socket).add(onward);
    socket.on('error', () => undefined).on('close', () => onward.destroy());
    onward.on('error', () => undefined).on('close', () => socket.destroy());
    socket.pipe(onward).pipe(socket);
  });
  const port = await listen(server);
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `https://localhost:${port}/v1`;
}

const tokens = async (): Promise<number> => (await gateway.metric('gateway_tokens_total', { provider: 'fake' })) ?? 0;
/** The line of a session, or of its refusal, in the access log. */
const lineOf = ({ headers }: Pick<SessionRefusal, 'headers'>) =>
  waitFor('a line of the access log', () =>
    gateway.process.requests().find(({ request_id }) => request_id === headers['x-request-id']),
  );

await test("OpenAI's clients for Node and for browsers have a session; its tokens are charged as they come", async (t) => {
  const client = new OpenAI({ apiKey: masterKey, baseURL: await startTlsFront(t), dangerouslyAllowBrowser: true });
  const clients = [
    () => new OpenAIRealtimeWS({ model: 'voice' }, client),
    () => new OpenAIRealtimeWebSocket({ model: 'voice' }, client),
  ];
  for (const open of clients) {
    const before = await tokens();
    const session = open();
    const done = new Promise((resolve, reject) => {
      session.on('session.created', () => session.send({ type: 'response.create' }));
      session.on('response.done', resolve);
      session.on('error', reject);
    });
    t.match(await done, { type: 'response.done', response: { usage: { total_tokens: 30 } } });
    t.equal(await tokens(), before + 30, 'before the session is over');
    const closed = new Promise<number>((resolve) => {
      const socket = session.socket as unknown as EventTarget;
      socket.addEventListener('close', (event) => resolve((event as CloseEvent).code));
    });
    session.close({ code: 4001, reason: 'enough' });
    t.equal(await closed, 4001);
  }
});

await test('a key is taken from each place where clients put it, and the 101 selects the protocol that is no key', async (t) => {
  const offered = ['realtime', `openai-insecure-api-key.${masterKey}`];
  const places = [
    { headers: {} },
    { headers: { authorization: undefined, 'x-api-key': masterKey } },
    { headers: { authorization: undefined, 'api-key': masterKey } },
    { headers: { authorization: undefined }, protocols: offered },
    { headers: { authorization: undefined }, protocols: [...offered, 'openai-beta.realtime-v1'] },
  ];
  for (const place of places) {
    const { socket, headers, closed } = await openSession(gateway, { ...onFake, ...place });
    t.equal(headers['sec-websocket-protocol'], 'protocols' in place ? 'realtime' : undefined);
    t.equal(headers['sec-websocket-extensions'], undefined, 'nothing is compressed');
    t.match(headers['x-request-id'], /^req_/);
    socket.close(1000);
    await closed;
    const { headers: sent, url } = upstream.asked.at(-1) ?? {};
    t.equal(sent?.authorization, `Bearer ${canary}`);
    t.notMatch(JSON.stringify(sent) + url, masterKey);
  }
  const wrong = ['realtime', 'openai-insecure-api-key.sk-wrong'];
  t.match(await refusedSession(gateway, { headers: { authorization: undefined }, protocols: wrong }), { status: 401 });
  const twice = await refusedSession(gateway, { protocols: wrong });
  t.match(twice, { status: 400, error: { code: 'ambiguous_credentials' } });
});

await test('whatever stands against a session is an HTTP error before any provider is asked', async (t) => {
  const before = upstream.asked.length;
  const cases: [string, object, number, string][] = [
    ['no key', { headers: { authorization: undefined } }, 401, 'invalid_api_key'],
    ['a wrong key', { headers: { authorization: 'Bearer sk-no' } }, 401, 'invalid_api_key'],
    ['no model', { query: '' }, 400, 'invalid_model'],
    ['two models', { query: '?model=voice&model=mute' }, 400, 'invalid_model'],
    ['an unknown model', { query: '?model=none' }, 404, 'model_not_found'],
    ['a call to join', { query: '?model=voice&call_id=rtc_1' }, 400, 'invalid_parameter'],
    ['a model without realtime', { query: '?model=mute' }, 400, 'unsupported_operation'],
    ['no user path', { headers: { 'x-gateway-user-path': '/a/../b' } }, 400, 'invalid_user_path'],
  ];
  for (const [name, options, status, code] of cases) {
    const refused = await refusedSession(gateway, { ...onFake, ...options });
    t.match(refused, { status, error: { code, type: String } }, name);
    t.match(refused.headers, { 'content-type': /json/, 'x-request-id': String, connection: 'close' }, name);
    t.match(await lineOf(refused), { method: 'GET', endpoint: '/v1/realtime', status, error_code: code }, name);
  }
  t.equal(upstream.asked.length, before);
  const plain = await gateway.fetch('/v1/realtime?model=voice');
  t.match([plain.status, plain.headers.get('upgrade')], [426, 'websocket']);
  t.match(await plain.json(), { error: { code: 'upgrade_required' } });
  const posted = await gateway.fetch('/v1/realtime', { method: 'POST', body: {} });
  t.match([posted.status, posted.headers.get('allow')], [405, 'GET']);
  await posted.body?.cancel();
});

await test('a session is one request with one slot: the next one gets 429 until it has ended', async (t) => {
  const { socket, closed } = await openSession(gateway, path('/one'));
  const refused = await refusedSession(gateway, path('/one'));
  t.match(refused, { status: 429, headers: { 'retry-after': '1' }, error: { code: 'rate_limit_exceeded' } });
  socket.close();
  t.equal((await closed).code, 1005, 'a close without a code stays one');
  const next = await waitFor('the slot', () => openSession(gateway, path('/one')).catch(() => undefined));
  next.socket.terminate();

  const few = await openSession(gateway, path('/few/app'));
  t.match(few.headers, { 'x-ratelimit-limit-requests': '2', 'x-ratelimit-remaining-requests': '1' });
  few.say({ type: 'response.create' });
  few.say({ type: 'response.create' });
  await waitFor('both responses', () => few.said.filter((text) => text.includes('response.done')).length === 2);
  few.socket.close(3000, 'bye');
  t.same(await few.closed, { code: 3000, reason: 'bye' });
  const again = await openSession(gateway, path('/few/app'));
  t.match(again.headers, { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-remaining-tokens': '940' });
  again.socket.close(1000);
  const third = await refusedSession(gateway, path('/few/app'));
  t.match(third, { status: 429, headers: { 'retry-after': /^3[56]\d\d$/ } });
  const target = { provider: 'fake', model: 'gpt-realtime', statistic: 'mean' };
  t.ok(await gateway.metric('gateway_target_first_byte_seconds', target), 'how soon it answers is remembered');
  t.match(await lineOf(few), { status: 101, user_path: '/few/app', stream: true, total_tokens: 60, prompt_tokens: 20 });
});

await test('a provider that cannot be had is 502 or 504 in its name; an alias goes on to the next', async (t) => {
  const gone = await refusedSession(gateway, { query: '?model=gone/nowhere' });
  t.match(gone, { status: 502, error: { code: 'upstream_unavailable', provider: 'gone' } });
  second.greet('hang');
  const slow = await refusedSession(gateway, { query: '?model=slow' });
  t.match(slow, { status: 504, error: { code: 'upstream_timeout', provider: 'slow' } });
  const says = (head: string, body: object | string = '') => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return {
      bytes: `HTTP/1.1 ${head}\r\ncontent-length: ${text.length}\r\ncontent-type: application/json\r\n\r\n${text}`,
    };
  };
  const switched = (accept: string, more = '') =>
    `HTTP/1.1 101 Ok\r\nupgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-accept: ${accept}\r\n${more}\r\n`;
  const window = 'sec-websocket-extensions: permessage-deflate; server_max_window_bits=99\r\n';
  const cases: [Parameters<typeof upstream.greet>[0], number, string][] = [
    [says('401 No', { error: { message: `Incorrect API key provided: ${canary}` } }), 502, 'upstream_unauthorized'],
    [says('429 Slow', { error: { message: 'busy', code: 'busy' } }), 429, 'busy'],
    [says('200 OK', {}), 502, 'upstream_invalid_response'],
    [{ bytes: switched('AAAAAAAAAAAAAAAAAAAAAAAAAAA=') }, 502, 'upstream_invalid_response'],
    [{ bytes: (accept) => switched(accept, window) }, 502, 'upstream_invalid_response'],
    [{ bytes: (accept) => switched(accept, 'sec-websocket-protocol: x\r\n') }, 502, 'upstream_invalid_response'],
    [{ bytes: 'junk\r\n\r\n' }, 502, 'upstream_invalid_response'],
    [{ bytes: '' }, 502, 'upstream_disconnected'],
  ];
  for (const [greeting, status, code] of cases) {
    upstream.greet(greeting);
    const refused = await refusedSession(gateway, onFake);
    t.match(refused, { status, error: { code, provider: 'fake' } });
    t.notMatch(JSON.stringify(refused), canary);
  }
  upstream.greet('open');
  second.greet('open');
  const foreign = '&api-key=secret&transcription_model=other&Intent=x&session=%7B%7D&api-version=1';
  const { socket } = await openSession(gateway, { query: `?model=pair&intent=chat${foreign}` });
  t.equal(upstream.asked.at(-1)?.url, '/v1/realtime?model=gpt-realtime&intent=chat');
  socket.close();
  const held = await openSession(gateway, { query: '?model=azure/gpt-realtime' });
  t.equal(second.asked.at(-1)?.url, '/openai/v1/realtime?model=gpt-realtime');
  t.equal(second.asked.at(-1)?.headers['api-key'], canary);
  const saturated = await refusedSession(gateway, { query: '?model=azure/gpt-realtime' });
  t.match(saturated, { status: 429, error: { code: 'rate_limit_exceeded' } });
  held.socket.close();
});

await test('texts, bytes, codes and reasons pass as they are; an end that breaks ends the other one', async (t) => {
  const first = await openSession(gateway, onFake);
  const { socket, said } = first;
  const bytes = Buffer.from([0, 255, 128, 10]);
  socket.send(bytes);
  socket.send('{"type":"ü","n":1.0}');
  await waitFor('both to come back', () => said.length === 3);
  t.same(said.slice(1), ['binary 4', '{"type":"ü","n":1.0}']);
  const seen = new Promise((resolve) => upstream.sessions.at(-1)?.on('close', (code) => resolve(code)));
  socket.terminate();
  t.equal(await seen, 1001);
  t.match(await lineOf(first), { status: 499 });

  const closings: [(end: (typeof upstream.sessions)[number]) => void, object][] = [
    [(end) => end.close(4321, `key ${canary}`), { code: 4321, reason: 'key [redacted]' }],
    [(end) => end.close(), { code: 1005, reason: '' }],
    [(end) => end.terminate(), { code: 1011, reason: 'The provider closed the connection.' }],
  ];
  let lost = first;
  for (const [close, expected] of closings) {
    const session = await openSession(gateway, onFake);
    lost = session;
    const end = upstream.sessions.at(-1);
    if (end !== undefined) close(end);
    t.same(await session.closed, expected);
  }
  t.match(await lineOf(lost), { status: 502, error_code: 'upstream_disconnected' });
  upstream.behave((end) => end.send(JSON.stringify({ type: 'error', error: { message: `bad key ${canary}` } })));
  const told = await openSession(gateway, onFake);
  await waitFor('the error', () => told.said.length === 1);
  t.same(told.said, ['{"type":"error","error":{"message":"bad key [redacted]"}}']);
  told.socket.close();
});

await test('a session ends within a second when its key is revoked or expires', async (t) => {
  const store = openSealedStore({ directory: gateway.dataDir });
  t.teardown(() => store.close());
  const put = async (id: string, body: ReturnType<typeof authKeyBody> | undefined): Promise<void> => {
    await commitAnyhow(store, { expected: new Map(), changes: [{ kind: authKeyKind, id, body }] });
    const { revision } = await store.revision();
    await waitFor('it to be known', async () => ((await gateway.metric('gateway_state_revision')) ?? 0) >= revision);
  };
  const reason = 'The API key of this session was revoked or has expired.';
  for (const lifeMs of [Number.POSITIVE_INFINITY, 1_200]) {
    const expiresAtMs = Date.now() + lifeMs;
    const secret = newSecret();
    const key = sampleKey(secret, { expiresAtMs });
    await put(key.id, authKeyBody(key));
    const session = await openSession(gateway, { ...onFake, headers: { authorization: `Bearer ${secret}` } });
    if (expiresAtMs === Number.POSITIVE_INFINITY) await put(key.id, undefined);
    t.same(await session.closed, { code: 1008, reason });
    t.match(await lineOf(session), { status: 401, error_code: 'key_revoked' });
  }
  t.equal(await gateway.metric('gateway_realtime_sessions_ended_total', { reason: 'key_revoked' }), 2);
});
