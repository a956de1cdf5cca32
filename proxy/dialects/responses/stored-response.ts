// Responses that the gateway keeps for providers that do not: what is kept, how it is listed, and how a conversation goes on from it.
import { isObject, type JsonObject, type JsonValue, listOf, textOf } from '../json/json.ts';
import { InvalidRequest } from '../translation.ts';

/** The stored record of a response. */
export interface StoredResponse {
  readonly response: JsonObject;
  /** All items that were asked with, those of previous responses included; each has an id. */
  readonly input_items: readonly JsonObject[];
}

/**
 * The record of a finished response, made in steps; undefined: the client does not want it to be kept. `body`: the request as it was asked,
 * after `withPrevious`. `newId`: random hexadecimal digits.
 */
export function* storedResponse(
  body: JsonObject,
  response: JsonObject,
  newId: () => string,
): Generator<undefined, StoredResponse | undefined, undefined> {
  if (body['store'] === false) return undefined;
  const listed: JsonObject[] = [];
  for (const item of itemsOf(body['input'])) {
    listed.push(asListed(item, newId));
    if (listed.length % stepItems === 0) yield;
  }
  return { response, input_items: listed };
}

/** The number of items that get their ids in one step. */
const stepItems = 1_000;

/** A text is one message of the user. */
function itemsOf(input: JsonValue | undefined): readonly JsonObject[] {
  if (typeof input !== 'string') return (listOf(input) ?? []).filter(isObject);
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }];
}

const prefixes = new Map([
  ['message', 'msg_'],
  ['function_call', 'fc_'],
  ['function_call_output', 'fco_'],
  ['custom_tool_call', 'ctc_'],
  ['custom_tool_call_output', 'ctco_'],
  ['reasoning', 'rs_'],
]);

/** The item with its type and an id; content that is a text becomes a list. */
function asListed(item: JsonObject, newId: () => string): JsonObject {
  const type = textOf(item['type']) ?? (item['role'] === undefined ? 'item_reference' : 'message');
  const id = textOf(item['id']) ?? `${prefixes.get(type) ?? 'item_'}${newId()}`;
  if (type !== 'message') return { ...item, type, id };
  const { content, role } = item;
  const kind = role === 'assistant' ? 'output_text' : 'input_text';
  const listed = typeof content === 'string' ? [{ type: kind, text: content }] : content;
  return { status: 'completed', ...item, type, id, content: listed };
}

/** The parameters of a query: null where one is not given. */
export interface ItemQuery {
  get(name: string): string | null;
}

const usualLimit = 20;
const mostItems = 100;

/** The answer to a question for the items. Throws an InvalidRequest that names the parameter. */
export function listInputItems({ input_items }: StoredResponse, query: ItemQuery): JsonObject {
  const limit = readLimit(query.get('limit'));
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw new InvalidRequest('order', 'must be asc or desc');
  const ordered = order === 'asc' ? input_items : input_items.toReversed();
  const after = query.get('after');
  const place = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && place === -1) throw new InvalidRequest('after', 'must be the id of an item of the response');
  const data = ordered.slice(place + 1, place + 1 + limit);
  return {
    object: 'list',
    data,
    first_id: data[0]?.['id'] ?? null,
    last_id: data.at(-1)?.['id'] ?? null,
    has_more: place + 1 + limit < ordered.length,
  };
}

function readLimit(text: string | null): number {
  if (text === null) return usualLimit;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > mostItems) throw new InvalidRequest('limit', `must be a number from 1 to ${mostItems}`);
  return limit;
}

/** The answer to a deletion. */
export function deletedResponse(id: string): JsonObject {
  return { id, object: 'response.deleted', deleted: true };
}

/**
 * The request with everything that was said before: what the previous response was asked and what it answered, then the new input. The
 * previous instructions are not carried over. `previous_response_id` is gone.
 */
export function withPrevious(body: JsonObject, previous: StoredResponse): JsonObject {
  const { previous_response_id: _, ...rest } = body;
  return { ...rest, input: [...itemsBefore(previous), ...newInput(body['input'])] };
}

/** The items before a new input: the input items of a response, and its output. */
export function itemsBefore({ input_items: asked, response }: StoredResponse): readonly JsonObject[] {
  return [...asked, ...(listOf(response['output']) ?? []).filter(isObject)];
}

/** Whatever is wrong with it is kept, so that reading the request refuses it. */
function newInput(input: JsonValue | undefined): readonly JsonValue[] {
  if (input === undefined || input === null) return [];
  return Array.isArray(input) ? (input as readonly JsonValue[]) : typeof input === 'string' ? itemsOf(input) : [input];
}
