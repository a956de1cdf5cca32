// Reads the body of a request whole, in the bytes of the client, within a limit.
import type { HeldBody } from '../body-budget.ts';
import type { Head } from '../call/head.ts';
import { refusal } from '../errors.ts';
import { createChunkMeter } from './chunk-meter.ts';
import type { Exchange } from './exchange.ts';

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

/**
 * Reads the whole body, whose declared length is within the limit. Throws 503 `overloaded` when it does not fit into the budget, before
 * it is read where its length is declared, and 413 beyond the limit; rejects when the client leaves. `held` is told how much memory the
 * body takes.
 */
export function readBody(exchange: Exchange, limit: BodyLimit, held: HeldBody): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const { request, response, head } = exchange;
    const { contentLength = 0 } = head;
    if (contentLength > 0) held.expect(contentLength);
    if (head.expectsContinue) response.writeContinue();
    const meter = head.chunked ? createChunkMeter(request.socket) : undefined;
    let body = nothing;
    let length = 0;
    const stop = (reason: unknown): void => {
      request.off('data', onData).off('end', onEnd);
      exchange.onBroken = undefined;
      reject(reason);
    };
    const onData = (chunk: Buffer): void => {
      meter?.(chunk.length);
      const needed = length + chunk.length;
      try {
        if (needed > limit.bytes) throw tooLarge(limit);
        // One chunk is the rule, and is kept as it is. More are copied into one buffer, however small they are.
        if (length === 0) {
          held.grow(needed);
          body = chunk;
        } else {
          if (needed > body.length) {
            const room = roomFor(needed, contentLength);
            held.grow(room);
            body = moved(body, length, room);
          }
          chunk.copy(body, length);
        }
        length = needed;
      } catch (refused) {
        stop(refused);
      }
    };
    const onEnd = (): void => {
      exchange.onGone = undefined;
      exchange.onBroken = undefined;
      resolve(length === body.length ? body : body.subarray(0, length));
    };
    exchange.onGone = () => stop(refusal('client_left'));
    exchange.onBroken = stop;
    request.on('data', onData).on('end', onEnd);
  });
}

/** A body of which this share has come gets the room it has declared: growing further by doubling would copy it once more. */
const trustedShare = 1 / 8;

/** Room for so many bytes and as many again, but no more than was declared: what a client only announces takes no memory. */
function roomFor(bytes: number, declared: number): number {
  const room = Math.max(firstBytes, bytes * 2);
  if (declared < bytes) return room;
  return bytes >= declared * trustedShare ? declared : Math.min(room, declared);
}

/** A larger buffer that begins with the first `used` bytes of `body`. */
function moved(body: Buffer, used: number, size: number): Buffer {
  const room = Buffer.allocUnsafe(size);
  body.copy(room, 0, 0, used);
  return room;
}

function tooLarge({ bytes, setting }: BodyLimit): Error {
  return refusal('body_too_large', { fill: { limit: bytes, setting: setting && ` (${setting})` } });
}
