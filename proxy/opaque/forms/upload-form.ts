// The form of an upload on its way to a provider: without the field that names the provider, and with the models of a batch as that
// provider knows them. Only short fields, and one line of a batch, are held.
import { Transform, type TransformCallback } from 'node:stream';
import { FormReader, type FormTaker, type PartHead } from '../../call/form-reader.ts';
import { Refusal, refusal } from '../../errors.ts';
import { type Flow, run } from '../../guardrails/flow.ts';
import { BatchLines, isBatchLine, type LineReader } from '../batch-lines.ts';

/** The facts that are known when the file begins. */
export interface UploadStart {
  /** As the form names it before the file. */
  readonly provider: string | undefined;
}

export interface UploadOptions {
  readonly boundary: string;
  /** The file begins: gives how the lines of a batch are read. Throws a Refusal. */
  readonly begun: (start: UploadStart) => LineReader;
  /** Throws the Refusal of a file that is no batch, if it may not pass unread. */
  readonly passesUnread: () => void;
  /** The upload failed: bytes that have come are of no use. */
  readonly failed: (error: Refusal) => void;
}

/** Longest of all fields before the file together, and longest value that is looked at. Bytes. */
const mostFieldBytes = 32 * 1024;
const mostValueBytes = 256;
/** Bytes of a file that are looked at to see whether it is a batch, where its purpose is not said yet. */
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
  #lineReader: LineReader | undefined;
  /** The rest of the chunk that is being read, and the chunks behind it. */
  #pending: (Buffer | Flow<Buffer>)[] = [];
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
      if (this.#lineReader !== undefined) throw unusable('it has two files');
      this.#lineReader = this.#options.begun({ provider: this.#provider });
      const unsaid = this.#purpose === undefined ? 'unknown' : 'as_it_is';
      this.#passage = this.#purpose === 'batch' ? 'by_lines' : unsaid;
      if (this.#passage === 'as_it_is') this.#options.passesUnread();
      if (this.#passage === 'by_lines') this.#lines = new BatchLines(this.#lineReader);
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
    else this.#emit(bytes);
  }

  endPart(): void {
    const part = this.#part;
    if (part?.name === 'file') this.#endFile();
    else if (part !== undefined && isHeld(part.name)) this.#endHeld(part);
    if (part?.name !== 'provider') this.#emit('\r\n');
  }

  endForm(): void {
    if (this.#lineReader === undefined) throw unusable('it has no part "file"');
    this.#emit(`--${this.#options.boundary}--\r\n`);
  }

  #writeHead({ lines }: PartHead): void {
    this.#emit(`--${this.#options.boundary}\r\n`);
    this.#emit(lines);
    this.#emit('\r\n\r\n');
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
      if (this.#lineReader !== undefined) throw unusable('the part "provider" must stand before the file');
      this.#provider = value;
      return;
    }
    if (this.#purpose !== undefined) throw unusable('it has two purposes');
    if (value === 'batch' && this.#lineReader !== undefined && this.#lines === undefined) {
      throw unusable('its file is not one of a batch; or send the part "purpose" before it');
    }
    this.#purpose = value;
    this.#writeHead(part);
    this.#emit(value);
  }

  #takeFile(bytes: Buffer): void {
    if (this.#passage === 'as_it_is') this.#emit(bytes);
    else if (this.#passage === 'by_lines' && this.#lines !== undefined) this.#pending.push(this.#lines.push(bytes));
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
    if (!isBatch) this.#options.passesUnread();
    if (isBatch && this.#lineReader !== undefined) this.#lines = new BatchLines(this.#lineReader);
    this.#takeFile(held);
  }

  #endFile(): void {
    if (this.#passage === 'unknown') this.#decide();
    if (this.#lines !== undefined) this.#pending.push(this.#lines.finish());
  }

  #emit(bytes: Buffer | string): void {
    this.#pending.push(typeof bytes === 'string' ? Buffer.from(bytes) : bytes);
  }

  /** Reads what has come, and passes it on in its order; where a guardrail waits, all that comes behind does. */
  #try(read: () => void, done: TransformCallback): void {
    const failed = (error: unknown): void => {
      const refused = error instanceof Refusal ? error : refusal('internal_error');
      this.#options.failed(refused);
      done(refused);
    };
    try {
      read();
      const passed = run(this.#passed());
      if (passed instanceof Promise) passed.then(() => done(), failed);
      else done();
    } catch (error) {
      failed(error);
    }
  }

  *#passed(): Flow<void> {
    const pending = this.#pending;
    this.#pending = [];
    for (const piece of pending) {
      const bytes = Buffer.isBuffer(piece) ? piece : yield* piece;
      if (bytes.length > 0) this.push(bytes);
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
