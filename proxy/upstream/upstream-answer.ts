// One answer of a provider as it arrives. It is handed over in one of two forms: whole (short, and not a stream) or open (the rest still
// arriving). On undici's raw handler interface: one object per call, no stream and no timer of its own.
import type { Dispatcher } from 'undici';
import type { Answer, Failure, Sink } from '../answer.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { ChunkGuard } from './chunk-guard.ts';
import type { Deadlines, Timed } from './deadlines.ts';
import { type DecodedSink, decodedSink, encodingOf, isDecodable } from './decoded-sink.ts';
import { failureOf, UpstreamFailure } from './failure.ts';

/** Answers up to this many bytes are held until complete, so that a broken one becomes a clean error. */
const maxHeldBytes = 64 * 1024;
/** More informational (1xx) answers than this are an attack. */
const maxInformational = 100;

/** How long to wait for what, in milliseconds. */
export interface Patience {
  /** From sending to the first byte of the body. */
  readonly firstByteMs: number;
  /** Between two chunks of the body. */
  readonly streamIdleMs: number;
  /** For all of it. */
  readonly totalMs: number;
  /** For the usage of a stream whose client left behind its last words. */
  readonly usageDrainMs: number;
}

const clientLeft: Failure = { code: 'upstream_disconnected', reason: 'the client left' };
const timedOut = (reason: string): Failure => ({ code: 'upstream_timeout', reason });
const sseType = /^text\/event-stream\b/i;

/** One answer of a provider, in whatever state it is. */
export class UpstreamAnswer implements Answer, Timed, Dispatcher.DispatchHandler {
  status = 0;
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** How the provider encoded the body. A stream is decoded on the way where that is possible. */
  receivedEncoding: string | undefined;
  contentLength: string | undefined;
  retryAfter: string | undefined;
  retryAfterMs: string | undefined;
  shouldRetry: string | undefined;
  /** An event stream. */
  stream = false;
  /** The end of the body is marked by its framing, not by the connection closing. */
  framed = false;
  /** All of the body is in `held`. */
  complete = false;
  deadlineMs: number;
  /** Resolves when the answer is complete, or open with its first bytes held; rejects with UpstreamFailure. */
  readonly ready: Promise<void>;

  readonly #patience: Patience;
  readonly #deadlines: Deadlines;
  #totalDeadlineMs: number;
  readonly #held = new HeldBytes();
  readonly #guard = new ChunkGuard();
  #informational = 0;
  #sent = false;
  #over = false;
  #waitingFor = '';
  #failure: Failure | undefined;
  #isReady: (() => void) | undefined;
  #hasFailed: ((error: UpstreamFailure) => void) | undefined;
  #sink: Sink | undefined;
  #decoder: DecodedSink | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #resume: (() => void) | undefined;

  constructor(patience: Patience, deadlines: Deadlines) {
    this.#patience = patience;
    this.#deadlines = deadlines;
    this.#totalDeadlineMs = deadlines.coarseNowMs + patience.totalMs;
    // Connecting has a timeout of its own (upstream/pools.ts).
    this.deadlineMs = this.#totalDeadlineMs;
    this.ready = new Promise((resolve, reject) => {
      this.#isReady = resolve;
      this.#hasFailed = reject;
    });
    deadlines.add(this);
  }

  /** The bytes held so far: all of them when `complete`. */
  body(): Buffer {
    return this.#held.peek();
  }

