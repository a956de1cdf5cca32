// The examples of event streams, one of each dialect, and that of the entries as they come in.
import { exampleOf } from './example-of.ts';

/** Events as they come, with their names where the dialect names them. */
function streamOf(events: readonly (readonly [name: string, data: string])[]): string {
  return events.map(([name, data]) => `${name === '' ? '' : `event: ${name}\n`}data: ${data}\n\n`).join('');
}

/** Names stand in the data too, as `type`. */
function namedStream(events: readonly { readonly type: string; readonly [member: string]: unknown }[]): string {
  return streamOf(events.map((event) => [event.type, JSON.stringify(event)]));
}

const response = { id: 'resp_1', object: 'response', status: 'in_progress', output: [] };
const item = { type: 'message', id: 'msg_1', role: 'assistant' };
const place = { item_id: 'msg_1', output_index: 0, content_index: 0 };
const words = { type: 'output_text', text: 'Hello!', annotations: [] };
const said = { ...item, status: 'completed', content: [words] };

/** Event streams, as `stream: true` asks for them. */
export const streamExamples = {
  chat: streamOf([
    ['', '{"choices":[{"index":0,"delta":{"content":"Hello!"}}]}'],
    ['', '{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'],
    ['', '[DONE]'],
  ]),
  completion: streamOf([
    ['', '{"object":"text_completion","choices":[{"text":"Hello!","index":0,"finish_reason":null}]}'],
    ['', '{"object":"text_completion","choices":[{"text":"","index":0,"finish_reason":"stop"}]}'],
    ['', '[DONE]'],
  ]),
  response: namedStream([
    { type: 'response.created', sequence_number: 0, response },
    { type: 'response.output_item.added', sequence_number: 1, output_index: 0, item: { ...item, content: [] } },
    { type: 'response.content_part.added', sequence_number: 2, ...place, part: { ...words, text: '' } },
    { type: 'response.output_text.delta', sequence_number: 3, ...place, delta: 'Hello!' },
    { type: 'response.output_text.done', sequence_number: 4, ...place, text: 'Hello!' },
    { type: 'response.content_part.done', sequence_number: 5, ...place, part: words },
    { type: 'response.output_item.done', sequence_number: 6, output_index: 0, item: said },
    {
      type: 'response.completed',
      sequence_number: 7,
      response: { ...response, status: 'completed', output: [said] },
    },
  ]),
  message: namedStream([
    { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [] } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello!' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 3 } },
    { type: 'message_stop' },
  ]),
} as const;

/** A dialect that streams. */
export type StreamName = keyof typeof streamExamples;

/** The stream of GET /admin/live, with an entry of the listing. */
export function liveExample(): string {
  const { entries } = exampleOf('audit-log') as { readonly entries: readonly unknown[] };
  const entry = JSON.stringify(entries[0]);
  return `id: 4711\nevent: ready\ndata: {"cursor":4711}\n\nid: 4712\nevent: entry\ndata: ${entry}\n\n: heartbeat\nid: 4712\n\n`;
}
