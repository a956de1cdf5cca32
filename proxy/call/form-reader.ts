// Reads a form (multipart/form-data, RFC 7578) while it comes: what begins, what it holds, and where it ends. Nothing of its contents is held.
import { refusal } from '../errors.ts';

/** The head of a part. */
export interface PartHead {
  readonly name: string;
  /** It is a file. */
  readonly isFile: boolean;
  /** All its header lines, as they came, without the empty line behind them. */
  readonly lines: Buffer;
}

/** Is told of a form in its order. */
export interface FormTaker {
  beginPart(head: PartHead): void;
  /** Bytes of the part that has begun last; they do not change any more. */
  takeContent(bytes: Buffer): void;
  endPart(): void;
  /** All parts have ended. */
  endForm(): void;
}

/** Longest head of a part, in bytes, and most parts of a form. */
const mostHeadBytes = 8 * 1024;
const mostParts = 100;
const lineEnd = Buffer.from('\r\n');
const headEnd = Buffer.from('\r\n\r\n');
/** Only this spelling is accepted: two readers must not find different names. */
const disposition =
  /^form-data;[ \t]*name="([^"\\\r\n]*)"(;[ \t]*filename="(?:[^"\\\r\n]|\\.)*")?(;[ \t]*filename\*=[^;"\r\n]+)?[ \t]*$/i;

/** The boundary that a content type names. Throws 400 `invalid_upload`. */
export function boundaryOf(contentType: string | undefined): string {
  const [, quoted, plain] =
    /^multipart\/form-data[ \t]*;[ \t]*boundary=(?:"([^"\\\r\n]{1,70})"|([^\s;"]{1,70}))[ \t]*$/i.exec(
      contentType ?? '',
    ) ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw unusable('send it as multipart/form-data with a boundary');
  return boundary;
}

export class FormReader {
  readonly #delimiter: Buffer;
  readonly #taker: FormTaker;
  #state: 'content' | 'delimited' | 'head' | 'over' = 'content';
  #parts = 0;
  /**
   * The bytes that are not parsed yet: less than a head, or than a delimiter. Before the first delimiter stands an end
   * of a line, too.
   */
  #rest: Buffer = lineEnd;

  constructor(boundary: string, taker: FormTaker) {
    this.#delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1');
    this.#taker = taker;
  }

  /** Throws 400 `invalid_upload`. */
  push(chunk: Buffer): void {
    let bytes = this.#joined(chunk);
    for (;;) {
      const taken = this.#take(bytes);
      if (taken === undefined) break;
      bytes = bytes.subarray(taken);
    }
    // No more of the chunk is held than that.
    this.#rest = Buffer.from(bytes);
  }

  /** The bytes to parse now. A long chunk of contents is not copied: no delimiter begins in the rest before it. */
  #joined(chunk: Buffer): Buffer {
    const rest = this.#rest;
    if (rest.length === 0) return chunk;
    const { length } = this.#delimiter;
    const isContent = this.#state === 'content' && this.#parts > 0 && chunk.length >= length;
    const seam = isContent ? Buffer.concat([rest, chunk.subarray(0, length - 1)]) : rest;
    if (!isContent || seam.includes(this.#delimiter)) return Buffer.concat([rest, chunk]);
    this.#taker.takeContent(rest);
    return chunk;
  }

  /** All of it has come. Throws 400 `invalid_upload` for a form that breaks off. */
  finish(): void {
    if (this.#state !== 'over') throw unusable('it breaks off');
  }

  /** How many bytes were understood; undefined: more have to come. */
  #take(bytes: Buffer): number | undefined {
    if (this.#state === 'content') return this.#takeContent(bytes);
    if (this.#state === 'head') return this.#takeHead(bytes);
    if (this.#state === 'over') return bytes.length === 0 ? undefined : bytes.length;
    if (bytes.length < 2) return undefined;
    const behind = bytes.toString('latin1', 0, 2);
    if (behind === '--') {
      this.#state = 'over';
      this.#taker.endForm();
    } else if (behind === '\r\n') this.#state = 'head';
    else throw unusable('there is something behind a boundary');
    // The line end belongs to the head: so a head without lines is seen as one.
    return behind === '--' ? 2 : 0;
  }

  #takeContent(bytes: Buffer): number | undefined {
    const at = bytes.indexOf(this.#delimiter);
    const isFirst = this.#parts === 0;
    if (isFirst && at !== 0 && bytes.length >= this.#delimiter.length)
      throw unusable('it must begin with its boundary');
    if (at >= 0) {
      if (!isFirst) {
        if (at > 0) this.#taker.takeContent(bytes.subarray(0, at));
        this.#taker.endPart();
      }
      this.#state = 'delimited';
      return at + this.#delimiter.length;
    }
    const safe = bytes.length - this.#delimiter.length + 1;
    if (isFirst || safe <= 0) return undefined;
    this.#taker.takeContent(bytes.subarray(0, safe));
    return safe;
  }

  #takeHead(bytes: Buffer): number | undefined {
    const end = bytes.indexOf(headEnd);
    if (end > mostHeadBytes || (end < 0 && bytes.length > mostHeadBytes))
      throw unusable('the head of a part is too long');
    if (end < 0) return undefined;
    this.#parts += 1;
    if (this.#parts > mostParts) throw unusable(`it has more than ${mostParts} parts`);
    this.#state = 'content';
    this.#taker.beginPart(readPartHead(Buffer.from(bytes.subarray(lineEnd.length, Math.max(end, lineEnd.length)))));
    return end + headEnd.length;
  }
}

function readPartHead(lines: Buffer): PartHead {
  const found: RegExpExecArray[] = [];
  for (const line of lines.toString('latin1').split('\r\n')) {
    const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)$/.exec(line) ?? [];
    if (name === '') throw unusable('a header of a part is malformed');
    if (name.toLowerCase() === 'content-transfer-encoding' && !/^(binary|8bit|7bit)[ \t]*$/i.test(value)) {
      throw unusable('a part has a Content-Transfer-Encoding');
    }
    if (name.toLowerCase() !== 'content-disposition') continue;
    const read = disposition.exec(value);
    if (read === null) throw unusable('a Content-Disposition is not written as form-data; name="..."');
    found.push(read);
  }
  const [only] = found;
  if (only === undefined || found.length > 1) throw unusable('each part needs one Content-Disposition');
  return { name: only[1] ?? '', isFile: only[2] !== undefined || only[3] !== undefined, lines };
}

function unusable(reason: string): Error {
  return refusal('invalid_upload', { fill: { reason } });
}
