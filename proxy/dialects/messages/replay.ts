// A whole message as the stream that would have told it: each block in one piece.
import { isObject, type JsonObject, listOf, objectOf, textOf, writeJson } from '../json/json.ts';

/** Gives event by event. */
export function* replayMessage(answer: JsonObject): Generator<string, void, undefined> {
  const { content, stop_reason, stop_sequence = null, usage } = answer;
  const used = objectOf(usage) ?? {};
  const message = {
    ...answer,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...used, output_tokens: 0 },
  };
  yield eventOf('message_start', { message });
  for (const [index, block] of (listOf(content) ?? []).filter(isObject).entries()) yield* replayBlock(block, index);
  yield eventOf('message_delta', { delta: { stop_reason, stop_sequence }, usage: used });
  yield eventOf('message_stop', {});
}

function* replayBlock(block: JsonObject, index: number): Generator<string, void, undefined> {
  const { begun, deltas } = piecesOf(block);
  yield eventOf('content_block_start', { index, content_block: begun });
  for (const delta of deltas) yield eventOf('content_block_delta', { index, delta });
  yield eventOf('content_block_stop', { index });
}

interface Pieces {
  /** The block without what its deltas say. */
  readonly begun: JsonObject;
  readonly deltas: readonly JsonObject[];
}

function piecesOf(block: JsonObject): Pieces {
  switch (block['type']) {
    case 'text':
      return textPieces(block);
    case 'thinking': {
      const { thinking = '', signature = '' } = block;
      const deltas = [
        { type: 'thinking_delta', thinking },
        { type: 'signature_delta', signature },
      ];
      return { begun: { ...block, thinking: '', signature: '' }, deltas };
    }
    case 'tool_use':
    case 'server_tool_use': {
      const delta = { type: 'input_json_delta', partial_json: writeJson(block['input'] ?? {}) };
      return { begun: { ...block, input: {} }, deltas: [delta] };
    }
    default:
      return { begun: block, deltas: [] };
  }
}

function textPieces(block: JsonObject): Pieces {
  const citations = listOf(block['citations']);
  const deltas = [
    ...(citations ?? []).map((citation) => ({ type: 'citations_delta', citation })),
    { type: 'text_delta', text: textOf(block['text']) ?? '' },
  ];
  return { begun: { ...block, text: '', ...(citations === undefined ? {} : { citations: [] }) }, deltas };
}

function eventOf(type: string, members: JsonObject): string {
  return `event: ${type}\ndata: ${writeJson({ type, ...members })}\n\n`;
}
