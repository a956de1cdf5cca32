// The quickstart through the gateway: sound, pictures, moderation, ranking, files and batches, with the official SDKs.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import Anthropic from '@anthropic-ai/sdk';
import OpenAI, { APIError, toFile } from 'openai';
import { t as suite, test } from 'tap';
import { Kept } from '../../deploy/demo-provider/kept.ts';
import { openQueue } from '../../deploy/demo-provider/openai/batch-queue.ts';
import { startGateway } from '../support/gateway.ts';
import { startProcess } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';

const config = join(import.meta.dirname, '../../examples/quickstart/config');
const demo = await startProcess({
  t: suite,
  entry: 'deploy/demo-provider/provider.ts',
  env: { DEMO_PROVIDER_PORT: '0', DEMO_TOKEN_INTERVAL_MS: '0' },
});
const gateway = await startGateway(suite, {
  files: Object.fromEntries(readdirSync(config).map((name) => [name, readFileSync(join(config, name), 'utf8')])),
  env: { DEMO_PROVIDER_URL: `${demo.address}/v1` },
});
const { masterKey, url: address } = gateway;
const client = new OpenAI({ apiKey: masterKey, baseURL: `${address}/v1`, maxRetries: 0 });
const claude = new Anthropic({ apiKey: masterKey, baseURL: address, maxRetries: 0 });
const words = 'The quick brown fox. It jumps over “lazy” dogs!';
const speech = { model: 'demo-speech', voice: 'alloy', input: words } as const;
const heard = { model: 'demo-transcribe' } as const;
const atDemo = { query: { provider: 'demo' } };

async function speak(format: 'wav' | 'mp3' | 'pcm'): Promise<{ type: string | null; bytes: Buffer }> {
  const answer = await client.audio.speech.create({ ...speech, response_format: format });
  return { type: answer.headers.get('content-type'), bytes: Buffer.from(await answer.arrayBuffer()) };
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

async function refusal(asked: PromiseLike<unknown>): Promise<object> {
  const error: unknown = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof APIError)) throw new Error('it was answered');
  return { status: error.status, code: error.code, param: error.param };
}

await test('speech is a sound that players read, in the format that is asked for', async (t) => {
  const wav = await speak('wav');
  t.equal(wav.type, 'audio/wav');
  t.equal(wav.bytes.toString('latin1', 0, 4) + wav.bytes.toString('latin1', 8, 16), 'RIFFWAVEfmt ');
  t.equal(wav.bytes.readUInt32LE(4), wav.bytes.length - 8);
  t.same(
    [20, 22, 34].map((at) => wav.bytes.readUInt16LE(at)),
    [1, 1, 16],
    'PCM, one channel, 16 bits',
  );
  t.equal(wav.bytes.readUInt32LE(24), 24_000);
  const { type, bytes } = await speak('pcm');
  t.equal(type, 'audio/pcm');
  t.equal(wav.bytes.readUInt32LE(40), bytes.length, 'the data begin behind 44 bytes');
  t.ok(wav.bytes.subarray(44, 44 + bytes.length).equals(bytes));
  const loudest = Math.max(...new Int16Array(new Uint8Array(bytes).buffer));
  t.ok(loudest > 8000 && loudest < 12_000, 'it can be heard');
  const mp3 = await speak('mp3');
  t.equal(mp3.type, 'audio/mpeg');
  const frames = mp3.bytes.subarray(10 + (mp3.bytes[8] ?? 0) * 128 + (mp3.bytes[9] ?? 0));
  const heads = Array.from({ length: frames.length / 24 }, (_, index) => frames.readUInt32BE(index * 24));
  t.same([...new Set(heads)], [0xfff314c4], 'a frame of 24 ms every 24 bytes');
  t.equal(heads.length * 576 * 2, bytes.length, 'as long as the same as samples');
  t.same(await refusal(client.audio.speech.create({ ...speech, response_format: 'opus' })), {
    status: 400,
    code: 'invalid_value',
    param: 'response_format',
  });
});

