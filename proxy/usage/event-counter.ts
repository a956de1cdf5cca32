// Counts the events of a stream whose bytes pass by: as a rule each is a token, which is all one knows when nobody reports usage.

const newline = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const bracket = 0x5b;
const letterD = 0x64;
const colon = 0x3a;

export interface EventCounter {
  /** Sees the next bytes, cut anywhere but inside a line's first few bytes. `hasReturns`: whether a CR is among them, if that is known. */
  push(bytes: Buffer, hasReturns?: boolean): void;
  /** Events with data so far, but for the terminal `[DONE]`. */
  count(): number;
}

/** A counter that has seen nothing. Lines end with LF, CR or CRLF. */
export function createEventCounter(): EventCounter {
  let count = 0;
  let isCounted = false;
  let insideLine = false;
  let lastByte: number | undefined;
  return {
    push(bytes, hasReturns = bytes.includes(carriageReturn)) {
      const { length } = bytes;
      let before = lastByte;
      if (length > 0) lastByte = bytes[length - 1];
      // Line ends are searched natively; of the two only the newline, as long as nothing else is there.
      let at = 0;
      while (at < length) {
        const first = bytes[at];
        if (!insideLine && (first === newline || first === carriageReturn)) {
          // The newline of a CRLF is no line of its own.
          if (first === carriageReturn || before !== carriageReturn) isCounted = false;
          before = first;
          at += 1;
          continue;
        }
        if (!(insideLine || isCounted) && isData(bytes, at)) {
          isCounted = true;
          count += 1;
        }
        const end = hasReturns ? lineEnd(bytes, at) : bytes.indexOf(newline, at);
        insideLine = end === -1;
        if (insideLine) return;
        before = bytes[end];
        at = end + 1;
      }
    },
    count: () => count,
  };
}

/** The offset of the first CR or LF from `from` on; -1 when there is none. */
function lineEnd(bytes: Buffer, from: number): number {
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === newline || byte === carriageReturn) return at;
  }
  return -1;
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
