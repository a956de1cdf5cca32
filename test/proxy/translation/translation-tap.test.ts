// The tap that translates: how it ends a stream that others end, what it measures, and how much it takes.
import { test } from 'tap';
import type { Failure, Sink } from '../../../proxy/answer.ts';
import type { ClientDialectName } from '../../../proxy/dialects/names.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { atOnce } from '../../../proxy/slices.ts';
import { conversationOf } from '../../../proxy/translation/conversation-of.ts';
import { translate } from '../../../proxy/translation/translated.ts';
import { TranslationTap } from '../../../proxy/translation/translation-tap.ts';
import { converseFrame } from '../../support/aws-frames.ts';

class Collected implements Sink {
  text = '';
  ended: Failure | undefined;

  write(chunk: Buffer): boolean {
    this.text += chunk.toString();
    return true;
  }

  end(failure: Failure | undefined): void {
    this.ended = failure;
  }
}

function tapFor(name: ClientDialectName, stream: boolean, from: 'messages' | 'bedrock' = 'messages') {
  const client = clientDialects[name];
  const dialect = providerDialects[from];
  if (client === undefined || dialect === undefined) throw new Error('a format is missing');
  const messages = [{ role: 'user', content: 'Hello?' }];
  const question = { model: 'm', max_tokens: 9, messages, input: 'Hello?', prompt: 'Hello?' };
  const body = Buffer.from(JSON.stringify(question));
  const target = { model: 'm', upstream: { name: 'far', unsupported: 'drop' } } as const;
  const translated = atOnce(translate(atOnce(conversationOf({ body }, client)), target, { quirks: {} }, dialect));
  const cancelled: (Failure | undefined)[] = [];
  const answer = { stream, cancel: (failure?: Failure) => void cancelled.push(failure) };
  const asked = { operation: name, call: { body } };
  const tap = new TranslationTap({
    answer,
    translated,
    read: undefined,
    asked,
    secrets: ['a-secret-word'],
    readsUsage: true,
    nowMs: 0,
  });
  const heard = new Collected();
  return { tap, sink: tap.open(heard), client: heard, cancelled };
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
    t.match(client.text, errorEvents[name], name);
    t.match(client.ended, { ...failure, isTold: true }, name);
  }
});
