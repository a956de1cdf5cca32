// The form of an upload on its way to a provider: without the field that names the provider, and with the models of a batch as that
// provider knows them. Only short fields, and one line of a batch, are held.
import { Transform, type TransformCallback } from 'node:stream';
import { FormReader, type FormTaker, type PartHead } from '../call/form-reader.ts';
import { Refusal, refusal } from '../errors.ts';
import { BatchLines, isBatchLine, type NameModel } from './batch-lines.ts';

/** What is known when the file begins. */
export interface UploadStart {
  /** As the form names it before the file. */
  readonly provider: string | undefined;
}

export interface UploadOptions {
  readonly boundary: string;
  /** The file begins: gives how models are named. Throws a Refusal. */
  readonly begun: (start: UploadStart) => NameModel;
  /** What has come is of no use. */
  readonly failed: (error: Refusal) => void;
}

/** Longest of all fields before the file together, and longest value that is looked at. Bytes. */
const mostFieldBytes = 32 * 1024;
const mostValueBytes = 256;
/** So much of a file is looked at to see whether it is a batch, where its purpose is not said yet. Bytes. */
const mostFirstLine = 1024 * 1024;

/** How a file passes. `unknown`: its first line is awaited. */
type Passage = 'as_it_is' | 'by_lines' | 'unknown';

export class UploadForm extends Transform implements FormTaker {
  readonly #options: UploadOptions;
  readonly #reader: FormReader;
  #provider: string | undefined;
  #purpose: string | undefined;
  #part: PartHead | undefined;
  #value: Buffer[] = [];
  #valueBytes = 0;
  #fieldBytes = 0;
  #nameModel: NameModel | undefined;
  #passage: Passage = 'as_it_is';
  #lines: BatchLines | undefined;

  constructor(options: UploadOptions) {
    super();
    this.#options = options;
    this.#reader = new FormReader(options.boundary, this);
    // Who destroys it says elsewhere why.
    this.on('error', () => undefined);
  }

  /** Every line of the file was read as a call. */
  get isBatchInput(): boolean {
    return this.#lines !== undefined && this.#purpose === 'batch';
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#try(() => this.#reader.push(chunk), done);
  }

  override _flush(done: TransformCallback): void {
    this.#try(() => this.#reader.finish(), done);
  }

  beginPart(part: PartHead): void {
    const { name, isFile } = part;
    this.#part = part;
    this.#value = [];
    this.#valueBytes = 0;
    if (name === 'file') {
      if (this.#nameModel !== undefined) throw unusable('it has two files');
      this.#nameModel = this.#options.begun({ provider: this.#provider });
      const unsaid = this.#purpose === undefined ? 'unknown' : 'as_it_is';
      this.#passage = this.#purpose === 'batch' ? 'by_lines' : unsaid;
      if (this.#passage === 'by_lines') this.#lines = new BatchLines(this.#nameModel);
    } else if (isFile) throw unusable('the file must be the part "file"');
    if (!isHeld(name)) this.#writeHead(part);
  }

  takeContent(bytes: Buffer): void {
    const { name = '' } = this.#part ?? {};
    if (name === 'file') {
      this.#takeFile(bytes);
      return;
    }
    this.#fieldBytes += bytes.length;
    if (this.#fieldBytes > mostFieldBytes) throw unusable('its fields are too long');
    if (isHeld(name)) this.#hold(bytes, mostValueBytes);
    else this.push(bytes);
  }

  endPart(): void {
    const part = this.#part;
    if (part?.name === 'file') this.#endFile();
    else if (part !== undefined && isHeld(part.name)) this.#endHeld(part);
    if (part?.name !== 'provider') this.push('\r\n');
  }

  endForm(): void {
    if (this.#nameModel === undefined) throw unusable('it has no part "file"');
    this.push(`--${this.#options.boundary}--\r\n`);
  }

  #writeHead({ lines }: PartHead): void {
    this.push(`--${this.#options.boundary}\r\n`);
    this.push(lines);
    this.push('\r\n\r\n');
  }

  #hold(bytes: Buffer, most: number): void {
    this.#valueBytes += bytes.length;
    if (this.#valueBytes > most) throw unusable(`the part "${this.#part?.name ?? ''}" is too long`);
    this.#value.push(bytes);
  }

  #endHeld(part: PartHead): void {
    const value = Buffer.concat(this.#value).toString();
    if (part.name === 'provider') {
      if (this.#provider !== undefined) throw unusable('it names two providers');
      if (this.#nameModel !== undefined) throw unusable('the part "provider" must stand before the file');
      this.#provider = value;
      return;
    }
    if (this.#purpose !== undefined) throw unusable('it has two purposes');
    if (value === 'batch' && this.#nameModel !== undefined && this.#lines === undefined) {
      throw unusable('its file is not one of a batch; or send the part "purpose" before it');
    }
    this.#purpose = value;
    this.#writeHead(part);
    this.push(value);
  }

  #takeFile(bytes: Buffer): void {
    if (this.#passage === 'as_it_is') this.push(bytes);
    else if (this.#passage === 'by_lines') this.push(this.#lines?.push(bytes) ?? bytes);
    else this.#lookAt(bytes);
  }

  /** Waits for the first line, which says what the file is. */
  #lookAt(bytes: Buffer): void {
    this.#valueBytes += bytes.length;
    this.#value.push(bytes);
    if (!bytes.includes(0x0a) && this.#valueBytes <= mostFirstLine) return;
    this.#decide();
  }

  #decide(): void {
    const held = Buffer.concat(this.#value);
    this.#value = [];
    const lineEnd = held.indexOf(0x0a);
    const isBatch = isBatchLine(held.subarray(0, lineEnd < 0 ? held.length : lineEnd));
    this.#passage = isBatch ? 'by_lines' : 'as_it_is';
    if (isBatch && this.#nameModel !== undefined) this.#lines = new BatchLines(this.#nameModel);
    this.#takeFile(held);
  }

  #endFile(): void {
    if (this.#passage === 'unknown') this.#decide();
    const rest = this.#lines?.finish();
    if (rest !== undefined && rest.length > 0) this.push(rest);
  }

  #try(work: () => void, done: TransformCallback): void {
    try {
      work();
      done();
    } catch (error) {
      const refused = error instanceof Refusal ? error : refusal('internal_error');
      this.#options.failed(refused);
      done(refused);
    }
  }
}

/** Fields that are read. */
function isHeld(name: string): boolean {
  return name === 'provider' || name === 'purpose';
}

function unusable(reason: string): Error {
  return refusal('invalid_upload', { fill: { reason } });
}
