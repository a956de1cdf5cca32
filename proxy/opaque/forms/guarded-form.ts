// A form on its way to a provider under guardrails: they look at its fields, each when all of it has come; files pass as they come.
import { Transform, type TransformCallback } from 'node:stream';
import { FormReader, type FormTaker, type PartHead } from '../../call/form-reader.ts';
import { parseObject, textOf, writeJson } from '../../dialects/json/json.ts';
import { Refusal, refusal } from '../../errors.ts';
import { run } from '../../guardrails/flow.ts';
import type { Guarding } from '../../guardrails/guarding.ts';
import type { OpaqueBody } from '../../upstream/send-opaque.ts';

/** Longest field. Bytes. */
const mostFieldBytes = 256 * 1024;

export interface FormGuard {
  readonly boundary: string;
  readonly rails: Guarding;
  /** Told once why the form goes nowhere. */
  readonly failed: (refused: Refusal) => void;
}

/** The form as guardrails leave it; its length is not known before. */
export function guardedForm(sent: Exclude<OpaqueBody, Buffer>, guard: FormGuard): OpaqueBody {
  const { stream, source } = sent;
  const form = new GuardedForm(guard);
  stream.once('close', () => {
    if (!stream.readableEnded) form.destroy();
  });
  form.once('close', () => stream.destroy());
  return { stream: stream.pipe(form), length: undefined, source };
}

/** Some bytes, or a field that is still to be looked at. */
type Piece = Buffer | { readonly name: string; readonly value: Buffer };

class GuardedForm extends Transform implements FormTaker {
  readonly #guard: FormGuard;
  readonly #reader: FormReader;
  /** The output of the chunk that is being read. */
  #pieces: Piece[] = [];
  #part: PartHead | undefined;
  #field: Buffer[] = [];
  #fieldBytes = 0;

  constructor(guard: FormGuard) {
    super();
    this.#guard = guard;
    this.#reader = new FormReader(guard.boundary, this);
    // Who destroys it says elsewhere why.
    this.on('error', () => undefined);
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#pass(() => this.#reader.push(chunk)).then(() => done(), done);
  }

  override _flush(done: TransformCallback): void {
    this.#pass(() => this.#reader.finish()).then(() => done(), done);
  }

  beginPart(part: PartHead): void {
    this.#part = part;
    this.#field = [];
    this.#fieldBytes = 0;
    this.#pieces.push(Buffer.from(`--${this.#guard.boundary}\r\n`), part.lines, Buffer.from('\r\n\r\n'));
  }

  takeContent(bytes: Buffer): void {
    if (this.#part?.isFile === true) {
      this.#pieces.push(bytes);
      return;
    }
    this.#fieldBytes += bytes.length;
    if (this.#fieldBytes > mostFieldBytes) {
      const reason = `the field "${this.#part?.name ?? ''}" is longer than ${mostFieldBytes} bytes`;
      throw refusal('malformed_multipart', { fill: { reason } });
    }
    this.#field.push(Buffer.from(bytes));
  }

  endPart(): void {
    const { name = '', isFile = false } = this.#part ?? {};
    if (!isFile) this.#pieces.push({ name, value: Buffer.concat(this.#field) });
    this.#pieces.push(Buffer.from('\r\n'));
  }

  endForm(): void {
    this.#pieces.push(Buffer.from(`--${this.#guard.boundary}--\r\n`));
  }

  /** Rejects with what the form is refused for, which its client is told. */
  async #pass(read: () => void): Promise<void> {
    try {
      read();
      const pieces = this.#pieces;
      this.#pieces = [];
      for (const piece of pieces) this.push(Buffer.isBuffer(piece) ? piece : await this.#guarded(piece));
    } catch (error) {
      const refused = error instanceof Refusal ? error : refusal('internal_error');
      this.#guard.failed(refused);
      throw refused;
    }
  }

  /** The model is the provider's own name by now. */
  async #guarded({ name, value }: Exclude<Piece, Buffer>): Promise<Buffer> {
    if (name === 'model' || value.length === 0) return value;
    const asked = Buffer.from(writeJson({ [name]: value.toString('utf8') }));
    const left = await run(this.#guard.rails.onRequest(asked));
    if (left === asked) return value;
    return Buffer.from(textOf(parseObject(left.toString('utf8'))?.[name]) ?? '');
  }
}
