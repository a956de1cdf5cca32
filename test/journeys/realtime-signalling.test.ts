// What realtime sessions begin with that go past the gateway: secrets for browsers and calls over WebRTC, asked for with any name of a model.
import { OpenAI } from 'openai';
import { t as suite, test } from 'tap';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { masterKey, untilIdle } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';

const canary = 'sk-provider-canary-0123456789';
const upstream = await startFakeRealtime(suite);
const gateway = await shareGateway({
  config: {
    server: { access_log: 'all' },
    providers: {
      fake: {
        type: 'openai',
        base_url: upstream.url,
        api_key: canary,
        models: ['gpt-realtime', 'gpt-transcribe'],
        dialects: ['realtime'],
        learn_limits: false,
        circuit_breaker: false,
      },
    },
    aliases: [{ source: 'voice', target: 'fake/gpt-realtime' }],
    rate_limits: { user_paths: [{ path: '/few', limits: [{ period: 'hour', max_requests: 1 }] }] },
  },
});
const client = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const offer = 'v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\n';
const last = () => upstream.asked.at(-1);

const answerJson = (status: number, value: object) =>
  upstream.answer((response) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value)),
  );
const answerCall = () =>
  upstream.answer((response) =>
    response
      .writeHead(201, {
        'content-type': 'application/sdp',
        location: '/v1/realtime/calls/rtc_1?x=1',
        'set-cookie': 'a=b',
      })
      .end('v=0\r\nanswer'),
  );
const call = (body: string | FormData, type?: string, query = '') =>
  fetch(`${gateway.url}/v1/realtime/calls${query}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${masterKey}`, ...(type === undefined ? {} : { 'content-type': type }) },
    body,
  });

suite.afterEach(() => untilIdle(gateway));

await test('a secret for a browser is minted for the real model; everything else stays as it was sent', async (t) => {
  answerJson(200, { value: 'ek_1', expires_at: 1, session: { type: 'realtime', model: 'gpt-realtime' } });
  const session = { type: 'realtime' as const, model: 'voice', instructions: 'be brief' };
  t.match(await client.realtime.clientSecrets.create({ expires_after: { seconds: 60 }, session }), { value: 'ek_1' });
  t.equal(last()?.url, '/v1/realtime/client_secrets');
  const sent = { expires_after: { seconds: 60 }, session: { ...session, model: 'gpt-realtime' } };
  t.same(JSON.parse(last()?.body ?? ''), sent);
  t.equal(last()?.headers.authorization, `Bearer ${canary}`);

  const transcription = { model: 'fake/gpt-transcribe', language: 'en' };
  const listening = { type: 'transcription', audio: { input: { transcription } } };
  const response = await gateway.fetch('/v1/realtime/client_secrets', { method: 'POST', body: { session: listening } });
  t.equal(response.status, 200);
  await response.body?.cancel();
  t.match(JSON.parse(last()?.body ?? ''), {
    session: { audio: { input: { transcription: { model: 'gpt-transcribe', language: 'en' } } } },
  });
});

await test('a call is controlled by the caller that has made it alone', async (t) => {
  answerCall();
  const as = (path: string, type: string) => ({
    authorization: `Bearer ${masterKey}`,
    'content-type': type,
    'x-gateway-user-path': path,
  });
  const init = { method: 'POST', headers: as('/t/a', 'application/sdp'), body: offer };
  const made = await fetch(`${gateway.url}/v1/realtime/calls?model=voice`, init);
  t.equal(await made.text(), 'v=0\r\nanswer');
  answerJson(200, { ok: true });
  for (const [path, status] of [
    ['/t/a', 200],
    ['/t/b', 404],
    ['/t', 404],
  ] as const) {
    const hangUp = { method: 'POST', headers: as(path, 'application/json'), body: '{}' };
    const answer = await fetch(`${gateway.url}/p/fake/realtime/calls/rtc_1/hangup`, hangUp);
    t.equal(answer.status, status, path);
    await answer.body?.cancel();
  }
});

