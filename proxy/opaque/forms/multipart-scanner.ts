// Reads a form (multipart/form-data, RFC 7578) while it passes, and finds the value of its field `model`. It keeps no more than the head of a
// part, or that value.
import { isUtf8 } from 'node:buffer';
import { refusal } from '../../errors.ts';
import { opensJson } from '../doors/opens-json.ts';
import { malformed, type PartHead, readPartHead } from './part-head.ts';

/** Where the name of the model stands. Offsets count bytes of the body. */
export interface ModelField {
  readonly start: number;
  readonly end: number;
  readonly model: string;
}

/** Longest head of a part. Bytes. */
const longestHead = 16 * 1024;
/** Longest name of a model, with room for its boundary. Bytes. */
const longestModel = 4 * 1024;
/** Most that may stand before the first part and behind the last one. Bytes. */
const longestMargin = 4 * 1024;
const mostParts = 64;
/** In characters, as of a model call in JSON. */
const maxModelLength = 1024;

const lineBreak = Buffer.from('\r\n');
const emptyLine = Buffer.from('\r\n\r\n');
const nothing: Buffer = Buffer.alloc(0);
const [lineFeed, carriageReturn, hyphen] = [0x0a, 0x0d, 0x2d];

export class MultipartScanner {
  /** Where the model stands; undefined: it has not come. */
  model: ModelField | undefined;
  /** A line that begins with the boundary. */
  readonly #delimiter: Buffer;
  readonly #named: (field: string) => void;
  #state: 'margin' | 'head' | 'content' | 'end' = 'margin';
  #part: PartHead | undefined;
  /** Not understood yet. Before the first part stands a line break that is not there. */
  #rest: Buffer = lineBreak;
  /** Where `#rest` begins. */
  #at = -lineBreak.length;
  #contentStart = -lineBreak.length;
  #parts = 0;

  /** `named` is told the name of each field but `model`. */
  constructor(boundary: string, named: (field: string) => void) {
    this.#delimiter = Buffer.from(`\n--${boundary}`, 'latin1');
    this.#named = named;
  }

  /** Throws 400 `malformed_multipart`, `invalid_model`, and `duplicate_key` for a second model. */
  push(chunk: Buffer): void {
    this.#rest = this.#joined(chunk);
    while (this.#step());
  }

  /** The body is over. Throws 400 `malformed_multipart` where its last line is missing. */
  end(): void {
    if (this.#state !== 'end') throw malformed('it ends before its last boundary');
  }

  /** Joins the rest of the last chunk with the next one. The content of a file is not copied: only the seam is looked at. */
  #joined(chunk: Buffer): Buffer {
    const rest = this.#rest;
    const { length } = this.#delimiter;
    if (rest.length === 0) return chunk;
    if (this.#state === 'content' && this.#part?.name !== 'model' && chunk.length > 2 * length) {
      const seam = Buffer.concat([rest, chunk.subarray(0, length)]);
      if (!seam.includes(this.#delimiter)) {
        this.#at += rest.length;
        return chunk;
      }
    }
    return Buffer.concat([rest, chunk]);
  }

  /** Whether there may be more to understand in what is there. */
  #step(): boolean {
    if (this.#state === 'head') return this.#readHead();
    if (this.#state === 'end') return this.#readEnd();
    return this.#readContent();
  }

  #readHead(): boolean {
    const rest = this.#rest;
    const end = rest.indexOf(emptyLine);
    if (end > longestHead || (end === -1 && rest.length > longestHead))
      throw malformed('the head of a part is too long');
    if (end === -1) return false;
    if (rest.subarray(0, end).includes(this.#delimiter.subarray(1)))
      throw malformed('a boundary stands in the head of a part');
    this.#parts += 1;
    if (this.#parts > mostParts) throw malformed(`it has more than ${mostParts} parts`);
    const part = readPartHead(rest.toString('latin1', 0, end));
    this.#part = part;
    const folded = part.name.trim().toLowerCase();
    if (folded === 'model') this.#checkModel(part);
    else this.#named(part.name);
    // The line break before the content is kept: a boundary in the very next line would be understood differently.
    this.#drop(end + lineBreak.length);
    this.#contentStart = this.#at + lineBreak.length;
    this.#state = 'content';
    return true;
  }

  #checkModel({ name, isText }: PartHead): void {
    if (this.model !== undefined) throw refusal('duplicate_key', { param: 'model', fill: { key: 'model' } });
    if (name !== 'model' || !isText) throw refusal('invalid_model', { param: 'model' });
  }

  #readContent(): boolean {
    const rest = this.#rest;
    const delimiter = this.#delimiter;
    const found = rest.indexOf(delimiter);
    this.#checkLength((found === -1 ? rest.length : found) + this.#at - this.#contentStart);
    if (found === -1) {
      this.#keepEnd();
      return false;
    }
    const behind = found + delimiter.length;
    if (rest.length < behind + 2) return false;
    const end = this.#at + found - 1;
    if (rest[found - 1] !== carriageReturn) throw malformed('a boundary has no line break of its own');
    if (end < this.#contentStart) throw malformed('a boundary stands right behind the head of a part');
    if (this.#part?.name === 'model') this.#takeModel(end);
    const isLast = rest[behind] === hyphen && rest[behind + 1] === hyphen;
    if (!isLast && (rest[behind] !== carriageReturn || rest[behind + 1] !== lineFeed))
      throw malformed('there is something behind a boundary in its line');
    this.#drop(behind + 2);
    this.#part = undefined;
    this.#state = isLast ? 'end' : 'head';
    this.#contentStart = this.#at;
    return true;
  }

  #checkLength(bytes: number): void {
    if (this.#state === 'margin' && (bytes > longestMargin || opensJson(this.#rest.subarray(0, bytes))))
      throw malformed('it does not begin with its boundary');
    if (this.#part?.name === 'model' && bytes > longestModel) throw refusal('invalid_model', { param: 'model' });
  }

  /** Forgets what cannot be the beginning of a boundary. */
  #keepEnd(): void {
    if (this.#part?.name !== 'model') this.#drop(Math.max(0, this.#rest.length - this.#delimiter.length));
  }

  #takeModel(end: number): void {
    const bytes = this.#rest.subarray(this.#contentStart - this.#at, end - this.#at);
    const model = bytes.toString('utf8');
    const isName = isUtf8(bytes) && model.trim() !== '' && model.length <= maxModelLength && !/\p{Cc}/u.test(model);
    if (!isName) throw refusal('invalid_model', { param: 'model' });
    this.model = { start: this.#contentStart, end, model };
  }

  #readEnd(): boolean {
    const isBlank = this.#rest.every((byte) => byte === carriageReturn || byte === lineFeed);
    if (!isBlank || this.#at - this.#contentStart > longestMargin)
      throw malformed('it goes on behind its last boundary');
    this.#drop(this.#rest.length);
    return false;
  }

  #drop(bytes: number): void {
    this.#rest = bytes === this.#rest.length ? nothing : this.#rest.subarray(bytes);
    this.#at += bytes;
  }
}