await test('speech comes as events', async (t) => {
  const answer = await client.audio.speech.create({ ...speech, response_format: 'pcm', stream_format: 'sse' });
  const events = [...(await answer.text()).matchAll(/^data: (.+)$/gm)].map(
    ([, data]) => JSON.parse(data ?? '') as { type: string; audio?: string; usage?: { total_tokens: number } },
  );
  const { bytes } = await speak('pcm');
  t.ok(Buffer.concat(events.map(({ audio = '' }) => Buffer.from(audio, 'base64'))).equals(bytes));
  t.match(events.at(-1), { type: 'speech.audio.done', usage: { total_tokens: Number } });
});

await test('what was spoken is heard again, in every form of a transcript', async (t) => {
  for (const format of ['wav', 'mp3'] as const) {
    const file = await toFile((await speak(format)).bytes, `speech.${format}`);
    t.match(await client.audio.transcriptions.create({ ...heard, file }), {
      text: words,
      usage: { type: 'tokens', input_token_details: { audio_tokens: Number } },
    });
  }
  const file = await toFile((await speak('wav')).bytes, 'speech.wav');
  const as = (response_format: 'text' | 'srt' | 'vtt') =>
    client.audio.transcriptions.create({ ...heard, file, response_format });
  t.equal(await as('text'), `${words}\n`);
  t.match(
    await as('srt'),
    /^1\n00:00:00,000 --> (\S+)\nThe quick brown fox\.\n\n2\n\1 --> 00:00:\d\d,\d\d\d\nIt jumps/,
  );
  t.match(await as('vtt'), /^WEBVTT\n\n00:00:00\.000 --> /);
  const verbose = await client.audio.transcriptions.create({
    ...heard,
    file,
    response_format: 'verbose_json',
    timestamp_granularities: ['word', 'segment'],
  });
  t.equal(verbose.segments?.at(-1)?.end, verbose.duration);
  t.same(verbose.words?.map(({ word }) => word).join(' '), words);
  const translated = await client.audio.translations.create({ ...heard, file, response_format: 'verbose_json' });
  t.match(translated, { text: words, language: 'english' });
  const events = await collect(await client.audio.transcriptions.create({ ...heard, file, stream: true }));
  t.equal(events.map((event) => (event.type === 'transcript.text.delta' ? event.delta : '')).join(''), words);
  t.match(events.at(-1), { type: 'transcript.text.done', text: words, usage: { type: 'tokens' } });
});

await test('a sound of another origin is measured; what is none is refused', async (t) => {
  const ask = async (bytes: number, name: string) =>
    client.audio.transcriptions.create({ ...heard, file: await toFile(Buffer.alloc(bytes), name) });
  t.match(await ask(32_000, 'noise.ogg'), { text: 'This is a sound of 2.0 seconds, named “noise.ogg”.' });
  t.same(await refusal(ask(32_000, 'notes.txt')), { status: 400, code: 'invalid_value', param: 'file' });
  t.same(await refusal(ask(10, 'noise.ogg')), { status: 400, code: 'audio_too_short', param: 'file' });
});

/** Width, height and the number of bytes of all rows. */
function readPng(base64 = ''): { size: number[]; rows: number } {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('it is no PNG');
  const data = bytes.indexOf('IDAT');
  const rows = inflateSync(bytes.subarray(data + 4, data + 4 + bytes.readUInt32BE(data - 4))).length;
  return { size: [bytes.readUInt32BE(16), bytes.readUInt32BE(20)], rows };
}

await test('pictures are made, edited, varied, and streamed', async (t) => {
  const order = { model: 'demo-image', prompt: 'A fox' } as const;
  const made = await client.images.generate({ ...order, n: 2, size: '1536x1024' });
  t.same(
    made.data?.map(({ b64_json }) => readPng(b64_json)),
    Array.from({ length: 2 }, () => ({ size: [1536, 1024], rows: 385 * 1024 })),
  );
  t.not(made.data?.[0]?.b64_json, made.data?.[1]?.b64_json);
  t.match(made, { output_format: 'png', usage: { input_tokens_details: { text_tokens: 2 }, output_tokens: 544 } });
  const linked = await client.images.generate({ ...order, size: '256x256', response_format: 'url' });
  const url = linked.data?.[0]?.url ?? '';
  t.match(readPng(url.replace('data:image/png;base64,', '')), { size: [256, 256] });
  const image = await toFile(Buffer.from(url.split(',')[1] ?? '', 'base64'), 'fox.png', { type: 'image/png' });
  const edited = await client.images.edit({ ...order, image: [image, image] });
  t.match(readPng(edited.data?.[0]?.b64_json), { size: [1024, 1024] });
  t.match(edited.usage, { input_tokens_details: { image_tokens: 170 } });
  const varied = await client.images.createVariation({ model: 'demo-image', image, n: 2, size: '512x512' });
  t.equal(varied.data?.length, 2);
  const events = await collect(await client.images.generate({ ...order, stream: true, partial_images: 2 }));
  t.same(
    events.map(({ type }) => type),
    [...Array<string>(2).fill('image_generation.partial_image'), 'image_generation.completed'],
  );
  const text = await toFile(Buffer.from('no picture'), 'fox.png');
  t.same(await refusal(client.images.edit({ ...order, image: text })), {
    status: 400,
    code: 'invalid_image_file',
    param: 'image',
  });
});

