// The first events of a stream are read until they say something, wherever the bytes are cut.
import { test } from 'tap';
import { bedrockTranslation } from '../../../proxy/dialects/bedrock/translate.ts';
import { chatTranslation } from '../../../proxy/dialects/chat/translate.ts';
import { geminiTranslation } from '../../../proxy/dialects/gemini/translate.ts';
import { messagesTranslation } from '../../../proxy/dialects/messages/translate.ts';
import { Opening, type ReadableStream } from '../../../proxy/dialects/opening.ts';
import { responsesTranslation } from '../../../proxy/dialects/responses/translate.ts';
import { converseFrame } from '../../support/aws-frames.ts';

const event = (data: object | string): string => `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
const chunk = (delta: object, more: object = {}): string => event({ id: 'c', choices: [{ index: 0, delta, ...more }] });
const start = event({ type: 'message_start', message: { id: 'm' } });
const created = event({ type: 'response.created', response: { id: 'r', output: [] } });

function opened(stream: ReadableStream, bytes: Buffer, cut = bytes.length, ends = false): string {
  const opening = new Opening(stream);
  for (const piece of [bytes.subarray(0, cut), bytes.subarray(cut)]) opening.push(piece);
  if (ends) opening.end();
  const { failed, problem, isQuiet } = opening;
  if (failed !== undefined) return `${failed.type} ${failed.code} ${failed.param} ${failed.message}`;
  return problem ?? (isQuiet ? 'quiet' : 'begun');
}

const cases: [name: string, stream: ReadableStream, text: string | Buffer, said: string][] = [
  ['a role', chatTranslation, chunk({ role: 'assistant', content: '' }), 'quiet'],
  ['filter results', chatTranslation, event({ id: '', choices: [], prompt_filter_results: [{}] }), 'quiet'],
  ['a word', chatTranslation, chunk({ content: 'a' }), 'begun'],
  [
    'a call',
    chatTranslation,
    chunk({ tool_calls: [{ index: 0, id: 'a', function: { name: 'f', arguments: '' } }] }),
    'begun',
  ],
  ['thoughts', chatTranslation, chunk({ reasoning_content: 'a' }), 'begun'],
  ['a finish', chatTranslation, chunk({}, { finish_reason: 'stop' }) + event('[DONE]'), 'begun'],
  [
    'a finish that is none',
    chatTranslation,
    chunk({}, { finish_reason: 'error' }) + event('[DONE]'),
    'null error null The provider ended the answer: error.',
  ],
  ['no start', chatTranslation, event('[DONE]'), 'its stream is empty'],
  ['nothing but JSON', chatTranslation, event('<html>'), 'an event of its stream is no JSON object'],
  [
    'an error',
    chatTranslation,
    event({ choices: null, error: { message: 'No.', code: 7, param: 'p', type: 't' } }),
    't 7 p No.',
  ],
  ['a beginning', messagesTranslation, start + event({ type: 'ping' }), 'quiet'],
  [
    'a call of Anthropic',
    messagesTranslation,
    event({ type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'f' } }),
    'begun',
  ],
  [
    'an error of Anthropic',
    messagesTranslation,
    start + event({ type: 'error', error: { type: 'api_error', message: 'No.' } }),
    'api_error null null No.',
  ],
  ['a response', responsesTranslation, created + event({ type: 'response.in_progress', response: {} }), 'quiet'],
  [
    'a failed response',
    responsesTranslation,
    created + event({ type: 'response.failed', response: { error: { code: 'c', message: 'No.' } } }),
    'null c null No.',
  ],
  ['a text of Google', geminiTranslation, event({ candidates: [{ content: { parts: [{ text: 'a' }] } }] }), 'begun'],
  [
    'an error of Google',
    geminiTranslation,
    event({ candidates: [] }) + event({ error: { code: 503, status: 'UNAVAILABLE', message: 'No.' } }),
    'UNAVAILABLE 503 null No.',
  ],
  [
    'an exception of AWS',
    bedrockTranslation,
    Buffer.concat([
      converseFrame('messageStart', { role: 'assistant' }),
      converseFrame('throttlingException', { message: 'No.' }),
    ]),
    'throttlingException null null No.',
  ],
];

await test('the first words decide, wherever the bytes are cut', (t) => {
  for (const [name, stream, text, said] of cases) {
    const bytes = Buffer.from(text as Buffer);
    const told = new Set(Array.from({ length: bytes.length + 1 }, (_, cut) => opened(stream, bytes, cut)));
    t.same([...told], [said], name);
  }
  t.end();
});

await test('a stream that ends without words makes no sense', (t) => {
  for (const [stream, text] of [
    [chatTranslation, chunk({ role: 'assistant' })],
    [messagesTranslation, start],
    [responsesTranslation, created],
    [chatTranslation, ''],
  ] as const) {
    t.equal(opened(stream, Buffer.from(text), text.length, true), 'its stream ends before it says anything');
  }
  const relayed = new Opening(chatTranslation, true);
  relayed.push(Buffer.from(event('')));
  t.match(relayed, { isQuiet: false, problem: undefined }, 'but whatever is relayed may mean something to its client');
  t.equal(opened(chatTranslation, Buffer.from(chunk({}, { finish_reason: 'length' })), 0, true), 'begun');
  t.end();
});
