// Reads the body of a request whole, in the bytes of the client, within a limit.

import { giveBack } from '../bytes/give-back.ts';
import type { Head } from '../call/head.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { HeldBody } from './body-budget.ts';
import { createChunkMeter } from './chunk-meter.ts';
import type { Exchange, Waiting } from './exchange.ts';

/** How long a body may be. */
export interface BodyLimit {
  readonly bytes: number;
  /** The setting it comes from; empty: it cannot be set. */
  readonly setting: string;
}

const nothing: Buffer = Buffer.alloc(0);

/** First size of the buffer for a body of undeclared length. */
const firstBytes = 16 * 1024;

/** Throws 413 for a declared length beyond the limit. */
export function expectLength({ contentLength = 0 }: Head, limit: BodyLimit): void {
  if (contentLength > limit.bytes) throw tooLarge(limit);
}

/** The receiver of a body. */
export interface BodyTaker {
  takeBody(body: Buffer): void;
  /** There is none: a Refusal. */
  refuse(reason: unknown): void;
}

/**
 * Reads the whole body, whose declared length is within the limit. Throws 503 `overloaded` when it does not fit into the budget, before
 * it is read where its length is declared; refuses with 413 beyond the limit, and when the client leaves. `held` is told how much memory
 * the body takes.
 */
export function takeBody(exchange: Exchange, limit: BodyLimit, held: HeldBody, taker: BodyTaker): void {
  const { request, response, head } = exchange;
  const { contentLength = 0 } = head;
  if (contentLength > 0) held.expect(contentLength);
  if (head.expectsContinue) response.writeContinue();
  const reader = new BodyReader(exchange, limit, held, taker);
  exchange.waiting = reader;
  request.on('data', reader.take);
  if (contentLength === 0) request.on('end', reader.end);
}

/** `takeBody` as a promise. Rejects with a Refusal. */
export function readBody(exchange: Exchange, limit: BodyLimit, held: HeldBody): Promise<Buffer> {
  return new Promise((resolve, reject) => takeBody(exchange, limit, held, { takeBody: resolve, refuse: reject }));
}

/** The body as far as it has come. */
class BodyReader implements Waiting {
  readonly #exchange: Exchange;
  readonly #limit: BodyLimit;
  readonly #held: HeldBody;
  readonly #taker: BodyTaker;
  readonly #declared: number;
  readonly #meter: ((length: number) => void) | undefined;
  #body = nothing;
  #length = 0;

  constructor(exchange: Exchange, limit: BodyLimit, held: HeldBody, taker: BodyTaker) {
    this.#exchange = exchange;
    this.#limit = limit;
    this.#held = held;
    this.#taker = taker;
    this.#declared = exchange.head.contentLength ?? 0;
    this.#meter = exchange.head.chunked ? createChunkMeter(exchange.request.socket) : undefined;
  }

  /** A property, because it is called without its object. */
  readonly take = (chunk: Buffer): void => {
    this.#meter?.(chunk.length);
    try {
      this.#add(chunk);
    } catch (refused) {
      this.#stop(refused);
      return;
    }
    if (this.#length !== this.#declared) return;
    // As a rule the parser is done with the request, and its end need not be waited for.
    const { request } = this.#exchange;
    if (request.complete) this.end();
    else request.on('end', this.end);
  };

  readonly end = (): void => {
    this.#exchange.waiting = undefined;
    const whole = this.#length === this.#body.length;
    this.#taker.takeBody(whole ? this.#body : this.#body.subarray(0, this.#length));
  };

  gone(): void {
    this.#stop(refusal('client_left'));
  }

  broken(refused: Refusal): void {
    this.#stop(refused);
  }

  /** One chunk is the rule, and is kept as it is. More are copied into one buffer, however small they are, and given back. */
  #add(chunk: Buffer): void {
    const needed = this.#length + chunk.length;
    if (needed > this.#limit.bytes) throw tooLarge(this.#limit);
    if (this.#length === 0) {
      this.#held.grow(needed);
      this.#body = chunk;
    } else {
      if (needed > this.#body.length) {
        const room = roomFor(needed, this.#declared);
        this.#held.grow(room);
        this.#body = moved(this.#body, this.#length, room);
      }
      chunk.copy(this.#body, this.#length);
      giveBack(chunk);
    }
    this.#length = needed;
  }

  #stop(reason: unknown): void {
    this.#exchange.request.off('data', this.take).off('end', this.end);
    this.#exchange.waiting = undefined;
    this.#taker.refuse(reason);
  }
}

/** A body of which this share has come gets the room it has declared: growing further by doubling would copy it once more. */
const trustedShare = 1 / 8;

/** Room for so many bytes and as many again, but no more than was declared: what a client only announces takes no memory. */
function roomFor(bytes: number, declared: number): number {
  const room = Math.max(firstBytes, bytes * 2);
  if (declared < bytes) return room;
  return bytes >= declared * trustedShare ? declared : Math.min(room, declared);
}

/** A larger buffer that begins with the first `used` bytes of `body`, which is given back. */
function moved(body: Buffer, used: number, size: number): Buffer {
  const room = Buffer.allocUnsafeSlow(size);
  body.copy(room, 0, 0, used);
  giveBack(body);
  return room;
}

function tooLarge({ bytes, setting }: BodyLimit): Error {
  return refusal('body_too_large', { fill: { limit: bytes, setting: setting && ` (${setting})` } });
}
