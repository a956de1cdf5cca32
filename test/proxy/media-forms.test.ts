// Forms on their way to a provider: transcripts and images, streamed with the model's name in place, whatever their order and their length.
import { createReadStream, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, providerKey } from '../support/gateway.ts';
import { issueKey } from '../support/issue-key.ts';
import { residentBytes } from '../support/process.ts';
import { createGate, rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);
const upstream = await startFakeUpstream({ t: suite });
const provider = { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}` };
const gateway = await shareGateway({
  config: {
    server: { upload_limit: '80MiB', body_limit: '1MiB' },
    providers: {
      fake: { ...provider, dialects: ['audio', 'images'], models: ['a-much-longer-id', 'm2'] },
      silent: { ...provider, dialects: ['chat'], models: ['text'] },
    },
    aliases: [{ source: 'ear', target: 'fake/a-much-longer-id' }],
    rate_limits: {
      user_paths: [{ path: '/counted', limits: [{ period: 'minute', max_requests: 9, max_tokens: 99 }] }],
    },
  },
});
const client = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
const path = '/v1/audio/transcriptions';
const type = 'multipart/form-data; boundary=B';
const recording = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index % 251));
const last = () => {
  const entry = upstream.ledger.at(-1);
  if (entry === undefined) throw new Error('nothing reached the provider');
  return entry;
};
const seen = () =>
  new Response(last().body, { headers: { 'content-type': last().header('content-type') ?? '' } }).formData();
const field = (name: string, value: string, more = '') =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const file = (bytes: number) => field('file', 'x'.repeat(bytes), '; filename="a.wav"');
const model = field('model', 'ear');
const end = '--B--\r\n';
const transcript = { kind: 'json', body: { text: 'Hello' } } as const;
suite.beforeEach(() => upstream.behave(transcript));

async function ask(body: string, headers: Record<string, string> = {}, at = path): Promise<string> {
  const answer = await gateway.fetch(at, { method: 'POST', body, headers: { 'content-type': type, ...headers } });
  const said = (await answer.json()) as { error?: { code: string } };
  return `${answer.status} ${said.error?.code ?? 'ok'}`;
}

await test('the SDK sends a recording from a stream, and images', async (t) => {
  const name = join(temporaryDirectory(t, 'recording'), 'hello.wav');
  writeFileSync(name, recording);
  const { text } = await client.audio.transcriptions.create({
    model: 'ear',
    file: createReadStream(name),
    language: 'en',
  });
  t.equal(text, 'Hello');
  t.same([last().target, last().header('authorization')], [path, `Bearer ${providerKey}`]);
  const form = await seen();
  t.same([form.get('model'), form.get('language')], ['a-much-longer-id', 'en']);
  t.strictSame(Buffer.from(await (form.get('file') as File).arrayBuffer()), recording);

  await client.audio.translations.create({ model: 'fake/m2', file: await toFile(recording, 'a.mp3') });
  t.same([last().target, (await seen()).get('model')], ['/v1/audio/translations', 'm2']);
  const image = await toFile(recording, 'a.png', { type: 'image/png' });
  await client.images.edit({ model: 'ear', image: [image, image], prompt: 'a hat' });
  const edit = await seen();
  t.same(
    [last().target, edit.get('model'), edit.getAll('image[]').length],
    ['/v1/images/edits', 'a-much-longer-id', 2],
  );
  await client.images.createVariation({ model: 'm2', image });
  t.equal(last().target, '/v1/images/variations');
});

await test('all bytes but those of the name pass as they are, first or behind the file', async (t) => {
  const crooked = field('prompt', '\r\n--\r\n-B\0', '\r\nContent-Type: text/plain') + field('model[]', 'ear');
  for (const form of [
    `\r\n${model}${file(9)}${crooked}${end}\r\n`,
    `${file(900_000)}${crooked}${model}${file(9)}${end}`,
  ]) {
    t.equal(await ask(form), '200 ok');
    const expected = form.replace(model, field('model', 'a-much-longer-id'));
    t.strictSame(last().body.equals(Buffer.from(expected)), true);
    t.equal(last().header('content-length'), String(Buffer.byteLength(expected)));
    t.equal(last().header('content-type'), type);
  }
});

await test('a form in chunks of one byte goes on in chunks', async (t) => {
  const form = `${file(300)}${model}${end}`;
  const head = `POST ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${masterKey}\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const chunks = Array.from(form, (byte) => `1\r\n${byte}\r\n`).join('');
  const { responses } = await rawRequest(gateway.port, `${head}${chunks}0\r\n\r\n`);
  t.equal(responses[0]?.status, 200);
  t.equal(last().body.toString(), form.replace('ear', 'a-much-longer-id'));
});