await test('texts are moderated and ranked', async (t) => {
  const model = 'demo-moderation';
  const { results } = await client.moderations.create({ model, input: ['Have a nice day.', 'I will kill you.'] });
  t.same(
    results.map(({ flagged, categories }) => [flagged, categories.violence]),
    [
      [false, false],
      [true, true],
    ],
  );
  t.ok((results[1]?.category_scores.violence ?? 0) > 0.9);
  const documents = ['Cats sleep.', { text: 'What a gateway is: a door.' }, 'Rain.'];
  const ranked = await client.post<{ results: { index: number; relevance_score: number }[] }>('/rerank', {
    body: { model: 'demo-rerank', query: 'What is a gateway?', documents, top_n: 2, return_documents: true },
  });
  t.equal(ranked.results.length, 2);
  t.match(ranked.results[0], { index: 1, document: { text: 'What a gateway is: a door.' } });
});

const line = (id: string, body: object): string =>
  `${JSON.stringify({ custom_id: id, method: 'POST', url: '/v1/chat/completions', body })}\n`;
const messages = [{ role: 'user' as const, content: 'Hi' }];

async function startBatch(text: string): Promise<OpenAI.Batch> {
  const file = await client.files.create(
    { file: await toFile(Buffer.from(text), 'in.jsonl'), purpose: 'batch' },
    atDemo,
  );
  const asked = { input_file_id: file.id, endpoint: '/v1/chat/completions', completion_window: '24h' } as const;
  return client.batches.create(asked);
}

function whenDone(id: string): Promise<OpenAI.Batch> {
  return waitFor('the end of the batch', async () => {
    const batch = await client.batches.retrieve(id);
    return ['completed', 'cancelled', 'failed'].includes(batch.status) && batch;
  });
}

const linesOf = async (id = ''): Promise<object[]> =>
  (await (await client.files.content(id)).text())
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as object);

await test('files are kept, listed in pages, read back and deleted', async (t) => {
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) {
    const file = await toFile(Buffer.from(`content of ${name}`), `${name}.txt`);
    ids.push((await client.files.create({ file, purpose: 'user_data' }, atDemo)).id);
  }
  t.match(await client.files.retrieve(ids[1] ?? ''), { object: 'file', filename: 'b.txt', bytes: 12 });
  t.equal(await (await client.files.content(ids[1] ?? '')).text(), 'content of b');
  const listed = await collect(client.files.list({ limit: 2, purpose: 'user_data' }));
  t.same(listed.map(({ id }) => id).toSorted(), ids.toSorted());
  const own = new OpenAI({ apiKey: 'anything', baseURL: `${demo.address}/v1`, maxRetries: 0 });
  t.same((await own.files.list({ after: ids[2] ?? '', limit: 1 })).data[0]?.id, ids[1], 'newest first');
  t.match(await client.files.delete(ids[1] ?? ''), { deleted: true });
  t.same(await refusal(own.files.retrieve(ids[1] ?? '')), { status: 404, code: null, param: 'id' });
});

