// Counts the events of a stream as its bytes pass. Usually each is one token: the estimate for a provider that reports no usage.

const newline = 0x0a;
const carriageReturn = 0x0d;
const blank = 0x20;
const bracket = 0x5b;
const letterD = 0x64;
const colon = 0x3a;

/** Sees the bytes of one stream pass. Lines end with LF, CR or CRLF. */
export class EventCounter {
  /** Events with data so far, but for the terminal `[DONE]`. */
  count = 0;
  #isCounted = false;
  #insideLine = false;
  #lastByte: number | undefined;

  /** Sees the next bytes, cut anywhere but inside a line's first few bytes. `hasReturns`: whether a CR is among them, if that is known. */
  push(bytes: Buffer, hasReturns: boolean = bytes.includes(carriageReturn)): void {
    const { length } = bytes;
    let before = this.#lastByte;
    if (length > 0) this.#lastByte = bytes[length - 1];
    // Line ends are searched natively; of the two only the newline, as long as nothing else is there.
    let at = 0;
    while (at < length) {
      const first = bytes[at];
      if (!this.#insideLine && (first === newline || first === carriageReturn)) {
        // The newline of a CRLF is no line of its own.
        if (first === carriageReturn || before !== carriageReturn) this.#isCounted = false;
        before = first;
        at += 1;
        continue;
      }
      if (!(this.#insideLine || this.#isCounted) && isData(bytes, at)) {
        this.#isCounted = true;
        this.count += 1;
      }
      const end = hasReturns ? lineEnd(bytes, at) : bytes.indexOf(newline, at);
      this.#insideLine = end === -1;
      if (this.#insideLine) return;
      before = bytes[end];
      at = end + 1;
    }
  }
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
