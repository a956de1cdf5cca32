// The tap that translates: how it ends a stream that others end, what it measures, and how much it takes.
import { test } from 'tap';
import type { Failure, Sink } from '../../../proxy/answer.ts';
import type { ClientDialectName } from '../../../proxy/dialects/names.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { conversationOf } from '../../../proxy/translation/conversation-of.ts';
import { JoinedStream } from '../../../proxy/translation/rescue/joined-stream.ts';
import type { Rescuing } from '../../../proxy/translation/rescue/rescuing.ts';
import { translate } from '../../../proxy/translation/translated.ts';
import { TranslationTap } from '../../../proxy/translation/translation-tap.ts';
import { converseFrame } from '../../support/aws-frames.ts';

class Collected implements Sink {
  readonly #over = Promise.withResolvers<void>();
  text = '';
  ended: Failure | undefined;
  /** The answer has ended. */
  readonly over = this.#over.promise;

  write(chunk: Buffer): boolean {
    this.text += chunk.toString();
    return true;
  }

  end(failure: Failure | undefined): void {
    this.ended = failure;
    this.#over.resolve();
  }
}

function tapFor(
  name: ClientDialectName,
  stream: boolean,
  from: 'messages' | 'bedrock' | 'gemini' = 'messages',
  { rescuing, ...more }: { readonly rescuing?: Rescuing; readonly [member: string]: unknown } = {},
) {
  const client = clientDialects[name];
  const dialect = providerDialects[from];
  if (client === undefined || dialect === undefined) throw new Error('a format is missing');
  const messages = [{ role: 'user', content: 'Hello?' }];
  const question = { model: 'm', max_tokens: 9, messages, input: 'Hello?', prompt: 'Hello?', ...more };
  const body = Buffer.from(JSON.stringify(question));
  const target = { model: 'm', upstream: { name: 'far', unsupported: 'drop' } } as const;
  const translated = atOnce(translate(atOnce(conversationOf({ body }, client)), target, { quirks: {} }, dialect));
  const cancelled: (Failure | undefined)[] = [];
  const reported: unknown[] = [];
  const resumed: true[] = [];
  const answer = {
    stream,
    resume: () => void resumed.push(true),
    cancel: (failure?: Failure) => void cancelled.push(failure),
  };
  const asked = { operation: name, call: { body } };
  const tap = new TranslationTap({
    answer,
    translated,
    read: undefined,
    asked,
    secrets: ['a-secret-word'],
    readsUsage: true,
    nowMs: 0,
    report: (error) => void reported.push(error),
    rescuing,
  });
  const heard = new Collected();
  return { tap, sink: tap.open(heard), client: heard, cancelled, reported, resumed };
}

const event = (type: string, members: object = {}): Buffer =>
  Buffer.from(`event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`);
const usage = { input_tokens: 40, output_tokens: 1 };
const started = event('message_start', { message: { id: 'a', model: 'm', usage } });
const opened = event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } });
const said = (text: string): Buffer => event('content_block_delta', { index: 0, delta: { type: 'text_delta', text } });

await test('the end of a key is told as the matter of the caller, in every format', async (t) => {
  for (const name of ['chat', 'responses', 'completions', 'messages'] as const) {
    const { sink, client } = tapFor(name, true);
    for (const chunk of [started, opened, said('Hel')]) sink.write(chunk);
    sink.end({ code: 'key_revoked', reason: '' });
    t.match(client.text, '"code":"key_revoked"', name);
    t.match(client.text, '"type":"authentication_error"', name);
    t.notMatch(client.text, '"provider":', `${name}: no provider is to blame`);
    t.match(client.ended, { code: 'key_revoked', isTold: true });
  }
});

await test('a fault of the gateway is left to the one who knows the id of the request', async (t) => {
  const { sink, client } = tapFor('chat', true);
  for (const chunk of [started, opened, said('Hel')]) sink.write(chunk);
  sink.end({ code: 'internal_error', reason: '' });
  t.notMatch(client.text, 'error');
  t.match(client.ended, { code: 'internal_error', isTold: undefined });
});

await test('what came when the client had left is measured, and not passed', async (t) => {
  const content = [{ type: 'text', text: 'Hello.' }];
  const whole = tapFor('chat', false).tap;
  const body = { id: 'a', model: 'm', content, stop_reason: 'end_turn', usage: { input_tokens: 40, output_tokens: 7 } };
  t.equal(whole.whole(Buffer.from(JSON.stringify(body))).length, 0);
  t.match(whole.usage(), { inputTokens: 40, outputTokens: 7, source: 'reported' });
  const stream = tapFor('chat', true).tap;
  t.equal(stream.whole(Buffer.concat([started, opened, said('Hello.')])).length, 0);
  t.match(stream.usage(), { inputTokens: 40, source: 'estimated' });
  const nothing = tapFor('chat', false).tap;
  nothing.whole(Buffer.from('{"cut'));
  t.match(nothing.usage(), { outputTokens: 0, source: 'estimated' });
});

const invalid = { code: 'upstream_invalid_response', isTold: true };

