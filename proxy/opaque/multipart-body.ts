// A form on its way to a provider: it is held until its model is known, and streams from then on, with the provider's id in place of the name.
import { Transform, type TransformCallback } from 'node:stream';
import type { HeldBody } from '../body-budget.ts';
import { routesElsewhere } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';
import type { StreamedBody } from '../upstream/call-deadline.ts';
import type { OutgoingStream } from '../upstream/send-opaque.ts';
import type { ClientBody } from './client-body.ts';
import { type ModelField, MultipartScanner } from './multipart-scanner.ts';

/** So much waits for the provider. Bytes. */
const highWaterMark = 64 * 1024;
/** Small chunks are put together: each takes more memory than its bytes. */
const smallBytes = 4 * 1024;
const mostSmall = 1024;

/** What bounds what is held. */
export interface Holding {
  readonly mostBytes: number;
  readonly held: HeldBody;
}

export class MultipartBody extends Transform implements StreamedBody {
  /** The field `model`, when it has come. Rejects with the Refusal of a body that is not acceptable before. */
  readonly found: Promise<ModelField>;
  /** The first field that may make a provider go elsewhere. */
  routingField: string | undefined;
  readonly #source: ClientBody;
  readonly #holding: Holding;
  readonly #scanner: MultipartScanner;
  readonly #settle: PromiseWithResolvers<ModelField>;
  #pieces: Buffer[] = [];
  #small: Buffer[] = [];
  #heldBytes = 0;
  /** Reads on; undefined: nothing waits for the target. */
  #readOn: TransformCallback | undefined;
  #isSent = false;
  #mayRoute = true;

  constructor(source: ClientBody, boundary: string, holding: Holding) {
    super({ highWaterMark });
    this.#source = source;
    this.#holding = holding;
    this.#settle = Promise.withResolvers();
    this.found = this.#settle.promise;
    this.#scanner = new MultipartScanner(boundary, (field) => {
      const [name = ''] = field.trim().split(/[[.]/);
      if (routesElsewhere(name)) this.routingField ??= name;
    });
    // Who destroys it says elsewhere why.
    this.on('error', () => undefined);
    source.pipe(this);
  }

  get isAwaited(): boolean {
    return this.readableLength === 0 && this.writableLength === 0 && this.#source.isAwaited;
  }

  /** What is sent to a target that knows the model by this id. Called once. `mayRoute`: fields may make the provider go elsewhere. */
  send(id: string, mayRoute: boolean): OutgoingStream {
    const field = this.#scanner.model;
    if (field === undefined || this.#isSent) throw new Error('a form can be sent once, when its model is known');
    this.#isSent = true;
    this.#mayRoute = mayRoute;
    const value = Buffer.from(id);
    this.#pushHeld(field, value);
    const { declaredLength } = this.#source;
    const length = declaredLength === undefined ? undefined : declaredLength + value.length - (field.end - field.start);
    this.#readOn?.();
    return { stream: this, length, source: this };
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#attempt(() => {
      this.#scanner.push(chunk);
      if (this.#isSent) this.#pass(chunk, done);
      else this.#hold(chunk, done);
    });
  }

  override _flush(done: TransformCallback): void {
    this.#attempt(() => {
      this.#scanner.end();
      done();
    });
  }

  #pass(chunk: Buffer, done: TransformCallback): void {
    const { routingField: member } = this;
    if (member !== undefined && !this.#mayRoute)
      throw refusal('routing_member_not_allowed', { param: member, fill: { member } });
    // What was held has been taken by now.
    if (this.#heldBytes > 0) this.#holding.held.grow(0);
    this.#heldBytes = 0;
    done(null, chunk);
  }

  #hold(chunk: Buffer, done: TransformCallback): void {
    const { mostBytes, held } = this.#holding;
    this.#heldBytes += chunk.length;
    held.grow(this.#heldBytes);
    if (chunk.length < smallBytes) this.#small.push(chunk);
    if (chunk.length >= smallBytes || this.#small.length >= mostSmall) this.#putTogether();
    if (chunk.length >= smallBytes) this.#pieces.push(chunk);
    const { model } = this.#scanner;
    if (model !== undefined) {
      this.#readOn = done;
      this.#settle.resolve(model);
    } else if (this.#heldBytes > mostBytes) throw refusal('model_too_late', { fill: { limit: mostBytes } });
    else done();
  }

  #putTogether(): void {
    if (this.#small.length > 0) this.#pieces.push(Buffer.concat(this.#small));
    this.#small = [];
  }

  #pushHeld({ start, end }: ModelField, value: Buffer): void {
    this.#putTogether();
    let at = 0;
    for (const piece of this.#pieces) {
      const [from, to] = [start - at, end - at];
      if (from > 0) this.push(piece.subarray(0, from));
      if (from >= 0 && from < piece.length) this.push(value);
      if (to < piece.length) this.push(piece.subarray(Math.max(0, to)));
      at += piece.length;
    }
    this.#pieces = [];
  }

  /** What is wrong with the body before it is sent is told by `found`, later by its source. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!this.#isSent) this.#settle.reject(error);
      else if (error instanceof Refusal) this.#source.fail(error);
      else this.destroy(error instanceof Error ? error : undefined);
    }
  }
}
