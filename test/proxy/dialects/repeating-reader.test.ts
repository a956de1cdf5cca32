// What a stream says is the same, whether its events are read as a whole or only where they differ.
import * as fc from 'fast-check';
import { test } from 'tap';
import { ChunkReader } from '../../../proxy/dialects/chat/read/read-events.ts';
import { MessagesReader } from '../../../proxy/dialects/messages/read/read-events.ts';
import { RepeatingReader } from '../../../proxy/dialects/repeating-reader.ts';
import { ResponsesEventReader } from '../../../proxy/dialects/responses/read/read-events.ts';
import type { EventReader, RawEvent } from '../../../proxy/dialects/translation.ts';
import { runs } from '../../support/extent.ts';

function told(reader: EventReader, events: readonly RawEvent[]): unknown {
  try {
    return [...events.map((event) => reader.read(event)), reader.end()];
  } catch (error) {
    return String(error);
  }
}

/** Words that stand elsewhere in an event, and letters that JSON writes in another way. */
const words = fc.oneof(
  fc.constantFrom(
    '',
    'a',
    'ab',
    '{',
    '}',
    '1',
    'content',
    'assistant',
    'text',
    'c',
    '"',
    '\\',
    '\n',
    ',"x":"',
    'é',
    '\u{1f327}',
  ),
  fc.string({ maxLength: 4 }),
);
type Shape = (word: string) => object;
const item = (members: object): object => ({ item_id: 'a', output_index: 0, content_index: 0, ...members });
const responseEvents: readonly Shape[] = [
  (delta) => item({ type: 'response.output_text.delta', sequence_number: 7, delta, obfuscation: 'aB1' }),
  (delta) => item({ type: 'response.output_text.delta', delta, sequence_number: 12, logprobs: [], obfuscation: '' }),
  (delta) => item({ type: 'response.output_text.delta', delta, logprobs: [{ token: 'a' }] }),
  (delta) => item({ type: 'response.output_text.delta', delta, content_index: 1 }),
  (delta) => item({ type: 'response.refusal.delta', delta }),
  (delta) => item({ type: 'response.reasoning_text.delta', delta }),
  (delta) => item({ type: 'response.reasoning_summary_text.delta', summary_index: 0, delta }),
  (delta) => item({ type: 'response.function_call_arguments.delta', delta }),
  (text) => item({ type: 'response.output_text.done', text }),
  (name) => ({ type: 'response.output_item.added', output_index: 0, item: { type: 'function_call', id: 'a', name } }),
  (text) => ({
    type: 'response.output_item.done',
    output_index: 0,
    item: { type: 'message', id: 'a', content: [{ type: 'output_text', text }] },
  }),
];

/** A word in an event, as JSON that a server may write: other letters as escapes, or not. */
const written = fc
  .record({ word: words, isAscii: fc.boolean(), isNamed: fc.constantFrom(false, false, false, false, true) })
  .map(({ word, isAscii, isNamed }) => (shape: Shape): RawEvent => {
    const text = JSON.stringify(shape(word));
    const escaped = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;
    return { event: isNamed ? 'error' : undefined, data: isAscii ? text.replace(/[^ -~]/g, escaped) : text };
  });

