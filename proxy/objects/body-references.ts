// Which stored objects a body refers to, whatever it is: JSON, lines of JSON, or a form whose fields and files are read alike.

import { FormReader, type FormTaker, type PartHead } from '../call/form-reader.ts';
import { refusal } from '../errors.ts';
import { JsonReferences, type Reference, referencesIn } from './json-references.ts';

/** Takes a body piece by piece; the pieces may change behind it. */
export interface ReferenceReader {
  /** Throws the Refusal of a body that cannot be read in one way alone. */
  push(piece: Buffer): void;
  /** All of it has come. Throws as `push`. */
  end(): void;
  /** What has been found since it was last asked. */
  take(): readonly Reference[];
  /** It asks for objects of all callers. */
  readonly asksForAll: boolean;
}

/** Longest field of a form that is an id, and longest encoded form. Bytes. */
const longestField = 1024;
const longestForm = 1024 * 1024;
const [openBrace, openBracket] = [0x7b, 0x5b];
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const nothing: Buffer = Buffer.alloc(0);
const boundaries = /\bboundary[ \t]*=/gi;
const formType =
  /^multipart\/form-data[ \t]*;(?:[^"]*;)?[ \t]*boundary=(?:"([^"\\\r\n]{1,70})"|([^\s;"]{1,70}))[ \t]*(?:;[^"]*)?$/i;

/** `contentType`: as the client names it. Throws 400 `invalid_upload` for a form that is not written as `multipart/form-data`. */
export function referencesOfBody(contentType: string | undefined): ReferenceReader {
  const type = (contentType ?? '').trim().toLowerCase();
  if (type.startsWith('multipart/')) return new FormReferences(boundaryOf(contentType));
  if (type.startsWith('application/x-www-form-urlencoded')) return new PairReferences();
  return new TextReferences();
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

  get asksForAll(): boolean {
    return this.#json.asksForAll;
  }

  push(piece: Buffer): void {
    if (this.#state === 'json') this.#json.push(piece);
    else if (this.#state === 'begin') this.#start(Buffer.concat([this.#begin, piece]));
  }

  end(): void {
    if (this.#state === 'json') this.#json.end();
  }

  take(): readonly Reference[] {
    if (this.#json.isTooMany) throw refusal('too_many_objects');
    return this.#json.found.splice(0);
  }

  #start(begin: Buffer): void {
    const at = startOf(begin);
    if (at === undefined) {
      this.#begin = Buffer.from(begin);
      return;
    }
    this.#begin = nothing;
    const first = begin[at];
    this.#state = first === openBrace || first === openBracket ? 'json' : 'other';
    // JSON has no zero bytes, and 16 bits for a character would be read by some.
    if (isWide(begin)) throw refusal('invalid_json', { fill: { reason: 'it is not UTF-8' } });
    if (this.#state === 'json') this.#json.push(begin.subarray(at));
  }
}

/** Where something else than blanks begins; undefined: it has not come. */
function startOf(bytes: Buffer): number | undefined {
  let at = bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0;
  while (at < bytes.length && (bytes[at] as number) <= 0x20 && bytes[at] !== 0) at += 1;
  return at === bytes.length || bytes.length < 4 ? undefined : at;
}

function isWide(bytes: Buffer): boolean {
  const start = bytes.subarray(0, 4);
  const isMarked = (start[0] === 0xfe && start[1] === 0xff) || (start[0] === 0xff && start[1] === 0xfe);
  const isBraced = start.includes(openBrace) || start.includes(openBracket);
  return isMarked || (isBraced && start.includes(0));
}

/** An encoded form. */
class PairReferences implements ReferenceReader {
  readonly asksForAll = false;
  readonly #pieces: Buffer[] = [];
  #length = 0;
  #found: Reference[] = [];

  push(piece: Buffer): void {
    this.#length += piece.length;
    if (this.#length > longestForm)
      throw refusal('body_too_large', { fill: { limit: longestForm, setting: ', as an encoded form' } });
    this.#pieces.push(Buffer.from(piece));
  }

  end(): void {
    this.#found = referencesOfQuery(Buffer.concat(this.#pieces).toString('latin1'));
  }

  take(): readonly Reference[] {
    return this.#found.splice(0);
  }
}

/** What the parameters of a query refer to. */
export function referencesOfQuery(query: string): Reference[] {
  return [...new URLSearchParams(query)].flatMap(([name, value]) => referencesIn(name, value));
}

/** A form: fields name objects by their names, and a file of a batch is what its lines say. */
class FormReferences implements ReferenceReader, FormTaker {
  readonly #reader: FormReader;
  #part: PartHead | undefined;
  #text: TextReferences = new TextReferences();
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
    this.#text = new TextReferences();
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
    if (name === 'purpose') {
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
