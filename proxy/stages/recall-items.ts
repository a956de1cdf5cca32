// Items of responses that a call names instead of repeating them (`item_reference`): those that the gateway keeps are put in their place.
import { type Call, readAnyCall } from '../call/call.ts';
import { isObject, type JsonObject, type JsonValue, listOf, textOf } from '../dialects/json/json.ts';
import { refusal } from '../errors.ts';
import { parsedBody, writtenBody } from '../http/parsed-body.ts';
import type { StoredResponses } from '../kept/responses/stored-responses.ts';
import { inSlices } from '../pacing/slices.ts';

const mark = Buffer.from('item_reference');
/** Most items that one call names. */
const mostNamed = 1_000;
/** Concurrent look-ups of one call: an item may be long. */
const atOnce = 4;

/** Whose call it is, and how long it may become. Bytes. */
export interface NamingItems {
  readonly owner: string;
  readonly limit: number;
}

/** Whether a call may name items. Nearly none does, and each is looked at. */
export function mayNameItems({ body }: Pick<Call, 'body'>): boolean {
  return body.includes(mark);
}

/**
 * The call with the items that the gateway keeps for this owner; one that is not kept stays as it is, because a provider may have it. Rejects
 * with 400 `too_many_objects`, 413 `body_too_large`, 503 `stored_responses_unavailable`.
 */
export async function withItems(
  call: Call,
  { owner, limit }: NamingItems,
  storedResponses: Pick<StoredResponses, 'findItem'>,
): Promise<Call> {
  const body = await inSlices(parsedBody(call.body));
  const input = listOf(body['input']) ?? [];
  const named = [...new Set(input.flatMap((item) => referenceIn(item) ?? []))];
  if (named.length === 0) return call;
  if (named.length > mostNamed) throw refusal('too_many_objects');
  // Items in the call itself need no look-up.
  const known = new Map<string, JsonObject>();
  for (const item of input) {
    const id = isObject(item) && referenceIn(item) === undefined ? textOf(item['id']) : undefined;
    if (id !== undefined && isObject(item)) known.set(id, item);
  }
  const waiting = named.filter((id) => !known.has(id));
  let bytes = call.body.length;
  const look = async (): Promise<void> => {
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      const found = await storedResponses.findItem(id, owner);
      if (found === undefined) continue;
      bytes += found.bytes;
      if (bytes > limit) throw tooLarge(limit);
      known.set(id, found.item);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, waiting.length) }, look));
  const whole = await inSlices(writtenBody({ ...body, input: input.map((item) => itemFor(item, known)) }, true));
  if (whole.length > limit) throw tooLarge(limit);
  return readAnyCall(whole);
}

function referenceIn(item: JsonValue): string | undefined {
  return isObject(item) && item['type'] === 'item_reference' ? textOf(item['id']) : undefined;
}

function itemFor(item: JsonValue, known: ReadonlyMap<string, JsonObject>): JsonValue {
  const id = referenceIn(item);
  return (id === undefined ? undefined : known.get(id)) ?? item;
}

function tooLarge(limit: number): Error {
  const setting = ' (server.body_limit), with the items that it names';
  return refusal('body_too_large', { param: 'input', fill: { limit, setting } });
}