await test('answers of any type come back, and usage counts as it is reported', async (t) => {
  const headers = { 'x-gateway-user-path': '/counted' };
  const form = model + file(9) + end;
  await upstream.behave({
    kind: 'raw',
    steps: ['HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nHello'],
  });
  const text = await gateway.fetch(path, { method: 'POST', body: form, headers: { 'content-type': type, ...headers } });
  t.same([text.headers.get('content-type'), await text.text()], ['text/plain', 'Hello']);
  const usage = {
    type: 'tokens',
    input_tokens: 14,
    input_token_details: { audio_tokens: 14 },
    output_tokens: 4,
    total_tokens: 18,
  };
  await upstream.behave({ kind: 'json', body: { text: 'a', usage } });
  t.equal(await ask(form, headers), '200 ok');
  await upstream.behave({ kind: 'json', body: { text: 'a', usage: { type: 'duration', seconds: 9 } } });
  t.equal(await ask(form, headers), '200 ok');
  t.match(await usageOf(gateway, '/counted'), [{ requests_used: 3, tokens_used: 18 }]);
  await upstream.behave({
    kind: 'sse',
    chunks: [`data: ${JSON.stringify({ type: 'transcript.text.done', usage })}\n\n`],
  });
  await gateway
    .fetch(path, { method: 'POST', body: form, headers: { 'content-type': type, ...headers } })
    .then((answer) => answer.text());
  t.match(await usageOf(gateway, '/counted'), [{ requests_used: 4, tokens_used: 36 }]);
});

await test('what is refused reaches no provider whole', async (t) => {
  const before = upstream.ledger.length;
  const rows: Record<string, string> = {
    [field('model', 'none') + end]: '404 model_not_found',
    [field('model', 'silent/text') + file(9) + end]: '400 unsupported_operation',
    [file(9) + end]: '400 invalid_model',
    [file(2_000_000) + model + end]: '400 model_too_late',
    [`--B\r\nX: ${'a'.repeat(40_000)}`]: '400 malformed_multipart',
    [field('a', 'b').repeat(10_000) + model + end]: '400 malformed_multipart',
    [model + file(9)]: '400 malformed_multipart',
    [model + file(200_000) + field('model', 'fake/m2') + end]: '400 duplicate_key',
    '': '400 malformed_multipart',
  };
  for (const [form, said] of Object.entries(rows)) t.equal(await ask(form), said, form.slice(0, 60));
  t.equal(await ask('{"model":"ear"}', { 'content-type': 'application/json' }), '415 multipart_expected');
  t.equal(await ask(model + end, { 'content-encoding': 'gzip' }), '415 unsupported_encoding');
  t.equal(await ask(model + end, { authorization: 'Bearer wrong' }), '401 invalid_api_key');
  const whole = upstream.ledger.slice(before).filter(({ body }) => body.toString().endsWith(end));
  t.same(whole, []);
});

await test('a key of some models cannot ask for others by a second name, or by fields that lead elsewhere', async (t) => {
  const secret = await issueKey(t, gateway, { userPath: '/v', allowedModels: ['ear'] });
  const headers = { authorization: `Bearer ${secret}` };
  t.equal(await ask(model + file(9) + end, headers), '200 ok');
  t.equal(await ask(field('model', 'm2') + end, headers), '403 model_access_denied');
  for (const member of ['fallbacks', 'provider[order][]'])
    for (const form of [field(member, 'm2') + model, model + file(200_000) + field(member, 'm2')])
      t.equal(await ask(form + end, headers), '400 routing_member_not_allowed', form.slice(0, 60));
});

/** Sends a form of 64 MB. */
function upload(): Promise<Response> {
  const [size, piece] = [64 * 1024 * 1024, Buffer.alloc(1024 * 1024, 'x')];
  async function* form() {
    yield Buffer.from(`${model}--B\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n`);
    for (let sent = 0; sent < size; sent += piece.length) yield piece;
    yield Buffer.from(`\r\n${end}`);
  }
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': type };
  const body = ReadableStream.from(form());
  return fetch(`${gateway.url}${path}`, { method: 'POST', body, headers, duplex: 'half' });
}

await test('64 MB pass while the memory of the gateway stays what it is', async (t) => {
  // The first ones make the process as large as a busy one is.
  for (let count = 0; count < 2; count += 1) t.equal((await upload()).status, 200);
  const restingBytes = residentBytes(gateway.process);
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate, next: transcript });
  const asked = upload();
  await waitFor('the request to arrive whole', () => gate.waiting === 1, 20_000);
  const grownBytes = residentBytes(gateway.process) - restingBytes;
  gate.release();
  t.equal((await asked).status, 200);
  t.ok(last().body.length > 64 * 1024 * 1024);
  t.ok(grownBytes < 20 * 1024 * 1024, `${grownBytes} bytes more`);
});

await test('nothing is left behind', async (t) => {
  await waitFor('the requests to end', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
  t.notMatch(gateway.process.stdout.join('\n'), /"level":"(error|fatal)"/);
  t.same(gateway.process.stderr, []);
});
