// Which stored objects a body refers to, whatever it is: JSON, lines of JSON, or a form whose fields and files are read alike.

import { FormReader, type FormTaker, type PartHead } from '../../call/form-reader.ts';
import { refusal } from '../../errors.ts';
import { foldedName } from './families.ts';
import { JsonReferences, type Reference, referencesIn } from './json-references.ts';
import { PairReader } from './pair-reader.ts';

/** Takes a body piece by piece; the pieces may change behind it. */
export interface ReferenceReader {
  /** Throws the Refusal of a body that cannot be read in one way alone. */
  push(piece: Buffer): void;
  /** All of it has come. Throws as `push`. */
  end(): void;
  /** The references that were found since the last call. */
  take(): readonly Reference[];
  /** It asks for objects of all callers. */
  readonly asksForAll: boolean;
}

/** Longest field of a form that is an id. Bytes. */
const longestField = 1024;
const [openBrace, openBracket] = [0x7b, 0x5b];
const lineEnd = 0x0a;
/** Bytes that are part of a mark of byte order. */
const byteOrderMarks: ReadonlySet<number> = new Set([0xef, 0xbb, 0xbf, 0xfe, 0xff]);
/** In front of JSON, they say that its characters take two bytes or more. */
const wideMarks: ReadonlySet<number> = new Set([0, 0xfe, 0xff]);
const nothing: Buffer = Buffer.alloc(0);
const boundaries = /\bboundary[ \t]*=/gi;
const formType =
  /^multipart\/form-data[ \t]*;(?:[^"]*;)?[ \t]*boundary=(?:"([^"\\\r\n]{1,70})"|([^\s;"]{1,70}))[ \t]*(?:;[^"]*)?$/i;

/**
 * `contentType`: as the client names it. `isFile`: it is a file, whose lines each are read by themselves. Throws 400 `invalid_upload` for a form
 * that is not written as `multipart/form-data`.
 */
export function referencesOfBody(contentType: string | undefined, isFile = false): ReferenceReader {
  const type = (contentType ?? '').trim().toLowerCase();
  if (type.startsWith('multipart/')) return new FormReferences(boundaryOf(contentType));
  if (type.startsWith('application/x-www-form-urlencoded')) return new PairReferences();
  return isFile ? new FileReferences() : new TextReferences();
}

function boundaryOf(contentType: string | undefined): string {
  const [, quoted, plain] = formType.exec(contentType?.trim() ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary !== undefined && contentType?.match(boundaries)?.length === 1) return boundary;
  throw refusal('invalid_upload', { fill: { reason: 'send it as multipart/form-data with a boundary' } });
}

/** JSON, or lines of it; anything else has no members. */
class TextReferences implements ReferenceReader {
  readonly #json = new JsonReferences();
  #state: 'begin' | 'json' | 'other' = 'begin';
  #begin: Buffer = nothing;
  #isWide = false;

  get asksForAll(): boolean {
    return this.#json.asksForAll;
  }

  push(piece: Buffer): void {
    if (this.#state === 'json') this.#json.push(piece);
    else if (this.#state === 'begin')
      this.#start(this.#begin.length === 0 ? piece : Buffer.concat([this.#begin, piece]));
  }

  end(): void {
    if (this.#state === 'json') this.#json.end();
  }

  take(): readonly Reference[] {
    return takenFrom(this.#json);
  }

  /** Skips blanks, marks of byte order and zeros. */
  #start(begin: Buffer): void {
    let at = 0;
    for (; at < begin.length && isBlank(begin[at] as number); at += 1)
      this.#isWide ||= wideMarks.has(begin[at] as number);
    const [first, second] = [begin[at], begin[at + 1]];
    const opensJson = first === openBrace || first === openBracket;
    // The byte behind it has to be seen, too.
    this.#begin = opensJson && second === undefined ? Buffer.from(begin.subarray(at)) : nothing;
    if (first === undefined || (opensJson && second === undefined)) return;
    this.#state = opensJson ? 'json' : 'other';
    if (!opensJson) return;
    // JSON has no zero bytes, and 16 bits for a character would be read by some.
    if (this.#isWide || second === 0) throw refusal('invalid_json', { fill: { reason: 'it is not UTF-8' } });
    this.#json.push(begin.subarray(at));
  }
}

function isBlank(byte: number): boolean {
  return byte <= 0x20 || byteOrderMarks.has(byte);
}

/** Lines of JSON: what stands in one is nothing to another, even if it breaks off. */
class LineReferences implements ReferenceReader {
  readonly #json = new JsonReferences();
  #isBegun = false;

  get asksForAll(): boolean {
    return this.#json.asksForAll;
  }

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length; at += 1) {
      // Of line ends in a row the first one ends a line.
      if (piece[at] === lineEnd && !this.#isBegun) continue;
      const end = piece.indexOf(lineEnd, at);
      this.#json.push(piece.subarray(at, end === -1 ? piece.length : end));
      this.#isBegun = end === -1;
      if (this.#isBegun) return;
      this.#json.end();
      at = end;
    }
  }

  end(): void {
    this.#json.end();
  }

  take(): readonly Reference[] {
    return takenFrom(this.#json);
  }
}

/** A file: it may be JSON, and lines of it. */
class FileReferences implements ReferenceReader {
  readonly #readers: readonly ReferenceReader[] = [new TextReferences(), new LineReferences()];

  get asksForAll(): boolean {
    return this.#readers.some((reader) => reader.asksForAll);
  }

  push(piece: Buffer): void {
    for (const reader of this.#readers) reader.push(piece);
  }

  end(): void {
    for (const reader of this.#readers) reader.end();
  }

  take(): readonly Reference[] {
    return this.#readers.flatMap((reader) => reader.take());
  }
}

function takenFrom(json: JsonReferences): readonly Reference[] {
  if (json.isTooMany) throw refusal('too_many_objects');
  return json.found.splice(0);
}

/** An encoded form, or JSON that is only called one, as some clients do: a lenient provider reads it. */
class PairReferences implements ReferenceReader {
  readonly #text = new TextReferences();
  readonly #pairs = new PairReader();

  get asksForAll(): boolean {
    return this.#text.asksForAll;
  }

  push(piece: Buffer): void {
    this.#text.push(piece);
    this.#pairs.push(piece);
  }

  end(): void {
    this.#text.end();
    this.#pairs.end();
  }

  take(): readonly Reference[] {
    return [...this.#text.take(), ...this.#pairs.found.splice(0)];
  }
}

/** A form: fields name objects by their names, and a file of a batch is what its lines say. */
class FormReferences implements ReferenceReader, FormTaker {
  readonly #reader: FormReader;
  #part: PartHead | undefined;
  #text: ReferenceReader = new TextReferences();
  #value: Buffer = nothing;
  #found: Reference[] = [];
  /** In files, while it is not known what they are for. */
  #inFiles: Reference[] = [];
  #purpose: string | undefined;
  asksForAll = false;

  constructor(boundary: string) {
    this.#reader = new FormReader(boundary, this);
  }

  push(piece: Buffer): void {
    this.#reader.push(piece);
  }

  end(): void {
    this.#reader.finish();
  }

  take(): readonly Reference[] {
    this.#drain();
    return this.#found.splice(0);
  }

  beginPart(part: PartHead): void {
    this.#part = part;
    this.#text = part.isFile ? new FileReferences() : new TextReferences();
    this.#value = nothing;
  }

  takeContent(bytes: Buffer): void {
    // Of a file that is no batch, no provider obeys what it says.
    if (this.#part?.isFile === true && this.#purpose !== undefined && !isBatch(this.#purpose)) return;
    this.#text.push(bytes);
    if (this.#part?.isFile === false && this.#value.length <= longestField)
      this.#value = Buffer.concat([this.#value, bytes.subarray(0, longestField + 1)]);
  }

  endPart(): void {
    this.#text.end();
    this.#drain();
    const { name = '', isFile = true } = this.#part ?? {};
    this.asksForAll ||= this.#text.asksForAll;
    if (!isFile) this.#takeField(name.toLowerCase(), this.#value.toString());
    this.#part = undefined;
    this.#text = new TextReferences();
  }

  endForm(): void {
    if (isBatch(this.#purpose)) this.#found.push(...this.#inFiles.splice(0));
  }

  #takeField(name: string, value: string): void {
    if (foldedName(name) === 'purpose') {
      if (this.#purpose !== undefined) throw refusal('invalid_upload', { fill: { reason: 'it has two purposes' } });
      this.#purpose = value;
    }
    for (const reference of referencesIn(name, value)) this.#found.push(reference);
  }

  #drain(): void {
    const found = this.#text.take();
    if (this.#part?.isFile !== true) {
      for (const reference of found) this.#found.push(reference);
      return;
    }
    if (this.#purpose !== undefined && !isBatch(this.#purpose)) return;
    const into = this.#purpose === undefined ? this.#inFiles : this.#found;
    for (const reference of found) into.push(reference);
    if (this.#inFiles.length > longestField)
      throw refusal('invalid_upload', { fill: { reason: 'the part "purpose" must stand before such a file' } });
  }
}

function isBatch(purpose: string | undefined): boolean {
  return /batch/i.test(purpose ?? '');
}