await test('a call is offered as SDP or in a form; its answer leads back to the gateway', async (t) => {
  answerCall();
  const plain = await call(offer, 'application/sdp', '?model=voice&x=1&key=secret');
  t.match([plain.status, plain.headers.get('content-type')], [201, 'application/sdp']);
  t.equal(plain.headers.get('location'), '/v1/realtime/calls/rtc_1');
  t.equal(plain.headers.get('set-cookie'), null);
  t.equal(await plain.text(), 'v=0\r\nanswer');
  t.match(last(), { url: '/v1/realtime/calls?model=gpt-realtime', body: offer });

  const form = new FormData();
  form.set('sdp', offer);
  form.set('session', JSON.stringify({ type: 'realtime', model: 'voice' }));
  const formed = await call(form);
  t.equal(formed.status, 201);
  await formed.text();
  const received = new Response(last()?.body ?? '', {
    headers: { 'content-type': last()?.headers['content-type'] ?? '' },
  });
  const sent = await received.formData();
  t.same([sent.get('sdp'), sent.get('session')], [offer, '{"type":"realtime","model":"gpt-realtime"}']);
});

await test('what another caller has stored cannot be named', async (t) => {
  const before = upstream.asked.length;
  const session = { type: 'realtime', model: 'voice', audio: { output: { voice: { id: 'voice_123456789' } } } };
  const headers = { 'x-gateway-user-path': '/t/b' };
  const asked = await gateway.fetch('/v1/realtime/client_secrets', { method: 'POST', headers, body: { session } });
  t.match([asked.status, await asked.json()], [404, { error: { code: 'kept_not_found' } }]);
  t.equal(upstream.asked.length, before);
});

await test('what cannot be asked is refused before the provider, what it refuses in its name and without its key', async (t) => {
  const before = upstream.asked.length;
  const ask = async (body: string | object, type = 'application/json', headers = {}) => {
    const all = { 'content-type': type, ...headers };
    const response = await gateway.fetch('/v1/realtime/client_secrets', { method: 'POST', body, headers: all });
    return { status: response.status, ...((await response.json()) as object) };
  };
  const form = 'multipart/form-data; boundary=x';
  const cases: [object | string, string | undefined, number, string][] = [
    ['{', undefined, 400, 'invalid_json'],
    [{ session: { type: 'realtime' } }, undefined, 400, 'invalid_model'],
    [{ session: { model: 1 } }, undefined, 400, 'invalid_model'],
    [{ session: { model: 'none' } }, undefined, 404, 'model_not_found'],
    [offer, 'application/sdp', 415, 'unsupported_media_type'],
    ['--x--', form, 415, 'unsupported_media_type'],
    [' '.repeat(2 ** 20 + 1), undefined, 413, 'body_too_large'],
  ];
  for (const [body, type, status, code] of cases) t.match(await ask(body, type), { status, error: { code } });
  const part = '--x\r\ncontent-disposition: form-data; name="session"\r\n\r\n{"model":"voice"}\r\n';
  t.equal((await call(`${part}${part}--x--\r\n`, form)).status, 400);
  const other = part.replaceAll('--x', '--y').replace('voice', 'none');
  const twoReaders: [string, string][] = [
    [`${part}--x--\r\n${other}--y--\r\n`, 'multipart/form-data; boundary=y; boundary=x'],
    [`${other}--y--\r\n${part}--x--\r\n`, form],
    [`${part.replace('"session"', '"Session"')}${part}--x--\r\n`, form],
    [`${part.replace('name=', 'name="sdp"; name=')}--x--\r\n`, form],
  ];
  for (const [body, type] of twoReaders) t.equal((await call(body, type)).status, 400, type);
  t.equal((await call(offer, 'application/sdp')).status, 400);
  t.equal(upstream.asked.length, before);
  const got = await gateway.fetch('/v1/realtime/calls');
  t.match([got.status, got.headers.get('allow')], [405, 'POST']);
  await got.body?.cancel();

  answerJson(400, { error: { message: `no ${canary}`, type: 'invalid_request_error', code: 'odd', param: 'session' } });
  const refused = await ask({ session: { model: 'voice' } });
  t.match(refused, { status: 400, error: { code: 'odd', provider: 'fake', message: 'no [redacted]' } });
  answerJson(200, {});
  const few = { 'x-gateway-user-path': '/few' };
  t.match(await ask({ session: { model: 'voice' } }, undefined, few), { status: 200 });
  const limited = await ask({ session: { model: 'voice' } }, undefined, few);
  t.match(limited, { status: 429, error: { code: 'rate_limit_exceeded' } });
});
