// What a model says in one answer, in no format's words, and the pace at which it comes, as arbitraries of fast-check.
import * as fc from 'fast-check';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { HeardTool } from './heard.ts';
import { input, numbered, words } from './talk.ts';

/** A call of the tool with this number among those that the provider heard of. */
export interface SaidCall {
  readonly kind: 'call';
  /** Undefined: the provider gives none, where it may. */
  readonly id: string | undefined;
  readonly tool: number;
  readonly input: JsonObject;
  /** Proof of the thoughts before it, as Google gives one. */
  readonly proof: string | undefined;
}

export interface SaidThought {
  readonly kind: 'thought';
  readonly text: string;
  readonly proof: string;
}

export interface SaidText {
  readonly kind: 'text' | 'refusal';
  readonly text: string;
}

export type SaidPart = SaidCall | SaidThought | SaidText;

export interface SaidAnswer {
  readonly id: string;
  readonly parts: readonly SaidPart[];
  readonly isCut: boolean;
  readonly usage: { readonly input: number; readonly output: number; readonly cached: number };
}

/** How a stream comes: lengths of its pieces of text and of its chunks of bytes, each list in turn, and whether its parts come at the same time. */
export interface Pace {
  readonly pieces: readonly number[];
  readonly chunks: readonly number[];
  readonly isInterleaved: boolean;
}

const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });
const hole = fc.constant('@@');

const part: fc.Arbitrary<SaidPart> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record<SaidText>({ kind: fc.constant('text'), text: fc.oneof(words, words, fc.constant('')) }),
  },
  { weight: 1, arbitrary: fc.record<SaidText>({ kind: fc.constant('refusal'), text: words }) },
  {
    weight: 3,
    arbitrary: fc.record<SaidThought>({
      kind: fc.constant('thought'),
      text: fc.oneof(words, words, fc.constant('')),
      proof: hole,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record<SaidCall>({
      kind: fc.constant('call'),
      id: maybe(fc.constant('call_@@')),
      tool: fc.nat(5),
      input,
      proof: maybe(hole),
    }),
  },
);

export const saidAnswer: fc.Arbitrary<SaidAnswer> = fc
  .record<SaidAnswer>({
    id: hole,
    parts: fc.array(part, { maxLength: 5 }),
    isCut: fc.boolean(),
    usage: fc.record({ input: fc.nat(100), output: fc.integer({ min: 1, max: 100 }), cached: fc.nat(10) }),
  })
  .map((said) => numbered(said, 'v'));

export const pace: fc.Arbitrary<Pace> = fc.record({
  pieces: fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 4 }),
  chunks: fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(100_000)), { minLength: 1, maxLength: 4 }),
  isInterleaved: fc.boolean(),
});

/** What is said, and in which pieces. `toolOf`: the tool that is called, as the provider knows it. */
export interface Telling {
  readonly said: SaidAnswer;
  readonly toolOf: (call: SaidCall) => HeardTool;
  readonly pace: Pace;
}

export function isCall(said: SaidPart): said is SaidCall {
  return said.kind === 'call';
}

export function isThought(said: SaidPart): said is SaidThought {
  return said.kind === 'thought';
}

/** What is spoken: texts and refusals. */
export function isSpoken(said: SaidPart): said is SaidText {
  return said.kind === 'text' || said.kind === 'refusal';
}

/** A text in pieces, none of which cuts a character. */
export function cut(text: string, { pieces }: Pace): readonly string[] {
  const all = Array.from(text);
  const found: string[] = [];
  for (let at = 0, turn = 0; at < all.length; turn += 1) {
    const length = pieces[turn % pieces.length] ?? 1;
    found.push(all.slice(at, at + length).join(''));
    at += length;
  }
  return found;
}

/** The lists one after the other, or in turns where they interleave. Those of one list keep their order. */
export function woven<T>(lists: readonly (readonly T[])[], { isInterleaved }: Pace): readonly T[] {
  if (!isInterleaved) return lists.flat();
  const longest = Math.max(0, ...lists.map((each) => each.length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((each) => each.slice(at, at + 1))).flat();
}

export const json = JSON.stringify;
export const model = 'far-model';

/** Events of a stream that are named by their type. */
export function namedEvents(events: readonly JsonObject[]): Buffer {
  return Buffer.from(events.map((event) => `event: ${textIn(event, 'type')}\ndata: ${json(event)}\n\n`).join(''));
}

/** A text that stands there. */
export function textIn(object: JsonObject, key: string): string {
  const text = object[key];
  if (typeof text !== 'string') throw new Error(`${key} is no text`);
  return text;
}
