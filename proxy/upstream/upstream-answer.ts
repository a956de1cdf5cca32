// One answer of a provider as it arrives, handed over whole (short, and not a stream) or open (the rest still arriving). On undici's raw
// handler interface: one object per call. undici hands over each HTTP chunk by itself; those of one read go to the sink together. Plain
// bytes are asked for; where they come compressed all the same, that is undone before anything looks at them, or they are not taken.
import type { Answer, Failure, Sink } from '../answer.ts';
import { giveBack } from '../bytes/give-back.ts';
import { HeldBytes } from '../bytes/held-bytes.ts';
import { ReadPieces } from '../bytes/read-pieces.ts';
import { type AnswerHead, beginsReadably, maxFirstBytes, noHead, readAnswerHead } from './answer-head.ts';
import { CallDeadline, type CallFacts, type Late } from './call-deadline.ts';
import { ChunkGuard } from './chunk-guard.ts';
import type { CallHandler } from './client-pool.ts';
import type { Deadlines } from './deadlines.ts';
import { type DecodedSink, decodedSink, isDecodable } from './decoded-sink.ts';
import { clientLeft, failureOf, sendFailure, type UpstreamFailure } from './failure.ts';
import { FirstBytes } from './first-bytes.ts';
import type { Patience } from './patience.ts';

