// One answer of a provider as it arrives, handed over whole (short, and not a stream) or open (the rest still arriving). On undici's raw
// handler interface: one object per call. undici hands over each HTTP chunk by itself; those of one read go to the sink together.
import type { Answer, Failure, Sink } from '../answer.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { ReadPieces } from '../bytes/read-pieces.ts';
import { type AnswerHead, beginsReadably, noHead, readAnswerHead } from './answer-head.ts';
import { CallDeadline, type CallFacts, type Late } from './call-deadline.ts';
import { ChunkGuard } from './chunk-guard.ts';
import type { CallHandler } from './client-pool.ts';
import type { Deadlines } from './deadlines.ts';
import { type DecodedSink, decodedSink, isDecodable } from './decoded-sink.ts';
import { clientLeft, failureOf, sendFailure, type UpstreamFailure } from './failure.ts';
import type { Patience } from './patience.ts';

/** To copy pieces of this size, so that several become one, would cost more than to write each. Bytes. */
const longPiece = 4 * 1024;
/** More informational (1xx) answers than this are an attack. */
const maxInformational = 100;

const passRead = (answer: UpstreamAnswer): void => answer.passRead();

/** One answer of a provider, in whatever state it is. */
export class UpstreamAnswer implements Answer, Late, CallHandler {
  status = 0;
  /** All of the body is in `held`. */
  complete = false;
  head: AnswerHead = noHead;
  readonly #deadline: CallDeadline;
  readonly #facts: CallFacts;
  #isReused = false;
  /** What came before there was a sink. */
  readonly #held = new HeldBytes();
  /** What came of the read that is being parsed, of an answer that is not held whole. */
  #read: ReadPieces | undefined;
  #isReading = false;
  /** The sink has asked for a pause. */
  #isFull = false;
  readonly #guard = new ChunkGuard();
  #informational = 0;
  #sent = false;
  #over = false;
  #failure: Failure | undefined;
  #isReady = false;
  #whenReady: ((failure: UpstreamFailure | undefined) => void) | undefined;
  #sink: Sink | undefined;
  #decoder: DecodedSink | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #resume: (() => void) | undefined;

  constructor(patience: Patience, deadlines: Deadlines, facts: CallFacts) {
    this.#facts = facts;
    this.#deadline = new CallDeadline(patience, deadlines, facts, this);
  }

