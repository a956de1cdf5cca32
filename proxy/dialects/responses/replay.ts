// A whole response as the stream that would have told it: each part of an item in one piece, and the response itself at the end.
import { isObject, type JsonObject, listOf, textOf, writeJson } from '../json/json.ts';

/** Type, without `response.`, and members beside those that every event of an item has. */
type ItemEvent = readonly [type: string, members: JsonObject];

/** Gives event by event. */
export function* replayResponse(response: JsonObject): Generator<string, void, undefined> {
  const begun = { ...response, status: 'in_progress', completed_at: null, output: [], usage: null };
  let sequence = 0;
  const told = ([name, members]: ItemEvent): string => {
    sequence += 1;
    return eventOf(`response.${name}`, sequence - 1, members);
  };
  yield told(['created', { response: begun }]);
  yield told(['in_progress', { response: begun }]);
  for (const [index, item] of (listOf(response['output']) ?? []).filter(isObject).entries())
    for (const event of replayItem(item, index)) yield told(event);
  yield told(['completed', { response }]);
}

function replayItem(item: JsonObject, output_index: number): ItemEvent[] {
  const { begun, events } = piecesOf(item);
  const at = { item_id: item['id'] ?? '', output_index };
  return [
    ['output_item.added', { output_index, item: begun }],
    ...events.map(([type, members]): ItemEvent => [type, { ...at, ...members }]),
    ['output_item.done', { output_index, item }],
  ];
}

interface Pieces {
  /** The item without what its events say. */
  readonly begun: JsonObject;
  readonly events: readonly ItemEvent[];
}

function piecesOf(item: JsonObject): Pieces {
  const unfinished = { ...item, status: 'in_progress' };
  switch (item['type']) {
    case 'message':
      return { begun: { ...unfinished, content: [] }, events: partsOf(item['content']).flatMap(replayPart) };
    case 'function_call': {
      const text = textOf(item['arguments']) ?? '';
      return {
        begun: { ...unfinished, arguments: '' },
        events: [
          ['function_call_arguments.delta', { delta: text }],
          ['function_call_arguments.done', { name: item['name'] ?? '', arguments: text }],
        ],
      };
    }
    case 'custom_tool_call': {
      const input = textOf(item['input']) ?? '';
      return {
        begun: { ...unfinished, input: '' },
        events: [
          ['custom_tool_call_input.delta', { delta: input }],
          ['custom_tool_call_input.done', { input }],
        ],
      };
    }
    case 'reasoning':
      return replayReasoning(item);
    default:
      return { begun: item, events: [] };
  }
}

function partsOf(list: JsonObject[string] | undefined): readonly JsonObject[] {
  return (listOf(list) ?? []).filter(isObject);
}

function replayPart(part: JsonObject, content_index: number): ItemEvent[] {
  const { type, logprobs = [] } = part;
  if (type !== 'output_text')
    return [
      ['content_part.added', { content_index, part }],
      ['content_part.done', { content_index, part }],
    ];
  const text = textOf(part['text']) ?? '';
  const annotations = partsOf(part['annotations']).map(
    (annotation, annotation_index): ItemEvent => [
      'output_text.annotation.added',
      { content_index, annotation_index, annotation },
    ],
  );
  return [
    ['content_part.added', { content_index, part: { ...part, text: '', annotations: [], logprobs: [] } }],
    ['output_text.delta', { content_index, delta: text, logprobs }],
    ...annotations,
    ['output_text.done', { content_index, text, logprobs }],
    ['content_part.done', { content_index, part }],
  ];
}

function replayReasoning(item: JsonObject): Pieces {
  const summaries = partsOf(item['summary']).flatMap((part, summary_index): ItemEvent[] => {
    const text = textOf(part['text']) ?? '';
    return [
      ['reasoning_summary_part.added', { summary_index, part: { ...part, text: '' } }],
      ['reasoning_summary_text.delta', { summary_index, delta: text }],
      ['reasoning_summary_text.done', { summary_index, text }],
      ['reasoning_summary_part.done', { summary_index, part }],
    ];
  });
  const thoughts = partsOf(item['content']).flatMap((part, content_index): ItemEvent[] => {
    const text = textOf(part['text']) ?? '';
    return [
      ['content_part.added', { content_index, part: { ...part, text: '' } }],
      ['reasoning_text.delta', { content_index, delta: text }],
      ['reasoning_text.done', { content_index, text }],
      ['content_part.done', { content_index, part }],
    ];
  });
  const { content, ...begun } = item;
  const emptied = content === undefined ? begun : { ...begun, content: [] };
  return {
    begun: { ...emptied, summary: [], ...(item['status'] === undefined ? {} : { status: 'in_progress' }) },
    events: [...summaries, ...thoughts],
  };
}

function eventOf(type: string, sequence_number: number, members: JsonObject): string {
  return `event: ${type}\ndata: ${writeJson({ type, sequence_number, ...members })}\n\n`;
}