/** To copy pieces of this size, so that several become one, would cost more than to write each. Bytes. */
const longPiece = 4 * 1024;
/** Most of an event stream that was not asked for. Bytes. */
const mostHeldEvents = 16 * 1024 * 1024;
/** Types that say nothing of the form of a body. */
const vague = /^(?:text\/plain|application\/octet-stream)\b|^$/i;
/** Types whose bytes are never gzip by themselves. */
const isText = /^text\/|\bjson\b/i;
const streamType = 'text/event-stream; charset=utf-8';
const jsonType = 'application/json; charset=utf-8';
const damaged = 'upstream_invalid_response';
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
  /** The bytes that came before there was a sink. */
  readonly #held = new HeldBytes();
  /** The pieces of the read that is being parsed; unused for an answer that is held whole. */
  #read: ReadPieces | undefined;
  #isReading = false;
  /** The sink has asked for a pause. */
  #isFull = false;
  readonly #guard = new ChunkGuard();
  #informational = 0;
  #sent = false;
  #over = false;
  /** The sink, or who waits for one, has been told. */
  #isEnded = false;
  #failure: Failure | undefined;
  #isReady = false;
  #whenReady: ((failure: UpstreamFailure | undefined) => void) | undefined;
  #sink: Sink | undefined;
  /** Undefined: what comes is plain. */
  #decoder: DecodedSink | undefined;
  /** An encoding that cannot be undone. */
  #oddEncoding: string | undefined;
  #hasBegun = false;
  /** Sees the first bytes of the body; undefined: they have passed, or the answer is relayed in any form. */
  #first: FirstBytes | undefined;
  #abort: ((reason: Error) => void) | undefined;
  #resume: (() => void) | undefined;

  constructor(patience: Patience, deadlines: Deadlines, facts: CallFacts) {
    this.#facts = facts;
    if (facts.wanted !== undefined) this.#first = new FirstBytes();
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
    this.#sink = sink;
    this.#pass(this.#held.take());
    if (this.#isEnded) sink.end(this.#failure);
  }

  resume(): void {
    this.#isFull = false;
    this.#readOn();
    this.#decoder?.resume();
  }

  finishSoon(): void {
    this.#deadline.finishSoon();
    this.resume();
  }

  cancel(failure?: Failure): void {
    const isDecoding = this.#decoder !== undefined && !this.#isEnded;
    this.#decoder?.close();
    this.#decoder = undefined;
    if (this.#over && isDecoding) this.#decoded(failure ?? clientLeft);
    else this.#fail(failure ?? clientLeft);
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

  onTaken(): void {
    if (this.#facts.ownBody !== undefined) giveBack(this.#facts.ownBody);
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
    if (this.head.stream && this.#facts.wanted === 'whole')
      this.head = { ...this.head, stream: false, heldEvents: true };
    if (this.head.receivedEncoding !== undefined) this.#decode(this.head.receivedEncoding);
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
    if (!this.#hasBegun) this.#begin(chunk);
    if (this.#oddEncoding !== undefined) return this.#dropOdd(this.#oddEncoding);
    return this.#decoder === undefined ? this.#take(chunk) : this.#decoder.write(chunk);
  }

  /** Bytes of the body as it is meant. False: no more for now. */
  #take(come: Buffer): boolean {
    const chunk = this.#first === undefined ? come : this.#readFirst(this.#first, come);
    if (chunk.length === 0) return true;
    const most = this.head.heldEvents ? mostHeldEvents : this.#facts.mostHeldBytes;
    if (this.#sink === undefined && !this.stream && this.#held.length + chunk.length <= most) {
      this.#held.add(chunk);
      return true;
    }
    if (this.#isReading || this.#sink === undefined || chunk.length < longPiece) this.#gather(chunk);
    else this.#pass(chunk);
    return !this.#isFull;
  }

  /** The bytes that may pass: none, until it is known what they are. */
  #readFirst(first: FirstBytes, chunk: Buffer): Buffer {
    const bytes = first.take(chunk);
    if (first.form !== undefined) this.#know(first);
    return bytes;
  }

  /** Servers send events under any type, and JSON under none. */
  #know({ form, hadMark }: FirstBytes): void {
    this.#first = undefined;
    if (hadMark) this.head = { ...this.head, contentLength: undefined };
    const { stream, heldEvents, contentType = '' } = this.head;
    if (this.status >= 400 || form === 'other' || form === undefined) return;
    if (form === 'json') {
      const isOdd = stream || heldEvents || vague.test(contentType);
      const said = { contentType: jsonType, stream: false, heldEvents: false, framed: false };
      if (isOdd) this.head = { ...this.head, ...said };
      return;
    }
    if (stream || heldEvents) return;
    const isAsked = this.#facts.wanted === 'stream';
    this.head = { ...this.head, contentType: streamType, stream: isAsked, heldEvents: !isAsked };
    if (isAsked) this.#deadline.awaitFirstEvent();
  }

  /** Proxies compress and forget to say so. */
  #begin(chunk: Buffer): void {
    this.#hasBegun = true;
    if (chunk[0] !== 0x1f || chunk[1] !== 0x8b || this.#decoder !== undefined) return;
    if (this.status >= 400 || isText.test(this.contentType ?? '')) this.#decode('gzip');
  }

  /** Decompresses the body as it comes; all readers of the answer see plain bytes. */
  #decode(encoding: string): void {
    this.head = { ...this.head, receivedEncoding: undefined, contentLength: undefined };
    if (!isDecodable(encoding)) {
      this.#oddEncoding = encoding;
      return;
    }
    const sink: Sink = {
      write: (piece) => this.#take(piece),
      // An error body that cannot be decompressed counts as empty.
      end: (failure) => this.#decoded(this.status < 400 || failure?.code !== damaged ? failure : undefined),
    };
    const source = {
      resume: () => this.#readOn(),
      cancel: ({ code }: Failure) => this.#abort?.(new Error(code)),
    };
    this.#decoder = decodedSink(encoding, sink, source);
  }

  /** An error is one without its words; nothing else can be used. */
  #dropOdd(encoding: string): boolean {
    const reason = `it is encoded as ${encoding}, although plain bytes were asked for`;
    if (this.status < 400) this.#fail({ code: damaged, reason });
    return true;
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
      if (this.#hasBegunToSay(bytes)) this.staysQuiet();
    }
  }

  /** Whether a stream is to be handed over with these bytes, the last of those that are held. */
  #hasBegunToSay(bytes: Buffer): boolean {
    const { opening, needsEvent } = this.#facts;
    const isRead = opening !== undefined && this.stream && this.status < 400;
    if (isRead) opening.push(bytes);
    else if (!needsEvent) return true;
    if (!beginsReadably(this.head, this.#held.peek())) return !needsEvent;
    if (!isRead || !opening.isQuiet || this.#held.length > maxFirstBytes) return true;
    this.#deadline.awaitWords();
    return false;
  }

  /** Hands over the bytes so far, although they have no content. */
  staysQuiet(): void {
    this.#deadline.awaitMore();
    this.#tellReady(undefined);
  }

  #pass(bytes: Buffer): void {
    this.#isFull = bytes.length > 0 && this.#sink?.write(bytes) === false;
    if (this.#isFull) this.#deadline.pause();
  }

  onComplete(): void {
    if (this.#over) return;
    this.#over = true;
    if (this.#decoder === undefined) this.#decoded(undefined);
    else this.#decoder.end(undefined);
  }

  /** All of it is there, as it is meant. */
  #decoded(failure: Failure | undefined): void {
    const rest = this.#first?.rest();
    if (rest !== undefined && this.#first !== undefined) this.#know(this.#first);
    if (rest !== undefined && rest.length > 0) this.#take(rest);
    this.#over = true;
    this.#failure = failure;
    this.complete = failure === undefined;
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
    this.#isEnded = true;
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
    // The bytes so far are passed on first.
    if (this.#decoder === undefined) this.#decoded(failure);
    else this.#decoder.end(failure);
    this.#abort?.(new Error(failure.code));
  }
}
