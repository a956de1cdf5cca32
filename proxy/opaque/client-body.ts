// The body of a request that is read as a provider takes it. Its beginning can be looked at first, where it is short.
import { Readable } from 'node:stream';
import { Refusal, refusal } from '../errors.ts';
import { createChunkMeter } from '../http/chunk-meter.ts';
import type { Exchange } from '../http/exchange.ts';
import type { BodyLimit } from '../http/read-body.ts';
import type { StreamedBody } from '../upstream/call-deadline.ts';
import type { Deadlines, Timed } from '../upstream/deadlines.ts';
import { notePassed } from './passed-memory.ts';

/** The limits of a body. */
export interface BodyBounds {
  readonly limit: BodyLimit;
  /** How long a client may send nothing while it is waited for. Milliseconds. */
  readonly pauseMs: number;
}

/** Bytes that wait for the provider before the client is not read any more. */
const highWaterMark = 64 * 1024;
const nothing: Buffer = Buffer.alloc(0);

/** The beginning of a body that is gathered before anything is sent. */
interface Gathering {
  readonly mostBytes: number;
  readonly timer: NodeJS.Timeout | undefined;
  /** Is told how much is there. Throws a Refusal where that is too much. */
  readonly grown: ((bytes: number) => void) | undefined;
  /** Undefined: there is more, or it takes longer. */
  readonly done: (whole: Buffer | undefined) => void;
}

export class ClientBody extends Readable implements StreamedBody, Timed {
  deadlineMs = Number.POSITIVE_INFINITY;
  place: number | undefined;
  /** Sees each piece as it comes. */
  seen: ((piece: Buffer) => void) | undefined;
  /** Sees each piece as it goes to the provider. */
  passed: ((piece: Buffer) => void) | undefined;
  readonly #exchange: Exchange;
  readonly #bounds: BodyBounds;
  readonly #deadlines: Deadlines;
  readonly #failed: (refused: Refusal) => void;
  readonly #meter: ((length: number) => void) | undefined;
  /** The chunks that came before the provider wanted them. */
  #early: Buffer[] = [];
  #gathering: Gathering | undefined;
  #length = 0;
  #isBegun = false;
  #hasEnded: boolean;

  /** `failed` is told once why the rest will not come: 413 beyond the limit, 408 when the client stalls. */
  constructor(exchange: Exchange, bounds: BodyBounds, deadlines: Deadlines, failed: (refused: Refusal) => void) {
    super({ highWaterMark });
    const { head, request } = exchange;
    this.#exchange = exchange;
    this.#bounds = bounds;
    this.#deadlines = deadlines;
    this.#failed = failed;
    this.#meter = head.chunked ? createChunkMeter(request.socket) : undefined;
    this.#hasEnded = this.isEmpty;
    // Who destroys it says elsewhere why.
    this.on('error', () => undefined);
  }

  get limit(): BodyLimit {
    return this.#bounds.limit;
  }

  /** The request has none. */
  get isEmpty(): boolean {
    const { chunked, contentLength = 0 } = this.#exchange.head;
    return !chunked && contentLength === 0;
  }

  /** In bytes; undefined: the client has not said. */
  get declaredLength(): number | undefined {
    const { chunked, contentLength = 0 } = this.#exchange.head;
    return chunked ? undefined : contentLength;
  }

  /** The provider could take more than the client has sent. */
  get isAwaited(): boolean {
    return !this.isPaused() && this.readableLength === 0 && !this.#hasEnded;
  }