await test('a batch answers every line of a file', async (t) => {
  const good = line('one', { model: 'demo-small', messages }) + line('two', { model: 'demo-large', messages });
  const made = await startBatch(`${good}\n${line('bad', { model: 'demo-small', messages: [] })}`);
  t.equal(made.status, 'validating');
  const done = await whenDone(made.id);
  t.match(done, { status: 'completed', request_counts: { total: 3, completed: 2, failed: 1 } });
  t.match(await linesOf(done.output_file_id), [
    { custom_id: 'one', error: null, response: { status_code: 200, body: { model: 'demo-small' } } },
    { custom_id: 'two', response: { body: { choices: [{ message: { content: /I am demo-large/ } }] } } },
  ]);
  t.match(await linesOf(done.error_file_id), [
    { custom_id: 'bad', response: { status_code: 400, body: { error: { param: 'messages' } } } },
  ]);
  const broken = await whenDone((await startBatch(line('one', { model: 'demo-small' }).repeat(2))).id);
  t.match(broken, { status: 'failed', errors: { data: [{ code: 'duplicate_custom_id', line: 2 }] } });
  t.same(
    (await collect(client.batches.list({ limit: 1 }))).map(({ id }) => id).toSorted(),
    [made.id, broken.id].toSorted(),
  );
  t.equal(((await refusal(client.batches.cancel(made.id))) as { status: number }).status, 409);
});

await test('a batch that is cancelled keeps what is answered', async (t) => {
  const many = Array.from({ length: 1000 }, (_, index) => line(`n${index}`, { model: 'demo-small', messages }));
  const { id } = await startBatch(many.join(''));
  t.match(await client.batches.cancel(id), { status: 'cancelling' });
  const { status, request_counts: counts } = await whenDone(id);
  t.equal(status, 'cancelled');
  t.ok((counts?.completed ?? 0) < 1000);
});

await test('a batch of messages answers every request', async (t) => {
  const { batches } = claude.messages;
  const params = { model: 'demo-messages/demo-large', max_tokens: 100, messages };
  const made = await batches.create({
    requests: [
      { custom_id: 'one', params },
      { custom_id: 'bad', params: { ...params, messages: [] } },
    ],
  });
  t.match(made, { type: 'message_batch', processing_status: 'in_progress' });
  const ended = await waitFor('its end', async () => {
    const batch = await batches.retrieve(made.id);
    return batch.processing_status === 'ended' && batch;
  });
  t.match(ended.request_counts, { processing: 0, succeeded: 1, errored: 1, canceled: 0 });
  t.match(await collect(await batches.results(made.id)), [
    { custom_id: 'one', result: { type: 'succeeded', message: { model: 'demo-large', content: [{ type: 'text' }] } } },
    { custom_id: 'bad', result: { type: 'errored', error: { error: { type: 'invalid_request_error' } } } },
  ]);
  t.same(
    (await collect(batches.list())).map(({ id }) => id),
    [made.id],
  );
  t.match(await batches.cancel(made.id), { processing_status: 'ended' });
  t.match(await batches.delete(made.id), { type: 'message_batch_deleted' });
  t.same((await collect(batches.list())).length, 0);
});

await test('what is not covered passes through', async (t) => {
  const own = new OpenAI({ apiKey: masterKey, baseURL: `${address}/p/demo/v1`, maxRetries: 0 });
  t.match(await own.models.retrieve('demo-speech'), { id: 'demo-speech', object: 'model' });
  t.same(await refusal(own.get('/files/file-none')), { status: 404, code: null, param: 'id' });
  t.same(await refusal(own.put('/files', { body: {} })), { status: 405, code: 'method_not_allowed', param: null });
});

await test('what is kept is bounded: the oldest goes, and a batch behind too many is refused', (t) => {
  const kept = new Kept({ things: 3, bytes: 10 });
  const keep = (id: string, bytes: number): string[] => {
    kept.keep({ id, bytes, record: {} });
    return kept.newestFirst().map((thing) => thing.id);
  };
  t.same(['a', 'b', 'c', 'd'].map((id) => keep(id, 1)).at(-1), ['d', 'c', 'b']);
  t.same(keep('e', 9), ['e', 'd']);
  t.same(keep('e', 1), ['e', 'd'], 'in its place');
  t.same(keep('f', 8), ['f', 'e', 'd'], 'the bytes of the one before are free');
  const add = openQueue(0);
  const work = {
    begin: () => 0,
    isWanted: () => true,
    answer: () => ({ isGood: true, line: {} }),
    progressed: () => undefined,
    ended: () => undefined,
  };
  for (let count = 0; count < 4; count += 1) add(work);
  t.throws(() => add(work), { message: /^4 batches are in progress/ });
  t.end();
});
