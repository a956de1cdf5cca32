// A form on its way to a provider: it is held until its model is known, and streams from then on, with the provider's id in place of the name.
// The held bytes can be sent again.
import { Readable, Writable } from 'node:stream';
import { routesElsewhere } from '../../call/call.ts';
import { Refusal, refusal } from '../../errors.ts';
import type { HeldBody } from '../../http/body-budget.ts';
import type { StreamedBody } from '../../upstream/call-deadline.ts';
import type { OutgoingStream } from '../../upstream/send-opaque.ts';
import type { ClientBody } from '../client-body.ts';
import { type ModelField, MultipartScanner } from './multipart-scanner.ts';

/** Bytes that wait for the provider. */
const highWaterMark = 64 * 1024;
/** Small chunks are put together: each takes more memory than its bytes. */
const smallBytes = 4 * 1024;
const mostSmall = 1024;

type Done = (error?: Error | null) => void;

/** The limits of the bytes that are held. */
export interface Holding {
  readonly mostBytes: number;
  readonly held: HeldBody;
}

/** How a form is sent. */
export interface FormSending {
  /** The text in the place of the model's name; undefined: the name itself, or the form has none. */
  readonly id?: string;
  /** Fields may make the provider go elsewhere. */
  readonly mayRoute: boolean;
  /** Bytes that were sent stay held, as far as there is room, so that they can be sent again. */
  readonly isKept: boolean;
}

export class MultipartBody extends Writable implements StreamedBody {
  /** The field `model`, when it has come; undefined: the form was read to its end, and has none. Rejects with the Refusal of a body that is not acceptable before. */
  readonly found: Promise<ModelField | undefined>;
  /** The first field that may make a provider go elsewhere. */
  routingField: string | undefined;
  readonly #source: ClientBody;
  readonly #holding: Holding;
  readonly #scanner: MultipartScanner;
  readonly #settle: PromiseWithResolvers<ModelField | undefined>;
  #isFound = false;
  /** All that has come, from the beginning on, as long as it is held. */
  #pieces: Buffer[] = [];
  #small: Buffer[] = [];
  #heldBytes = 0;
  /** Something that has passed is held no more. */
  #isForgotten = false;
  #hasEnded = false;
  /** Reads on; undefined: nothing waits for the target. */
  #readOn: Done | undefined;
  /** The sending that is under way. */
  #copy: Readable | undefined;
  #sending: FormSending = { mayRoute: true, isKept: false };

