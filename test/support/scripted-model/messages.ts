// A strict server of Anthropic's Messages API.
import { readMessages } from './read-messages.ts';
import type { Saying } from './scenarios.ts';
import { sign } from './signatures.ts';
import { deltasOf, type Said, sse, type Wire } from './wire.ts';

export const messagesWire: Wire = {
  name: 'messages',
  model: 'claude-opus-4-5',
  streamType: 'text/event-stream; charset=utf-8',
  read: readMessages,
  answer: (said) => ({
    ...message(said, said.saying.usage.output),
    content: blocksOf(said).map(({ block }) => block),
    stop_reason: stopOf(said.saying),
  }),
  stream(said) {
    const { saying } = said;
    const delta = { stop_reason: stopOf(saying), stop_sequence: null };
    const events = [
      { type: 'message_start', message: message(said, 1) },
      { type: 'ping' },
      ...blocksOf(said).flatMap(({ begun, deltas }, index) => [
        { type: 'content_block_start', index, content_block: begun },
        ...deltas.map((piece) => ({ type: 'content_block_delta', index, delta: piece })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta, usage: { output_tokens: saying.usage.output } },
      { type: 'message_stop' },
    ];
    return events.map((event) => sse(event, event.type));
  },
  failure: (words) => sse({ type: 'error', error: { type: 'overloaded_error', message: words } }, 'error'),
  error: (status, words) => ({
    type: 'error',
    error: { type: status === 429 ? 'rate_limit_error' : 'invalid_request_error', message: words },
    request_id: 'req_scripted',
  }),
};

interface Block {
  readonly block: object;
  readonly begun: object;
  readonly deltas: readonly object[];
}

function blocksOf({ saying: { thought, text, calls }, number }: Said): readonly Block[] {
  const blocks: Block[] = [];
  if (thought !== '') {
    const signature = sign('claude', thought);
    const pieces = deltasOf(thought).map((piece) => ({ type: 'thinking_delta', thinking: piece }));
    blocks.push({
      block: { type: 'thinking', thinking: thought, signature },
      begun: { type: 'thinking', thinking: '', signature: '' },
      deltas: [...pieces, { type: 'signature_delta', signature }],
    });
  }
  if (text !== '') {
    const deltas = deltasOf(text).map((piece) => ({ type: 'text_delta', text: piece }));
    blocks.push({ block: { type: 'text', text }, begun: { type: 'text', text: '' }, deltas });
  }
  for (const [index, { name, input }] of calls.entries()) {
    const call = { type: 'tool_use', id: `toolu_${number}x${index}`, name };
    const pieces = ['', ...deltasOf(JSON.stringify(input), 5)];
    const deltas = pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece }));
    blocks.push({ block: { ...call, input }, begun: { ...call, input: {} }, deltas });
  }
  return blocks;
}

function message({ saying, heard, number }: Said, output_tokens: number): object {
  const { input, cached } = saying.usage;
  return {
    id: `msg_${number}`,
    type: 'message',
    role: 'assistant',
    model: heard.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: {
      input_tokens: input - cached,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cached,
      output_tokens,
      service_tier: 'standard',
    },
  };
}

function stopOf({ calls }: Saying): string {
  return calls.length === 0 ? 'end_turn' : 'tool_use';
}
