// Bodies and events in which something is not as its format has it: members are missing, or of another kind.
import * as fc from 'fast-check';
import type { JsonObject, JsonValue } from '../../../../proxy/dialects/json/json.ts';
import { ServerEventSplitter } from '../../../../proxy/dialects/server-events.ts';
import { InvalidAnswer, type RawEvent } from '../../../../proxy/dialects/translation.ts';
import { Refusal } from '../../../../proxy/errors.ts';
import { converseFrame } from '../../../support/aws-frames.ts';
import { type Answered, streamedText, wholeBody } from './answering.ts';
import { asked, dialectOf, hasPlace, type Pair } from './asking.ts';

/** One change: which of all places of a JSON value, and what stands there then; undefined: nothing. */
interface Change {
  readonly place: number;
  readonly value: JsonValue | undefined;
}

const values: readonly (JsonValue | undefined)[] = [
  undefined,
  null,
  '',
  ' ',
  'x',
  '{"a":1}',
  0,
  -1,
  1.5,
  1e300,
  true,
  false,
  [],
  [null],
  [[]],
  {},
  { a: 1 },
  { type: 'x' },
  { type: 'text', text: null },
  { constructor: 1, toString: null, length: 3 },
];

export const changes: fc.Arbitrary<readonly Change[]> = fc.array(
  fc.record({ place: fc.nat(), value: fc.constantFrom(...values) }),
  { minLength: 1, maxLength: 3 },
);

type Holder = Record<string, unknown> | unknown[];

function placesIn(value: unknown, found: (readonly [Holder, string])[] = []): (readonly [Holder, string])[] {
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    found.push([value as Holder, key]);
    placesIn(inner, found);
  }
  return found;
}

/** A copy with these changes, one after the other. */
export function changed<T>(value: T, all: readonly Change[]): T {
  const copy = structuredClone(JSON.parse(JSON.stringify(value)) as T);
  for (const { place, value: other } of all) {
    const places = placesIn(copy);
    const found = places[place % Math.max(1, places.length)];
    if (found === undefined) continue;
    const [holder, key] = found;
    if (other !== undefined) Reflect.set(holder, key, structuredClone(other));
    else if (Array.isArray(holder)) holder.splice(Number(key), 1);
    else Reflect.deleteProperty(holder, key);
  }
  return copy;
}

/** A request is taken, or refused for something that stands in it, or is missing from what does. */
export function brokenRequestComplaints(pair: Pair, body: JsonObject): readonly string[] {
  try {
    asked(pair, body, undefined);
    return [];
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const { param, code, status } = error;
    const above = param?.replace(/(?:^|\.)[^.[\]]+$|\[\d+\]$/, '') ?? '';
    const isThere = param !== null && (hasPlace(body, param) || above === '' || hasPlace(body, above));
    // An item that is not kept cannot be referred to.
    const isKnown = status === 400 || code === 'kept_not_found';
    return isKnown && isThere ? [] : [`refused with ${status} ${code}, for ${param}, which is not in the body`];
  }
}

/** A broken answer is told, or refused as one that cannot be understood; nothing else happens. */
export function brokenAnswerComplaints(done: Answered, all: readonly Change[]): readonly string[] {
  const { pair, spoken } = done;
  try {
    wholeBody({ ...done, spoken: { ...spoken, whole: changed(spoken.whole, all) } });
  } catch (error) {
    if (!(error instanceof InvalidAnswer)) throw error;
  }
  const splitter = dialectOf(pair.provider).eventSplitter?.() ?? new ServerEventSplitter();
  const events = [...splitter.push(spoken.stream), ...splitter.end()];
  const datas = changed(
    events.map(({ data }) => (data === '[DONE]' ? data : (JSON.parse(data) as unknown))),
    all,
  );
  const stream = Buffer.concat(datas.map((data, at) => written(pair, events[at], data)));
  const told = streamedText({ ...done, spoken: { ...spoken, stream } });
  for (const line of told.text.split('\n')) {
    if (line.startsWith('data: ') && line !== 'data: [DONE]') JSON.parse(line.slice('data: '.length));
  }
  const { failure } = told;
  const isKnown =
    failure === undefined || failure.code === 'upstream_invalid_response' || failure.code === 'stream_incomplete';
  return isKnown ? [] : [`the stream ended with ${failure.code}`];
}

function written({ provider }: Pair, before: RawEvent | undefined, data: unknown): Buffer {
  if (provider === 'bedrock') return converseFrame(before?.event ?? 'x', data);
  const name = before?.event === undefined ? '' : `event: ${before.event}\n`;
  return Buffer.from(`${name}data: ${data === '[DONE]' ? data : JSON.stringify(data)}\n\n`);
}