  constructor(source: ClientBody, boundary: string, holding: Holding) {
    // The received bytes are needed until the request is over.
    super({ highWaterMark, autoDestroy: false });
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
    return (this.#copy?.readableLength ?? 0) === 0 && this.writableLength === 0 && this.#source.isAwaited;
  }

  /** All that has come is still held. */
  get canSend(): boolean {
    return !this.#isForgotten && !this.destroyed;
  }

  /** The body for a target, from the beginning on, in place of the one before. Only while `canSend`, and when the model was looked for. */
  send(sending: FormSending): OutgoingStream {
    if (!this.#isFound || !this.canSend)
      throw new Error('a form can be sent while all of it is held, when its model was looked for');
    this.#sending = sending;
    const copy = new Readable({ highWaterMark, read: () => this.#continue(copy) });
    copy.on('error', () => undefined);
    this.#copy = copy;
    const { model: field } = this.#scanner;
    const value = sending.id === undefined ? undefined : Buffer.from(sending.id);
    this.#putTogether();
    if (field === undefined || value === undefined) for (const piece of this.#pieces) copy.push(piece);
    else pushEdited(copy, this.#pieces, field, value);
    if (this.#hasEnded) copy.push(null);
    const { declaredLength } = this.#source;
    const more = field === undefined || value === undefined ? 0 : value.length - (field.end - field.start);
    return { stream: copy, length: declaredLength === undefined ? undefined : declaredLength + more, source: this };
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: Done): void {
    this.#attempt(() => {
      this.#scanner.push(chunk);
      if (this.#copy === undefined) this.#hold(chunk, done);
      else this.#pass(this.#copy, chunk, done);
    });
  }

  override _final(done: Done): void {
    this.#attempt(() => {
      this.#scanner.end();
      this.#hasEnded = true;
      this.#copy?.push(null);
      this.#foundAt(this.#scanner.model);
      done();
    });
  }

  override _destroy(error: Error | null, done: Done): void {
    this.#source.unpipe(this);
    this.#forget();
    this.#copy?.destroy();
    done(error);
  }

  /** The target takes more. */
  #continue(copy: Readable): void {
    if (copy !== this.#copy) return;
    const readOn = this.#readOn;
    this.#readOn = undefined;
    readOn?.();
  }

  #pass(copy: Readable, chunk: Buffer, done: Done): void {
    const { routingField: member } = this;
    if (member !== undefined && !this.#sending.mayRoute)
      throw refusal('routing_member_not_allowed', { param: member, fill: { member } });
    if (!this.#isForgotten) this.#keep(chunk);
    // One that was given up takes nothing: the next one gets it with what is held.
    if (copy.destroyed) this.#readOn = done;
    else if (copy.push(chunk)) done();
    else this.#readOn = done;
  }

  /** Holds the bytes that are sent, if they may be held and there is room. */
  #keep(chunk: Buffer): void {
    const { mostBytes } = this.#holding;
    if (!this.#sending.isKept || this.#heldBytes + chunk.length > mostBytes) {
      this.#forget();
      return;
    }
    try {
      this.#add(chunk);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.#forget();
    }
  }

  #forget(): void {
    this.#isForgotten = true;
    this.#pieces = [];
    this.#small = [];
    if (this.#heldBytes > 0) this.#holding.held.grow(0);
    this.#heldBytes = 0;
  }

  #hold(chunk: Buffer, done: Done): void {
    this.#add(chunk);
    const { mostBytes } = this.#holding;
    const { model } = this.#scanner;
    if (model !== undefined) {
      this.#readOn = done;
      this.#foundAt(model);
    } else if (this.#heldBytes > mostBytes) throw refusal('model_too_late', { fill: { limit: mostBytes } });
    else done();
  }

  /** Throws 503 `overloaded`; nothing is added then. */
  #add(chunk: Buffer): void {
    this.#holding.held.grow(this.#heldBytes + chunk.length);
    this.#heldBytes += chunk.length;
    if (chunk.length < smallBytes) this.#small.push(chunk);
    if (chunk.length >= smallBytes || this.#small.length >= mostSmall) this.#putTogether();
    if (chunk.length >= smallBytes) this.#pieces.push(chunk);
  }

  #putTogether(): void {
    if (this.#small.length > 0) this.#pieces.push(Buffer.concat(this.#small));
    this.#small = [];
  }

  #foundAt(model: ModelField | undefined): void {
    this.#isFound = true;
    this.#settle.resolve(model);
  }

  /** A fault of the body is told by `found` before it is sent, and by its source later. */
  #attempt(step: () => void): void {
    try {
      step();
    } catch (error) {
      if (!this.#isFound) this.#settle.reject(error);
      else if (error instanceof Refusal) this.#source.fail(error);
      else this.destroy(error instanceof Error ? error : undefined);
    }
  }
}

/** The pieces with another value in the place of the field. */
function pushEdited(copy: Readable, pieces: readonly Buffer[], { start, end }: ModelField, value: Buffer): void {
  let at = 0;
  for (const piece of pieces) {
    const [from, to] = [start - at, end - at];
    if (from > 0) copy.push(piece.subarray(0, from));
    if (from >= 0 && from < piece.length) copy.push(value);
    if (to < piece.length) copy.push(piece.subarray(Math.max(0, to)));
    at += piece.length;
  }
}
