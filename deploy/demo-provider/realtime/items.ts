// The items of a realtime conversation: how they are read, and how many are kept. Of sounds and pictures only the size is.
import type { Turn } from '../conversation.ts';
import { invalid, requireObjects, unknownValue } from '../openai/openai.ts';
import { readItem } from '../openai/responses-request.ts';
import { type Body, isList, isObject, optionalText } from '../requests.ts';

export type Item = { readonly id: string; readonly type: string; readonly [member: string]: unknown };

/** An item, and what it says to the model. */
export type Kept = { readonly item: Item; readonly turns: readonly Turn[] };

/** The items of a conversation in their order. */
export type Items = readonly Kept[];

const mostItems = 128;
/** Characters of all items together. */
const mostText = 1024 * 1024;
const knownTypes: readonly unknown[] = ['message', 'function_call', 'function_call_output'];

/** An item as a client wrote it; `id` is for one that has none. Refuses what is none, and keeps no data of media. */
export function readNewItem(given: unknown, id: string, param = 'item'): Kept {
  if (!isObject(given)) throw invalid(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter');
  const { type } = given;
  if (!knownTypes.includes(type)) {
    throw unknownValue(`${param}.type`, type, "'message', 'function_call', and 'function_call_output'");
  }
  const turns = readItem(type === 'message' ? asOfResponses(given, param) : given, param);
  const content = isList(given['content']) ? { content: given['content'].map(withoutData) } : {};
  const own = { id: optionalText(given['id']) ?? id, type: String(type), object: 'realtime.item', status: 'completed' };
  return { item: { ...given, ...content, ...own }, turns };
}

/** A sound of so many bytes that the user has sent. */
export function soundItem(id: string, bytes: number): Kept {
  const content = [{ type: 'input_audio', transcript: null }];
  const place = { kind: 'data', bytes, mediaType: 'audio/pcm' } as const;
  return {
    item: { id, type: 'message', object: 'realtime.item', status: 'completed', role: 'user', content },
    turns: [{ role: 'user', parts: [{ kind: 'media', noun: 'sound', place }] }],
  };
}

/**
 * The conversation with one item more, behind the one with the id `after` (`root`: before all; undefined: at the end). Refuses an unknown
 * `after`, an id that is there, a result without its call, and what would be too much to keep.
 */
export function addItem(items: Items, added: Kept, after?: unknown): Items {
  const { id, type, call_id: callId } = added.item;
  if (items.some(({ item }) => item.id === id)) {
    throw invalid('item.id', `Error adding item: an item with id '${id}' exists.`, 'item_already_exists');
  }
  if (type === 'function_call_output' && !items.some(({ item }) => isCall(item, callId))) {
    const message = `Error adding item: tool call ID '${String(callId)}' not found in conversation.`;
    throw invalid('item.call_id', message, 'invalid_tool_call_id');
  }
  requireRoom(items, [added]);
  const place = (after ?? undefined) === undefined ? items.length : after === 'root' ? 0 : indexOf(items, after) + 1;
  return items.toSpliced(place, 0, added);
}

/** Refuses a conversation that is full, or would be with `more`. */
export function requireRoom(items: Items, more: Items = []): void {
  if (items.length < mostItems && sizeOf(items) + sizeOf(more) <= mostText) return;
  const message = `The demo keeps at most ${mostItems} items and ${mostText} characters of a conversation.`;
  throw invalid('item', message, 'conversation_too_large');
}

/** The id of the item before this one; null for the first. */
export function idBefore(items: Items, id: string): string | null {
  return items[items.findIndex(({ item }) => item.id === id) - 1]?.item.id ?? null;
}

/** Where the item is; refuses an id that no item has. */
export function indexOf(items: Items, id: unknown): number {
  const index = items.findIndex(({ item }) => item.id === id);
  if (index >= 0) return index;
  const message = `Error: the item with id '${String(id)}' does not exist.`;
  throw invalid('item_id', message, 'item_not_found');
}

/** The turns of the items; a call without a result has none. */
export function turnsOf(items: Items): Turn[] {
  const answered = new Set(
    items.flatMap(({ item }) => (item.type === 'function_call_output' ? [item['call_id']] : [])),
  );
  return items.flatMap(({ item, turns }) =>
    item.type === 'function_call' && !answered.has(item['call_id']) ? [] : turns,
  );
}

function isCall(item: Item, id: unknown): boolean {
  return item.type === 'function_call' && item['call_id'] === id;
}

function sizeOf(items: Items): number {
  return items.reduce((sum, { item }) => sum + JSON.stringify(item).length, 0);
}

/** A message with its sounds as Responses has them: there the data is deeper, and what was said is a text. */
function asOfResponses(message: Body, param: string): Body {
  const content = requireObjects(message['content'], `${param}.content`).map((part) => {
    if (part['type'] === 'input_audio') {
      return { type: 'input_audio', input_audio: { data: part['audio'], format: 'pcm' } };
    }
    return part['type'] === 'output_audio' ? { type: 'output_text', text: part['transcript'] ?? '' } : part;
  });
  return { ...message, content };
}

function withoutData(part: unknown): unknown {
  if (!isObject(part)) return part;
  const { audio: _, image_url: __, ...rest } = part;
  return part['type'] === 'input_audio' ? { ...rest, transcript: rest['transcript'] ?? null } : rest;
}
