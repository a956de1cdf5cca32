// /p and the rules on models: whatever form a body has, its model is found before anything is sent, or the request is refused.
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { issueKey } from '../support/issue-key.ts';
import { openRaw, pause, rawRequest, type Step } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const origin = new URL(upstream.url).origin;
const provider = { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, models: ['m'] };
const once = { limits: [{ period: 'day', max_requests: 1 }] };
const gateway = await shareGateway({
  config: {
    server: { body_limit: '2MiB', upload_limit: '8MiB' },
    providers: {
      oa: provider,
      free: provider,
      google: { ...provider, type: 'gemini', base_url: `${origin}/v1beta` },
      aws: { ...provider, type: 'bedrock', api_key: `\${TEST_AWS_KEY}` },
    },
    rate_limits: {
      models: [
        ...['oa/full', 'google/full', 'aws/full', 'aws/us.full'].map((model) => ({ model, ...once })),
        { model: 'oa/counted', limits: [{ period: 'day', max_tokens: 28 }] },
      ],
    },
  },
});
suite.beforeEach(() => upstream.behave({ kind: 'json', body: { ok: true } }));

const chat = 'oa/v1/chat/completions';
const filler = 'x'.repeat(90_000);
const json = (model: string, more: object = {}) => JSON.stringify({ ...more, model });
const field = (name: string, value: string, more = '') =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const form = (...parts: string[]) => `${parts.join('')}--B--\r\n`;
const file = field('file', filler, '; filename="a.wav"');
const multipart = 'multipart/form-data; boundary=B';
const gzip = { 'content-encoding': 'gzip' };

type Headers = Record<string, string>;

/** What comes of a request, and whether it reached a provider. */
async function pass(path: string, body: string | Buffer, headers: Headers = {}): Promise<string> {
  const before = upstream.ledger.length;
  const answer = await gateway.fetch(`/p/${path}`, { method: 'POST', body, headers });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return `${answer.status} ${error?.code ?? 'ok'}${upstream.ledger.length > before ? ', sent' : ''}`;
}

/** The requests of a table, each by its name. */
type Rows = Readonly<Record<string, readonly [path: string, body: string | Buffer, headers?: Headers]>>;