  attach(sink: Sink): void {
    const encoding = this.receivedEncoding;
    if (this.stream && encoding !== undefined && isDecodable(encoding)) {
      const source = { resume: () => this.#read(), cancel: (failure: Failure) => this.#fail(failure) };
      this.#decoder = decodedSink(encoding, sink, source);
    }
    const first = this.#decoder ?? sink;
    this.#sink = first;
    const held = this.#held.take();
    if (held.length > 0) first.write(held);
    if (this.#over) first.end(this.#failure);
  }

  resume(): void {
    if (this.#decoder) this.#decoder.resume();
    else this.#read();
  }

  finishSoon(): void {
    this.#totalDeadlineMs = Math.min(this.#totalDeadlineMs, this.#deadlines.coarseNowMs + this.#patience.usageDrainMs);
    this.#read();
    this.#decoder?.resume();
  }

  cancel(failure?: Failure): void {
    if (failure === undefined) this.#decoder?.close();
    this.#fail(failure ?? clientLeft);
  }

  /** Called by the deadlines when `deadlineMs` has passed. */
  expire(): void {
    const total = this.#deadlines.coarseNowMs >= this.#totalDeadlineMs;
    this.#fail(timedOut(total ? 'the answer was not complete within timeouts.total' : this.#waitingFor));
  }

  onConnect(abort: (reason?: Error) => void): void {
    if (this.#over) {
      abort();
      return;
    }
    this.#abort = abort;
    this.#sent = true;
    this.#await('no first byte within timeouts.first_byte', this.#patience.firstByteMs);
  }

  onHeaders(status: number, rawHeaders: Buffer[], resume: () => void): boolean {
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > maxInformational) {
        this.#fail({ code: 'upstream_invalid_response', reason: 'it is an endless preamble' });
      }
      return true;
    }
    this.status = status;
    this.#resume = resume;
    for (let index = 0; index < rawHeaders.length; index += 2) {
      this.#readHeader(rawHeaders[index] as Buffer, rawHeaders[index + 1] as Buffer);
    }
    const encoding = this.receivedEncoding;
    if (encoding !== undefined && !(this.stream && isDecodable(encoding))) this.contentEncoding = encoding;
    return true;
  }

  /** Keeps the few headers that matter; their names' lengths sort out nearly all others without reading them. */
  #readHeader(rawName: Buffer, value: Buffer): void {
    const { length } = rawName;
    if (length !== 11 && length !== 12 && length !== 14 && length !== 16 && length !== 17) return;
    const name = rawName.toString('latin1').toLowerCase();
    if (name === 'content-type') {
      this.contentType = value.toString('latin1');
      this.stream = sseType.test(this.contentType);
    } else if (name === 'content-length') {
      this.contentLength = value.toString('latin1');
      this.framed = true;
    } else if (name === 'transfer-encoding') this.framed = true;
    else if (name === 'content-encoding') this.receivedEncoding = encodingOf(value.toString('latin1'));
    else if (name === 'retry-after') this.retryAfter = value.toString('latin1');
    else if (name === 'retry-after-ms') this.retryAfterMs = value.toString('latin1');
    else if (name === 'x-should-retry') this.shouldRetry = value.toString('latin1');
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return true;
    this.#await('the stream was silent for timeouts.stream_idle', this.#patience.streamIdleMs);
    if (this.#guard.isCrumbling(chunk.length)) {
      this.#fail({ code: 'upstream_invalid_response', reason: 'it comes in chunks of a few bytes each' });
      return true;
    }
    if (this.#sink) {
      const flowing = this.#sink.write(chunk);
      // While the client does not read, no deadline runs for the provider.
      if (!flowing) this.deadlineMs = this.#totalDeadlineMs;
      return flowing;
    }
    this.#held.add(chunk);
    if (this.stream || this.#held.length > maxHeldBytes) this.#handOver();
    return true;
  }

  onComplete(): void {
    if (this.#over) return;
    this.#over = true;
    this.complete = true;
    this.#deadlines.remove(this);
    this.#handOver();
    this.#sink?.end(undefined);
  }

  onError(error: Error): void {
    this.#fail(failureOf(error));
  }

  #read(): void {
    if (this.#over) return;
    this.#await('the stream was silent for timeouts.stream_idle', this.#patience.streamIdleMs);
    this.#resume?.();
  }

  #await(what: string, patienceMs: number): void {
    this.#waitingFor = what;
    this.deadlineMs = Math.min(this.#deadlines.coarseNowMs + patienceMs, this.#totalDeadlineMs);
  }

  #handOver(): void {
    this.#isReady?.();
    this.#isReady = undefined;
    this.#hasFailed = undefined;
  }

  /** Ends the call, tells the waiting stage, and frees the connection. */
  #fail(failure: Failure): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#deadlines.remove(this);
    this.#hasFailed?.(new UpstreamFailure(failure, this.#sent));
    this.#isReady = undefined;
    this.#hasFailed = undefined;
    this.#sink?.end(failure);
    this.#abort?.(new Error(failure.code));
  }
}