  /** Calls `listener` once: when the answer is complete, or open with its first bytes held, or has failed before. */
  whenReady(listener: (failure: UpstreamFailure | undefined) => void): void {
    if (this.#isReady) listener(this.#sendFailure());
    else this.#whenReady = listener;
  }

  get contentType(): string | undefined {
    return this.head.contentType;
  }

  get contentLength(): string | undefined {
    return this.head.contentLength;
  }

  /** A stream is decoded on the way where that is possible. */
  get contentEncoding(): string | undefined {
    const { receivedEncoding, stream } = this.head;
    return receivedEncoding !== undefined && stream && isDecodable(receivedEncoding) ? undefined : receivedEncoding;
  }

  get stream(): boolean {
    return this.head.stream;
  }

  get framed(): boolean {
    return this.head.framed;
  }

  /** The bytes held so far: all of them when `complete`. */
  body(): Buffer {
    return this.#held.peek();
  }

  attach(sink: Sink): void {
    const encoding = this.head.receivedEncoding;
    if (this.stream && encoding !== undefined && isDecodable(encoding)) {
      const source = { resume: () => this.#readOn(), cancel: (failure: Failure) => this.#fail(failure) };
      this.#decoder = decodedSink(encoding, sink, source);
    }
    this.#sink = this.#decoder ?? sink;
    this.#pass(this.#held.take());
    if (this.#over) this.#sink.end(this.#failure);
  }

  resume(): void {
    if (this.#decoder) this.#decoder.resume();
    else this.#readOn();
  }

  finishSoon(): void {
    this.#deadline.finishSoon();
    this.#readOn();
    this.#decoder?.resume();
  }

  cancel(failure?: Failure): void {
    if (failure === undefined) this.#decoder?.close();
    this.#fail(failure ?? clientLeft);
  }

  late(failure: Failure): void {
    this.#fail(failure);
  }

  onReuse(): void {
    this.#isReused = true;
  }

  onConnect(abort: (reason?: Error) => void): void {
    if (this.#over) {
      abort();
      return;
    }
    this.#abort = abort;
    this.#sent = true;
    this.#deadline.sent();
  }

  onBodySent(): void {
    this.#deadline.sentMore();
  }

  onRequestSent(): void {
    this.#deadline.sentAll();
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
    this.head = readAnswerHead(rawHeaders, status);
    this.#facts.takeHead?.(status, rawHeaders);
    if (this.head.stream) this.#deadline.awaitFirstEvent();
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (this.#over) return true;
    if (!this.#isFull && (this.#sink !== undefined || !this.stream)) this.#deadline.awaitMore();
    if (this.#guard.isCrumbling(chunk.length)) {
      this.#fail({ code: 'upstream_invalid_response', reason: 'it comes in chunks of a few bytes each' });
      return true;
    }
    if (this.#sink === undefined && !this.stream && this.#held.length + chunk.length <= this.#facts.mostHeldBytes) {
      this.#held.add(chunk);
      return true;
    }
    if (this.#isReading || this.#sink === undefined || chunk.length < longPiece) this.#gather(chunk);
    else this.#pass(chunk);
    return !this.#isFull;
  }

  #gather(piece: Buffer): void {
    this.#read ??= new ReadPieces();
    this.#read.add(piece);
    if (!this.#isReading) process.nextTick(passRead, this);
    this.#isReading = true;
  }

  /** undici has parsed a read: what came with it goes to the sink, or the answer is handed over. */
  passRead(): void {
    this.#isReading = false;
    const bytes = this.#read?.take();
    if (!bytes?.length) return;
    if (this.#sink) this.#pass(bytes);
    else {
      this.#held.add(bytes);
      if (this.#facts.needsEvent && !beginsReadably(this.head, this.#held.peek())) return;
      this.#deadline.awaitMore();
      this.#tellReady(undefined);
    }
  }

  #pass(bytes: Buffer): void {
    this.#isFull = bytes.length > 0 && this.#sink?.write(bytes) === false;
    if (this.#isFull) this.#deadline.pause();
  }

  onComplete(): void {
    if (this.#over) return;
    this.#over = true;
    this.complete = true;
    this.#end();
  }

  onError(error: Error): void {
    this.#fail(failureOf(error));
  }

  #readOn(): void {
    if (this.#over) return;
    this.#isFull = false;
    this.#deadline.awaitMore();
    this.#resume?.();
  }

  /** Nothing more comes. An answer that is handed over only now ends when it gets its sink. */
  #end(): void {
    this.#deadline.stop();
    const sink = this.#sink;
    this.passRead();
    if (sink === undefined) this.#tellReady(this.#sendFailure());
    else sink.end(this.#failure);
  }

  #tellReady(failure: UpstreamFailure | undefined): void {
    this.#isReady = true;
    const listener = this.#whenReady;
    this.#whenReady = undefined;
    listener?.(failure);
  }

  #sendFailure(): UpstreamFailure | undefined {
    // A process that ends may close its kept connections a moment before its port: the new one is accepted, and closed unread.
    const mayBeStale = this.#isReused || this.#facts.isFresh;
    const isUnanswered = mayBeStale && this.#sent && this.status === 0 && this.#failure !== clientLeft;
    if (this.#failure === undefined) return undefined;
    return sendFailure(this.#failure, this.#sent, isUnanswered ? this.#deadline.sinceSentMs : undefined);
  }

  /** Ends the call, tells the waiting stage, and frees the connection. */
  #fail(failure: Failure): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#end();
    this.#abort?.(new Error(failure.code));
  }
}
