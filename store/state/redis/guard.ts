// Checks the replies of a server byte by byte before the client parses them: the client allocates any length that a reply announces.

/** Of one reply. Ours are read in portions of at most about half of it; text and copies take about four times as much memory. */
export const mostReplyBytes = 16 * 1024 * 1024;
/** Values in one reply, those inside others included. The largest portion asked for has some 2,000. */
export const mostReplyValues = 65_536;

const [carriageReturn, lineFeed, minus, zero, nine] = [0x0d, 0x0a, 0x2d, 0x30, 0x39];
const [simple, failure, integer, double, truth, nothing] = [0x2b, 0x2d, 0x3a, 0x2c, 0x23, 0x5f];
const [text, verbatim, list, push, map] = [0x24, 0x3d, 0x2a, 0x3e, 0x25];

/** Types whose line is all there is; those of a length in bytes; those of a number of values. Others no answer to us has. */
const inLine: ReadonlySet<number> = new Set([simple, failure, integer, double, truth, nothing]);
const inBytes: ReadonlySet<number> = new Set([text, verbatim]);
const inValues: ReadonlySet<number> = new Set([list, push, map]);

/** Of an error or a status, and of a length: those of Redis are much shorter. */
const mostLineBytes = 65_536;
const mostDigits = 9;
/** `txt:` before a verbatim text. */
const verbatimHead = 4;

const foreign = 'it answered something else than the protocol of Redis';

/** The server answered what cannot be an answer. */
export class AbsurdAnswer extends Error {}

/**
 * Follows the replies of one connection (RESP2 and RESP3). It is strict where the client skips bytes unread, so that both
 * always agree on where a value begins.
 */
export class ReplyGuard {
  /** Of the reply that is coming in, up to the chunk at hand. */
  #bytes = 0;
  #values = 0;
  /** Values that must come before the reply is complete. */
  #missing = 1;
  /** Of the value whose line is being read; 0 between values. */
  #type = 0;
  #lineBytes = 0;
  #digits = 0;
  #number = 0;
  #isNegative = false;
  #isLineEnding = false;
  /** Bytes of a text that are still to come, its line ending included. */
  #rest = 0;

  /** Call it with everything the server sends, in order. Gives what is wrong with it: then the connection is of no more use. */
  take(chunk: Uint8Array): string | undefined {
    let start = 0;
    for (let at = 0; at < chunk.length; ) {
      if (this.#rest > 0) {
        const step = Math.min(this.#rest, chunk.length - at);
        at += step;
        this.#rest -= step;
        if (this.#rest === 0) this.#missing -= 1;
      } else if (this.#type === 0) {
        this.#begin(chunk[at] ?? 0);
        at += 1;
        if (this.#type === 0) return foreign;
      } else {
        const problem = this.#line(chunk[at] ?? 0);
        at += 1;
        if (problem !== undefined) return problem;
      }
      if (this.#bytes + at - start + this.#rest > mostReplyBytes) {
        return `its answer is larger than ${mostReplyBytes} bytes`;
      }
      if (this.#values > mostReplyValues) return `its answer has more than ${mostReplyValues} values`;
      if (this.#missing > 0) continue;
      start = at;
      this.#bytes = 0;
      this.#values = 0;
      this.#missing = 1;
    }
    this.#bytes += chunk.length - start;
    return undefined;
  }

  #begin(type: number): void {
    if (!inLine.has(type) && !inBytes.has(type) && !inValues.has(type)) return;
    this.#type = type;
    this.#lineBytes = 0;
    this.#digits = 0;
    this.#number = 0;
    this.#isNegative = false;
  }

  #line(byte: number): string | undefined {
    if (this.#isLineEnding) return byte === lineFeed ? this.#endLine() : foreign;
    if (byte === carriageReturn) {
      this.#isLineEnding = true;
      return undefined;
    }
    this.#lineBytes += 1;
    if (this.#lineBytes > mostLineBytes || this.#digits >= mostDigits) return 'its answer has a line without end';
    if (inLine.has(this.#type)) return this.#type === nothing ? foreign : undefined;
    if (byte === minus && this.#digits === 0 && !this.#isNegative) {
      this.#isNegative = true;
      return undefined;
    }
    if (byte < zero || byte > nine) return foreign;
    this.#digits += 1;
    this.#number = this.#number * 10 + byte - zero;
    return undefined;
  }

  #endLine(): string | undefined {
    const [type, count] = [this.#type, this.#number];
    this.#type = 0;
    this.#isLineEnding = false;
    if (inLine.has(type)) {
      // The client skips one character, whatever is there.
      if (type === truth && this.#lineBytes !== 1) return foreign;
      this.#missing -= 1;
      return undefined;
    }
    if (this.#digits === 0) return foreign;
    if (this.#isNegative) {
      // "There is none", which only the older protocol says so.
      if (count !== 1 || this.#digits !== 1 || (type !== text && type !== list)) return foreign;
      this.#missing -= 1;
      return undefined;
    }
    if (inBytes.has(type)) {
      if (type === verbatim && count < verbatimHead) return foreign;
      this.#rest = count + 2;
      return undefined;
    }
    const values = type === map ? 2 * count : count;
    this.#values += values;
    this.#missing += values - 1;
    return undefined;
  }
}