/** How the streams of each format say that something is wrong. */
const errorEvents = {
  chat: /^data: \{"error":\{/m,
  completions: /^data: \{"error":\{/m,
  responses: /^event: error\n|^event: response\.failed\n/m,
  messages: /^event: error\n/m,
} as const;
const formats = Object.keys(errorEvents) as (keyof typeof errorEvents)[];

await test('a stream with an event that cannot be read ends with an error, in every format', async (t) => {
  for (const name of formats) {
    const { sink, client, cancelled } = tapFor(name, true);
    for (const chunk of [started, opened, said('Hel'), Buffer.from('event: x\ndata: {no\n\n')]) sink.write(chunk);
    sink.end(cancelled[0]);
    t.match(client.text, errorEvents[name], name);
    t.match(client.text, 'upstream_invalid_response', name);
    t.match(client.ended, invalid, name);
    const frames = tapFor(name, true, 'bedrock');
    const bytes = converseFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'Hel' } });
    frames.sink.write(bytes);
    bytes.writeUInt8(bytes.readUInt8(9) ^ 1, 9);
    frames.sink.write(bytes);
    frames.sink.end(frames.cancelled[0]);
    t.match(frames.client.text, errorEvents[name], `${name}: a damaged frame`);
    t.match(frames.client.ended, invalid, name);
  }
});

await test('an answer without an end is broken off with an error, in every format', async (t) => {
  const long = said('x'.repeat(3 << 20));
  const failure = { code: 'upstream_invalid_response', reason: 'it is too long to be translated' };
  for (const name of formats) {
    const { sink, client, cancelled } = tapFor(name, true);
    for (const chunk of [started, opened]) sink.write(chunk);
    for (let count = 0; count < 22 && cancelled.length === 0; count += 1) {
      sink.write(long);
      client.text = '';
    }
    t.match(cancelled, [failure], name);
    sink.end(cancelled[0]);
    await client.over;
    t.match(client.text, errorEvents[name], name);
    t.match(client.ended, { ...failure, isTold: true }, name);
  }
});

const stopped = event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 3 } });
const closed = event('content_block_stop', { index: 0 });
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

await test('what is long is told in steps and in order, and more is read when it is told', async (t) => {
  const text = 'word "\n '.repeat(2 ** 17);
  const { sink, client, resumed } = tapFor('responses', true);
  for (const chunk of [started, opened]) t.equal(sink.write(chunk), true);
  t.equal(sink.write(said(text)), false, 'nothing more is wanted meanwhile');
  t.equal(resumed.length, 0);
  while (resumed.length === 0) await nextTurn();
  sink.write(Buffer.concat([closed, stopped, event('message_stop')]));
  sink.end(undefined);
  const before = client.text.length;
  let turns = 0;
  for (let isOver = false; !isOver; turns += 1) {
    isOver = await Promise.race([client.over.then(() => true), nextTurn().then(() => false)]);
  }
  t.ok(turns > 3, `${turns} turns`);
  t.equal(resumed.length, 1, 'of what has ended nothing more is wanted');
  t.equal(client.ended, undefined);
  const events = client.text.trim().split('\n\n');
  const told = events.map((each) => JSON.parse(each.slice(each.indexOf('data: ') + 6)));
  t.same(
    told.map(({ sequence_number }) => sequence_number),
    told.map((_, index) => index),
  );
  t.ok(client.text.length - before > 4 * text.length);
  t.equal(told.at(-1).response.output[0].content[0].text, text);
});

await test('an answer of whole parts without an end is broken off', async (t) => {
  const { sink, client, cancelled } = tapFor('responses', true, 'gemini');
  const inlineData = { mimeType: 'image/png', data: 'iVBORw0K'.repeat(3 << 17) };
  const image = Buffer.from(`data: ${JSON.stringify({ candidates: [{ content: { parts: [{ inlineData }] } }] })}\n\n`);
  for (let count = 0; count < 4 && cancelled.length === 0; count += 1) {
    sink.write(image);
    await nextTurn();
  }
  t.match(cancelled, [{ reason: 'it is too long to be translated' }]);
  sink.end(cancelled[0]);
  await client.over;
  t.ok(client.text.includes('"code":"upstream_invalid_response"'));
});

await test('what turns out to be wrong in a later step breaks the answer off', async (t) => {
  const tools = [{ type: 'custom', custom: { name: 'f' } }];
  const { sink, client, cancelled, reported } = tapFor('chat', true, 'messages', { tools });
  sink.write(started);
  sink.write(event('content_block_start', { index: 0, content_block: { type: 'tool_use', id: 'c', name: 'f' } }));
  const partial_json = 'x'.repeat(3 << 20);
  const piece = event('content_block_delta', { index: 0, delta: { type: 'input_json_delta', partial_json } });
  for (let count = 0; count < 20 && cancelled.length === 0; count += 1) {
    sink.write(piece);
    await nextTurn();
  }
  t.match(cancelled, [
    { code: 'upstream_invalid_response', reason: 'the input of a tool is too long to be translated' },
  ]);
  sink.end(cancelled[0]);
  t.match(client.text, errorEvents.chat);
  t.match(client.ended, invalid);
  t.same(reported, []);
});

await test('a key that ends while another target is asked ends the stream, and what is asked', async (t) => {
  const outcomes: string[] = [];
  const asked = Promise.withResolvers<undefined>();
  const rescuing: Rescuing = {
    joined: new JoinedStream('continue', () => true),
    goOn: () => asked.promise,
    leave: () => void outcomes.push('left'),
    note: (outcome) => void outcomes.push(outcome),
  };
  const { sink, client, tap } = tapFor('chat', true, 'messages', { rescuing });
  for (const chunk of [started, opened, said('Hel')]) sink.write(chunk);
  sink.end({ code: 'upstream_disconnected', reason: '' });
  t.notMatch(client.text, 'error', 'another one is asked');
  t.equal(tap.awaitsMore(0), false, 'nothing is awaited of the one that broke off');
  sink.end({ code: 'key_revoked', reason: '' });
  asked.resolve(undefined);
  await client.over;
  t.match(client.text, '"code":"key_revoked"');
  t.equal(client.text.split('"error"').length, 2, 'once');
  t.same(outcomes, ['left']);
});
