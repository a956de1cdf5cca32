// Finds the end of one HTTP/1.1 answer in the pieces a socket delivers, and counts the events of a stream on the way.

/** What is known after a piece: `more` must come, the answer is `complete`, or it is `broken` (not HTTP as expected). */
export type Progress = 'more' | 'complete' | 'broken';

const HEAD_END = Buffer.from('\r\n\r\n');
const MARK = 'data: ';
const FINAL_CHUNK = '\r\n0\r\n\r\n';

/** One answer at a time: `begin` before each request, `take` for each piece. It keeps no reference to a piece. */
export class AnswerReader {
  /** 0 until the head is complete. */
  status = 0;
  events = 0;
  bytes = 0;
  #head: Buffer | undefined;
  /** Bytes of the body that are still to come; undefined: the body is chunked. */
  #left: number | undefined = 0;
  #isStream = false;
  #carry = '';

  begin(): void {
    this.status = 0;
    this.events = 0;
    this.bytes = 0;
    this.#head = undefined;
    this.#carry = '';
  }

  take(piece: Buffer): Progress {
    this.bytes += piece.length;
    return this.status === 0 ? this.#takeHead(piece) : this.#takeBody(piece);
  }

  #takeHead(piece: Buffer): Progress {
    const whole = this.#head === undefined ? piece : Buffer.concat([this.#head, piece]);
    const end = whole.indexOf(HEAD_END);
    if (end < 0) {
      this.#head = Buffer.from(whole);
      return 'more';
    }
    const head = whole.toString('latin1', 0, end + 2).toLowerCase();
    const status = head.startsWith('http/1.1 ') ? Number(head.slice(9, 12)) : 0;
    const body = whole.subarray(end + HEAD_END.length);
    if (!(status >= 100)) return 'broken';
    if (status < 200) {
      this.#head = undefined;
      return body.length === 0 ? 'more' : this.#takeHead(body);
    }
    this.status = status;
    this.#isStream = head.includes('\r\ncontent-type: text/event-stream');
    const at = head.indexOf('\r\ncontent-length:');
    if (at >= 0) this.#left = Number(head.slice(at + 17, head.indexOf('\r\n', at + 17)));
    else if (head.includes('\r\ntransfer-encoding: chunked')) this.#left = undefined;
    else return 'broken';
    return this.#takeBody(body);
  }

  #takeBody(piece: Buffer): Progress {
    if (this.#isStream || this.#left === undefined) this.#countEvents(piece);
    if (this.#left === undefined) return this.#carry === FINAL_CHUNK ? 'complete' : 'more';
    this.#left -= piece.length;
    return this.#left > 0 ? 'more' : this.#left === 0 ? 'complete' : 'broken';
  }

  // Nothing is pipelined, so a chunked body is complete when it ends with the final chunk; no event of ours contains these bytes.
  #countEvents(piece: Buffer): void {
    const carry = this.#carry;
    const text = carry + piece.toString('latin1');
    // The carry lets a mark or an end cut in two be found; a mark that lay wholly in it was counted before.
    let from = text.indexOf(MARK, Math.max(0, carry.length - MARK.length + 1));
    for (; from >= 0; from = text.indexOf(MARK, from + MARK.length)) this.events += 1;
    this.#carry = text.slice(-FINAL_CHUNK.length);
  }
}
