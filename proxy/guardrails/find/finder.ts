// Finds what a guardrail looks for, in a text that is there and in one that still comes.

/** Characters that most finders read in some milliseconds. */
export const usualSlice = 32_768;

/** A finding, from `start` to before `end`: offsets in the text, in UTF-16 code units. */
export interface Found {
  readonly start: number;
  readonly end: number;
  /** Its category, such as `card`. */
  readonly reason: string;
}

/** Looks for one kind of thing. Compiled once; it keeps nothing of a text. */
export interface Finder {
  /** Something found spans so many characters at most; of a longer one the first part is found. */
  readonly window: number;
  /** The number of characters that are read without a pause: some milliseconds, in the worst case some tens of them. */
  readonly slice: number;
  /** It may find something only where a text begins or ends, so each string of JSON is searched by itself. */
  readonly isAnchored: boolean;
  /** Whether there may be something in the text; false is certain. Fast. */
  mayFind(text: string): boolean;
  /** The first at or behind `from`; undefined: none. The text ends where it ends. */
  find(text: string, from: number): Found | undefined;
  /** Follows a text character by character. */
  follow(): Follower;
}

/** Knows at each moment what may be found in the characters so far, and in those with what is to come. */
export interface Follower {
  /** The offset where the earliest thing begins that is not over yet; Infinity: none. */
  readonly begun: number;
  /** The offset where the earliest thing begins that is complete; Infinity: none. */
  readonly complete: number;
  /** Begins anew; `before`: the code point in front, -1 at the beginning of the text. */
  reset(before: number): void;
  /** The next code point, and the offset where it stands. */
  step(code: number, at: number): void;
}

/** How many characters of a text a code point takes. */
export function widthOf(code: number): number {
  return code > 0xffff ? 2 : 1;
}

/**
 * The code point at an offset; half of one where the text has no more. `codePointAt` of a text that was cut from another one may read
 * behind its end: a fault of V8's Maglev compiler, seen with Node 24.18 and 26.10.
 */
export function codeAt(text: string, at: number): number {
  const high = text.charCodeAt(at);
  if ((high & 0xfc00) !== 0xd800 || at + 1 >= text.length) return high;
  const low = text.charCodeAt(at + 1);
  return (low & 0xfc00) === 0xdc00 ? (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000 : high;
}

/** The code point that ends at an offset; -1 at the beginning. */
export function codeBefore(text: string, at: number): number {
  if (at === 0) return -1;
  const low = text.charCodeAt(at - 1);
  const isPair = low >= 0xdc00 && low <= 0xdfff && at > 1 && (text.charCodeAt(at - 2) & 0xfc00) === 0xd800;
  return isPair ? codeAt(text, at - 2) : low;
}