/** One that asks `model`, in every form that is found. */
const found = (model: string): Rows => ({
  'over 64 KiB': [chat, json(model, { input: filler })],
  'over 64 KiB, the model first': [chat, `{"model":"${model}","input":"${filler}"}`],
  'over a mebibyte': [chat, json(model, { input: filler.repeat(13) })],
  'with a byte order mark': [chat, `\ufeff${json(model)}`],
  'with escapes': [
    chat,
    json(model)
      .replace('m', '\\u006d')
      .replace(/"(?=[a-z])/, '"'),
  ],
  gzip: [chat, gzipSync(json(model)), gzip],
  'gzip in two members': [chat, Buffer.concat([gzipSync('{"a":1,'), gzipSync(json(model).slice(1))]), gzip],
  'gzip, over 64 KiB unpacked': [chat, gzipSync(json(model, { input: filler })), { 'content-encoding': 'x-gzip' }],
  deflate: [chat, deflateSync(json(model)), { 'content-encoding': 'deflate' }],
  'deflate without a header': [chat, deflateRawSync(json(model)), { 'content-encoding': 'deflate' }],
  br: [chat, brotliCompressSync(json(model)), { 'content-encoding': 'BR' }],
  zstd: [chat, zstdCompressSync(json(model)), { 'content-encoding': 'zstd' }],
  'another content type': [chat, json(model), { 'content-type': 'application/octet-stream' }],
  'a form': ['oa/audio/transcriptions', form(field('model', model)), { 'content-type': multipart }],
  'a long form, the model last': ['oa/images/edits', form(file, field('model', model)), { 'content-type': multipart }],
  'a packed form': [
    'oa/audio/transcriptions',
    gzipSync(form(file, field('model', model))),
    { 'content-type': multipart, ...gzip },
  ],
  'JSON where forms are usual': ['oa/images/edits', json(model)],
  'an endpoint that nobody knows': ['oa/api/chat', json(model, { input: filler })],
  'a form at such an endpoint': ['oa/api/listen', form(file, field('model', model)), { 'content-type': multipart }],
  'fields of a page': ['oa/api/listen', `a=1&model=${model}`, { 'content-type': 'application/x-www-form-urlencoded' }],
  'the query': [`oa/listen?a=1&model=${model}`, filler, { 'content-type': 'audio/wav' }],
  'another letter case': [chat, json(model.toUpperCase())],
  'the OpenAI format at another base': ['oa/openai/v1/chat/completions', json(model)],
});

await test('rules that are used up', async (t) => {
  for (const path of [chat, 'google/models/full:generateContent', 'aws/model/full/invoke', 'aws/model/us.full/invoke'])
    t.equal(await pass(path, json('full')), '200 ok, sent', path);
});

await test('the rule of a model refuses it in every form of a body, before anything is sent', async (t) => {
  for (const [name, row] of Object.entries(found('full'))) t.equal(await pass(...row), '429 rate_limit_exceeded', name);
  for (const [name, row] of Object.entries(found('m'))) t.equal(await pass(...row), '200 ok, sent', `${name}, allowed`);
});

await test('what a provider calls the model otherwise is the same model', async (t) => {
  const rows: Rows = {
    'gemini in a body': ['google/openai/chat/completions', json('models/full')],
    'gemini in a path': ['google/models/full:generateContent', '{}'],
    'gemini in a path with a version': ['google/v1beta/models/full:streamGenerateContent', '{}'],
    'gemini behind an escape': ['google/models/full%3AgenerateContent', '{}'],
    'bedrock behind an escape': ['aws/%6dodel/full/converse', '{}'],
    'vertex in a path': ['google/projects/p/locations/l/publishers/google/models/full:generateContent', '{}'],
    'bedrock in a path': ['aws/model/full/converse', '{}'],
    'bedrock by an ARN': ['aws/model/arn%3Aaws%3Abedrock%3Aus%3A%3Afoundation-model%2Ffull/converse', '{}'],
    'bedrock by a profile': ['aws/model/arn:aws:bedrock:us:1:inference-profile/us.full/invoke', '{}'],
    azure: ['oa/openai/deployments/full/chat/completions', json('m')],
  };
  for (const [name, row] of Object.entries(rows)) t.equal(await pass(...row), '429 rate_limit_exceeded', name);
});

await test('what can hide a model is refused with words', async (t) => {
  const rows: Readonly<Record<string, readonly [...Rows[string], said: string]>> = {
    'beyond the limit': [chat, json('m', { input: 'x'.repeat(2 << 20) }), {}, '413 body_too_large'],
    'beyond the limit, unpacked': [
      chat,
      gzipSync(json('m', { input: 'x'.repeat(2 << 20) })),
      gzip,
      '413 body_too_large',
    ],
    'two models': [chat, `{"model":"m","input":"${filler}","model":"full"}`, {}, '400 duplicate_key'],
    'two models in a packed body': [chat, gzipSync('{"model":"m","MODEL":"full"}'), gzip, '400 duplicate_key'],
    'two models in a form': [
      'oa/audio/translations',
      form(field('model', 'm'), file, field('model', 'full')),
      { 'content-type': multipart },
      '400 duplicate_key',
    ],
    'two models in a query': ['oa/listen?model=m&model=full', 'RIFF', {}, '400 invalid_query'],
    'one in the query and one in the body': [`${chat}?model=m`, json('full'), {}, '400 invalid_query'],
    'no model': [chat, '{"messages":[]}', {}, '400 invalid_model'],
    'no JSON': [chat, 'model=full', {}, '400 invalid_json'],
    'JSON and more': ['oa/api/chat', `${json('full')} {}`, {}, '400 invalid_json'],
    'many blanks, JSON and more': ['oa/api/chat', `${' '.repeat(5_000)}${json('full')} {}`, {}, '400 invalid_json'],
    'long fields of a page': [
      'oa/api/listen',
      `model=m&a=${filler}`,
      { 'content-type': 'application/x-www-form-urlencoded' },
      '413 body_too_large',
    ],
    'UTF-16': [chat, Buffer.from(json('full'), 'utf16le'), {}, '400 invalid_json'],
    'UTF-16 at an unknown endpoint': [
      'oa/api/chat',
      Buffer.from(`\ufeff${json('full')}`, 'utf16le'),
      {},
      '400 invalid_json',
    ],
    'another charset': [
      chat,
      json('m'),
      { 'content-type': 'application/json; charset=ibm037' },
      '415 unsupported_media_type',
    ],
    'a form at an endpoint for JSON': [
      chat,
      form(field('model', 'm')),
      { 'content-type': multipart },
      '415 unsupported_media_type',
    ],
    'JSON before a form': [
      'oa/api/listen',
      `${json('full')}\r\n${form(field('model', 'm'))}`,
      { 'content-type': multipart },
      '400 malformed_multipart',
    ],
    'an unknown encoding': [chat, json('m'), { 'content-encoding': 'compress' }, '415 unsupported_encoding'],
    'two encodings': [
      chat,
      gzipSync(gzipSync(json('m'))),
      { 'content-encoding': 'gzip, gzip' },
      '415 unsupported_encoding',
    ],
    'a damaged body': [chat, gzipSync(json('m')).subarray(0, 20), gzip, '400 invalid_json'],
  };
  for (const [name, [path, body, headers, said]] of Object.entries(rows))
    t.match(await pass(path, body, headers), new RegExp(`^${said}`), name);
  const whole = upstream.ledger.filter(({ body }) => body.toString().endsWith('--B--\r\n') && body.includes('full'));
  t.same(whole, [], 'no such form arrived whole');
});

await test('what asks no model passes, and where no rule can matter bytes stream', async (t) => {
  const rows: Rows = {
    'a file of any length': ['oa/files', form(file.repeat(40)), { 'content-type': multipart }],
    'a part of an upload': ['oa/uploads/u_1/parts', form(file.repeat(40)), { 'content-type': multipart }],
    'bytes of an unknown kind': ['oa/api/listen', filler, { 'content-type': 'audio/wav' }],
    'an object without a model': ['oa/threads', json('m').replace('model', 'name')],
    'a form without a model': ['oa/api/listen', form(file), { 'content-type': multipart }],
    'another provider': ['free/chat/completions', json('full', { input: 'x'.repeat(3 << 20) })],
    'another provider, packed': ['free/chat/completions', gzipSync(json('full')), gzip],
    'another provider, no JSON': ['free/chat/completions', 'full'],
  };
  for (const [name, row] of Object.entries(rows)) t.equal(await pass(...row), '200 ok, sent', name);
  const packed = gzipSync(json('m'));
  await pass(chat, packed, gzip);
  t.strictSame(upstream.ledger.at(-1)?.body, packed, 'the bytes of the client');
  t.equal(upstream.ledger.at(-1)?.header('content-encoding'), 'gzip');
});

const headOf = (path: string, ...lines: string[]) =>
  [`POST /p/${path} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${masterKey}`, ...lines, '', ''].join('\r\n');

await test('a body that comes in two pieces is waited for', async (t) => {
  for (const [model, status] of [
    ['full', 429],
    ['m', 200],
  ] as const) {
    const body = json(model, { input: 'a' });
    const steps: Step[] = [`${headOf(chat, `Content-Length: ${body.length}`)}{`, pause(300), body.slice(1)];
    const raw = await openRaw(gateway.port);
    t.teardown(() => raw.socket.destroy());
    await raw.send(...steps);
    const answer = await raw.waitFor(({ responses }) => responses[0]);
    t.equal(answer.status, status, model);
  }
  const chunks = `${headOf(chat, 'Transfer-Encoding: chunked')}9\r\n{"model":\r\n7\r\n"full"}\r\n0\r\n\r\n`;
  t.equal((await rawRequest(gateway.port, chunks)).responses[0]?.status, 429, 'in chunks');
});

await test('tokens count under the rule of the model, whatever form the body has', async (t) => {
  const usage = { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 };
  await upstream.behave({ kind: 'json', body: { object: 'chat.completion', choices: [], usage } });
  for (const [path, body, headers = {}] of [
    [chat, json('counted', { input: filler })],
    [chat, gzipSync(json('counted')), gzip],
    ['oa/%63hat/Completions/', json('counted')],
    ['oa/audio/transcriptions', form(file, field('model', 'counted')), { 'content-type': multipart }],
  ] as const)
    t.equal(await pass(path, body, headers), '200 ok, sent');
  t.equal(await pass(chat, json('counted')), '429 rate_limit_exceeded', 'all four are charged');
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
});

await test('a key with allowed_models passes an allowed model in every form, and no other', async (t) => {
  const secret = await issueKey(t, gateway, { allowedModels: ['oa/m'] });
  const as = (headers: Headers = {}): Headers => ({ authorization: `Bearer ${secret}`, ...headers });
  const byContract = (rows: Rows) => Object.entries(rows).filter(([, [path]]) => !/\/(api|listen)\b/.test(path));
  for (const [name, [path, body, headers]] of byContract(found('m')))
    t.equal(await pass(path, body, as(headers)), '200 ok, sent', name);
  for (const [name, [path, body, headers]] of byContract(found('full')))
    t.equal(await pass(path, body, as(headers)), '403 model_access_denied', name);
  const routed = { fallbacks: ['full'], input: filler };
  t.equal(await pass(chat, gzipSync(json('m', routed)), as(gzip)), '400 routing_member_not_allowed');
  t.equal(await pass('oa/deployments/m/chat/completions', json('m', routed), as()), '400 routing_member_not_allowed');
  t.equal(await pass(chat, json('m').slice(1), as()), '403 passthrough_model_unknown');
  const line = headOf(chat, 'Content-Length: 13').replace('POST', 'GET').replace(masterKey, secret);
  const refused = await rawRequest(gateway.port, `${line}{"model":"m"}`);
  t.match(refused.responses[0]?.json(), { error: { code: 'passthrough_model_unknown' } }, 'a GET asks no model');
});

await test('nothing failed, and nothing is held', async (t) => {
  await waitFor('the requests to end', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
  t.notMatch(gateway.process.stdout.join('\n'), /"level":"(error|fatal)"/);
  t.same(gateway.process.stderr, []);
});
