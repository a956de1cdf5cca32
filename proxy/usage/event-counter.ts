// Counts the events of a stream whose bytes pass by: as a rule each is a token, which is all one knows when nobody reports usage.

const newline = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const bracket = 0x5b;
const letterD = 0x64;
const colon = 0x3a;

export interface EventCounter {
  /** Sees the next bytes, cut anywhere but inside a line's first few bytes. */
  push(bytes: Buffer): void;
  /** Events with data so far, but for the terminal `[DONE]`. */
  count(): number;
}

/** A counter that has seen nothing. */
export function createEventCounter(): EventCounter {
  let count = 0;
  let isCounted = false;
  let insideLine = false;
  return {
    push(bytes) {
      let at = insideLine ? bytes.indexOf(newline) + 1 : 0;
      if (insideLine && at === 0) return;
      // One search per line: an event has two, and the empty one is seen without a search.
      while (at < bytes.length) {
        const first = bytes[at];
        if (first === newline) {
          isCounted = false;
          at += 1;
          continue;
        }
        if (first === carriageReturn && bytes[at + 1] === newline) {
          isCounted = false;
          at += 2;
          continue;
        }
        if (!isCounted && isData(bytes, at)) {
          isCounted = true;
          count += 1;
        }
        at = bytes.indexOf(newline, at) + 1;
        if (at === 0) break;
      }
      insideLine = at === 0;
    },
    count: () => count,
  };
}

/**
 * Whether the line at `at` is data, other than `[DONE]`: no other field has a name of four letters that begins so, and no provider's
 * data begins with another list.
 */
function isData(bytes: Buffer, at: number): boolean {
  if (bytes[at] !== letterD || bytes[at + 4] !== colon) return false;
  const value = bytes[at + 5];
  return (value === blank ? bytes[at + 6] : value) !== bracket;
}