const chunk = (delta: object, choice: object = {}, beside: object = {}): object => {
  return { id: 'c', choices: [{ index: 0, delta, ...choice }], ...beside };
};
const called = (text: string): object => ({ index: 0, id: 'c', function: { name: 'f', arguments: text } });
const chunks: readonly Shape[] = [
  (content) => chunk({ content }),
  (content) => chunk({ role: 'assistant', content }),
  (content) => chunk({ content }, {}, { padding: content }),
  (content) => chunk({ content }, { logprobs: { content: [{ token: 'a' }] } }),
  (content) => chunk({ content }, { finish_reason: 'stop' }),
  (content) => chunk({ content }, {}, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
  (content) => chunk({ content }, {}, { citations: ['https://a.example'] }),
  (refusal) => chunk({ refusal }),
  (reasoning_content) => chunk({ reasoning_content }),
  (text) => chunk({ content: [{ type: 'thinking', thinking: [{ text }, { text: 'a' }] }] }),
  (content) => chunk({ content, reasoning: 'a' }),
  (text) => chunk({ tool_calls: [called(text)] }),
  (text) => chunk({ tool_calls: [called('{'), called(text)] }),
  (content) => chunk({ content, tool_calls: [{ index: 1, function: { arguments: '' } }] }),
];
const blockDelta = (delta: object, index = 0): object => ({ type: 'content_block_delta', index, delta });
const blockStart = (content_block: object, index = 0): object => ({
  type: 'content_block_start',
  index,
  content_block,
});
const blockEvents: readonly Shape[] = [
  (text) => blockDelta({ type: 'text_delta', text }),
  (text) => blockDelta({ type: 'text_delta', text }, 1),
  (thinking) => blockDelta({ type: 'thinking_delta', thinking }),
  (partial_json) => blockDelta({ type: 'input_json_delta', partial_json }),
  (signature) => blockDelta({ type: 'signature_delta', signature }),
  (text) => blockStart({ type: 'text', text }),
  (text) => blockStart({ type: 'text', text }, 1),
  () => blockStart({ type: 'thinking', thinking: '' }),
  (name) => blockStart({ type: 'tool_use', id: 'a', name, input: {} }),
  () => ({ type: 'content_block_stop', index: 0 }),
];
/** Several events of one shape, several times. */
const ofShapes = (shapes: readonly Shape[]): fc.Arbitrary<readonly RawEvent[]> => {
  const some = fc.tuple(fc.constantFrom(...shapes), fc.array(written, { minLength: 1, maxLength: 5 }));
  const events = some.map(([shape, texts]) => texts.map((text) => text(shape)));
  return fc.array(events, { minLength: 1, maxLength: 5 }).map((all) => all.flat());
};

await test('events that are like one another say what they say when each is read as a whole', async () => {
  const streams: readonly [readonly Shape[], () => EventReader][] = [
    [chunks, () => new ChunkReader()],
    [blockEvents, () => new MessagesReader()],
    [responseEvents, () => new ResponsesEventReader()],
  ];
  for (const [shapes, reader] of streams) {
    fc.assert(
      fc.property(ofShapes(shapes), (events) => {
        const [whole, repeated] = [told(reader(), events), told(new RepeatingReader(reader()), events)];
        if (JSON.stringify(whole) !== JSON.stringify(repeated)) throw new Error(JSON.stringify({ whole, repeated }));
      }),
      runs(10_000),
    );
  }
});

await test('of events that are like one another a few are read as a whole', (t) => {
  const kinds: readonly [string, EventReader, (text: string, number: number) => object][] = [
    ['chat', new ChunkReader(), (content, number) => chunk({ content }, {}, { obfuscation: 'a'.repeat(number % 5) })],
    [
      'responses',
      new ResponsesEventReader(),
      (delta, number) => item({ type: 'response.output_text.delta', sequence_number: number, delta, logprobs: [] }),
    ],
  ];
  for (const [name, reader, shape] of kinds) {
    let reads = 0;
    const counted = {
      read: (raw: RawEvent) => {
        reads += 1;
        return reader.read(raw);
      },
      end: () => reader.end(),
    };
    const texts = Array.from({ length: 100 }, (_, number) => `word "${number}"\n`);
    const repeating = new RepeatingReader(counted);
    const events = texts.flatMap((text, number) =>
      repeating.read({ event: undefined, data: JSON.stringify(shape(text, number)) }),
    );
    const said = events.map((event) => (event.kind === 'delta' && event.delta.kind === 'text' ? event.delta.text : ''));
    t.equal(said.join(''), texts.join(''), name);
    t.equal(reads, 3, 'the first opens the part, the second is the model, the third proves it');
  }
  t.end();
});