  /**
   * All of it, if that is no more than `mostBytes` and comes within `patienceMs` (undefined: whenever); else undefined. What was read
   * until then is streamed, too. `grown` is told how many bytes are held, and throws a Refusal where they are too many. Settles only while
   * nothing is wrong with the body.
   */
  gather(
    mostBytes: number,
    patienceMs: number | undefined,
    grown?: (bytes: number) => void,
  ): Buffer | undefined | Promise<Buffer | undefined> {
    if (this.isEmpty) return nothing;
    if (mostBytes === 0 || (this.declaredLength ?? 0) > mostBytes) return undefined;
    return new Promise((done) => {
      const timer = patienceMs === undefined ? undefined : setTimeout(() => this.#gathered(undefined), patienceMs);
      this.#gathering = { mostBytes, timer, grown, done };
      if (this.#hasEnded || this.#length > mostBytes) this.#checkGathered();
      else this.#readOn();
    });
  }

  override _read(): void {
    const early = this.#early;
    this.#early = [];
    for (const chunk of early) this.#pass(chunk);
    if (this.#hasEnded) this.push(null);
    else this.#readOn();
  }

  override _destroy(_error: Error | null, done: (error?: Error | null) => void): void {
    const { request } = this.#exchange;
    clearTimeout(this.#gathering?.timer);
    this.#gathering = undefined;
    this.#early = [];
    this.#deadlines.remove(this);
    request.off('data', this.#take).off('end', this.#end);
    // The rest, if there is any, is no longer held up.
    if (this.#isBegun && !this.#hasEnded) request.resume();
    done();
  }

  /** The client was waited for, and sent nothing. */
  expire(): void {
    this.fail(refusal('request_timeout'));
  }

  /** Nothing more of it is read; who sent it is told why. */
  fail(refused: Refusal): void {
    this.#deadlines.remove(this);
    this.#exchange.request.off('data', this.#take).off('end', this.#end);
    this.#failed(refused);
  }

  #readOn(): void {
    const { request, response, head } = this.#exchange;
    this.deadlineMs = this.#deadlines.coarseNowMs + this.#bounds.pauseMs;
    if (this.#isBegun) {
      request.resume();
      return;
    }
    this.#isBegun = true;
    this.#deadlines.add(this);
    if (head.expectsContinue) response.writeContinue();
    request.on('data', this.#take).on('end', this.#end);
  }

  #pass(chunk: Buffer): boolean {
    this.passed?.(chunk);
    return this.push(chunk);
  }

  #hold(): void {
    this.deadlineMs = Number.POSITIVE_INFINITY;
    this.#exchange.request.pause();
  }

  /** Properties, because they are called without their object. */
  readonly #take = (chunk: Buffer): void => {
    this.#meter?.(chunk.length);
    notePassed(chunk.length);
    this.seen?.(chunk);
    this.#length += chunk.length;
    this.deadlineMs = this.#deadlines.coarseNowMs + this.#bounds.pauseMs;
    const { bytes, setting } = this.#bounds.limit;
    if (this.#length > bytes) {
      this.fail(refusal('body_too_large', { fill: { limit: bytes, setting: setting && ` (${setting})` } }));
    } else if (this.#gathering !== undefined) {
      this.#early.push(chunk);
      this.#checkGathered();
    } else if (!this.#pass(chunk)) this.#hold();
  };

  readonly #end = (): void => {
    this.#hasEnded = true;
    this.#deadlines.remove(this);
    if (this.#gathering === undefined) this.push(null);
    else this.#checkGathered();
  };

  #checkGathered(): void {
    const { mostBytes = 0, grown } = this.#gathering ?? {};
    if (this.#length > mostBytes) {
      this.#gathered(undefined);
      return;
    }
    try {
      grown?.(this.#length);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.fail(error);
      return;
    }
    if (this.#hasEnded) this.#gathered(this.#joined());
  }

  /** The bytes that have come, in one piece, which takes the place of its parts. */
  #joined(): Buffer {
    const whole = this.#early.length === 1 ? (this.#early[0] as Buffer) : Buffer.concat(this.#early);
    this.#early = [whole];
    return whole;
  }

  #gathered(whole: Buffer | undefined): void {
    const gathering = this.#gathering;
    this.#gathering = undefined;
    clearTimeout(gathering?.timer);
    if (!this.#hasEnded) this.#hold();
    gathering?.done(whole);
  }
}
