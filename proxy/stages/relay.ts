// Stage 8: an answer's bytes to the client, through the taps, at the pace at which both sides can go.

import type { Answer, Failure, Sink, Tap } from '../answer.ts';
import { type Refusal, refusal } from '../errors.ts';
import { fixedHeaderList } from '../http/answer-headers.ts';
import { ClientSink } from '../http/client-sink.ts';
import type { Exchange, Waiting } from '../http/exchange.ts';
import { endAnswer } from '../http/linger.ts';
import type { KeyHolder, KeyStreams } from '../kept/key-streams.ts';

/** An answer, and how it goes to the client. */
export interface Delivery {
  readonly answer: Answer;
  /** The provider whose answer it is; undefined: none's. */
  readonly provider: string | undefined;
  /** Each sees the bytes; the first is next to the provider. */
  readonly taps: readonly Tap[];
  /** Headers besides the answer's own, names and values in turn. */
  readonly headers: readonly string[];
  /** Whose key or token must hold for as long as the stream lasts. */
  readonly holder: KeyHolder | undefined;
}

/** How a trip ended. */
export interface Ending {
  /** Status the client got; that of the error when the answer broke off; 499 when the client left before. */
  readonly status: number;
  /** Headers of the answer, names and values in turn; none when it was refused. */
  readonly headers: readonly string[];
  /** The error that came in place of the answer or broke it off, whether the client could be told or not. */
  readonly refused: Refusal | undefined;
}

interface RelayParts {
  readonly keyStreams: KeyStreams;
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/** The end of an answer when the gateway itself fails in the middle of it. */
const ownFailure: Failure = { code: 'internal_error', reason: '' };
/** Ends the stream of a key that was revoked. */
const keyRevoked: Failure = { code: 'key_revoked', reason: '' };

/**
 * Relays an answer. Gives its end at once when all of it is there; else resolves when the last byte was written, the client left, or the answer
 * broke off. What fails unexpectedly while bytes flow is reported, and ends the answer without a word about the provider. A client that leaves
 * while a tap awaits more (the usage behind the last words of a stream) leaves the call open for a moment, its slots included.
 */
export function relay(delivery: Delivery, exchange: Exchange, parts: RelayParts): Ending | Promise<Ending> {
  const { answer, taps } = delivery;
  const { response } = exchange;
  if (exchange.gone) {
    answer.cancel();
    passWhole(taps, answer.body());
    return { status: 499, headers: [], refused: refusal('client_left') };
  }
  if (isWhole(delivery)) {
    const body = passWhole(taps, answer.body());
    const headers = headersOf(delivery, exchange, String(body.length));
    response.writeHead(answer.status, headers);
    endAnswer(exchange, body);
    return { status: answer.status, headers, refused: undefined };
  }
  const headers = headersOf(delivery, exchange, answer.stream ? undefined : answer.contentLength);
  try {
    response.writeHead(answer.status, headers);
  } catch (error) {
    answer.cancel();
    throw error;
  }
  return new Promise((ended) =>
    new Flow(delivery, exchange, parts, (status, refused) => ended({ status, headers, refused })).start(),
  );
}

/** All of it leaves at once, with its length; a stream only where nothing looks at its events, and nothing can break it off. */
function isWhole({ answer, taps }: Delivery): boolean {
  return answer.complete && (!answer.stream || (answer.isOwn === true && taps.length === 0));
}

/** The bytes of a whole answer behind all taps. */
export function passWhole(taps: readonly Tap[], body: Buffer): Buffer {
  let passed = body;
  for (const tap of taps) passed = tap.whole(passed);
  return passed;
}

/** Bytes of a stream that pass its taps before other requests have their turn. */
const mostAtOnce = 64 * 1024;

/** An open answer that flows to its client until it is over. The head has been written. */
class Flow implements Sink, Waiting {
  readonly #delivery: Delivery;
  readonly #exchange: Exchange;
  readonly #parts: RelayParts;
  readonly #ended: (status: number, refused: Refusal | undefined) => void;
  /** The first tap, or the client. */
  readonly #first: Sink;
  #isOver = false;
  #isDraining = false;
  #passedBytes = 0;
  /** Others have their turn: that the client takes more does not end it. */
  #isPausing = false;
  #drainedBytes = 0;
  #broken: Failure | undefined;
  #unwatch: (() => void) | undefined;

  constructor(
    delivery: Delivery,
    exchange: Exchange,
    parts: RelayParts,
    ended: (status: number, refused: Refusal | undefined) => void,
  ) {
    this.#delivery = delivery;
    this.#exchange = exchange;
    this.#parts = parts;
    this.#ended = ended;
    const { answer, provider, taps } = delivery;
    let first: Sink = new ClientSink(answer, provider, exchange, (status, refused) => this.#finish(status, refused));
    for (let index = taps.length - 1; index >= 0; index -= 1) first = taps[index]?.open(first) ?? first;
    this.#first = first;
  }

  start(): void {
    const { answer, holder } = this.#delivery;
    this.#exchange.response.on('drain', () => {
      if (!this.#isPausing) answer.resume();
    });
    this.#exchange.waiting = this;
    if (answer.stream && holder?.keyId !== undefined) {
      this.#unwatch = this.#parts.keyStreams.watch(holder, () => answer.cancel(keyRevoked));
    }
    answer.attach(this);
  }

  write(chunk: Buffer): boolean {
    // Several chunks may come at once, also behind an end.
    if (this.#isOver || this.#broken !== undefined) return true;
    try {
      const isFlowing = this.#first.write(chunk);
      if (!this.#isDraining) return isFlowing && this.#mayGoOn(chunk.length);
      this.#drainedBytes += chunk.length;
      if (!this.#awaitsMore()) this.#leave();
    } catch (error) {
      this.#parts.reportFailure(error, this.#exchange.id);
      this.#broken = ownFailure;
      this.#delivery.answer.cancel(ownFailure);
    }
    return true;
  }

  /** False: others have their turn before more is taken. What passes no tap costs next to nothing. */
  #mayGoOn(bytes: number): boolean {
    const { answer, taps } = this.#delivery;
    this.#passedBytes += bytes;
    if (this.#passedBytes <= mostAtOnce || taps.length === 0) return true;
    this.#passedBytes = 0;
    this.#isPausing = true;
    setImmediate(() => {
      this.#isPausing = false;
      if (!this.#isOver && !this.#exchange.response.writableNeedDrain) answer.resume();
    });
    return false;
  }

  end(failure: Failure | undefined): void {
    if (this.#isOver) return;
    try {
      if (this.#isDraining) this.#finish(499, refusal('client_left'));
      else this.#first.end(this.#broken ?? failure);
    } catch (error) {
      this.#parts.reportFailure(error, this.#exchange.id);
      this.#exchange.response.destroy();
      const refused = refusal('internal_error', { fill: { request_id: this.#exchange.id } });
      this.#finish(refused.status, refused);
    }
  }

  gone(): void {
    this.#isDraining = this.#awaitsMore();
    if (this.#isDraining) this.#delivery.answer.finishSoon();
    else this.#leave();
  }

  #awaitsMore(): boolean {
    return this.#delivery.taps.some((tap) => tap.awaitsMore(this.#drainedBytes));
  }

  #leave(): void {
    this.#finish(499, refusal('client_left'));
    this.#delivery.answer.cancel();
  }

  #finish(status: number, refused: Refusal | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#unwatch?.();
    this.#ended(status, refused);
  }
}

/** The few headers of an answer that are the client's business (never a provider's account or rate-limit headers), and ours. */
function headersOf(
  { answer, headers: given }: Delivery,
  { id, request, response }: Exchange,
  length: string | undefined,
): string[] {
  // The rest of an unfinished request is not read, so the connection cannot carry another request.
  if (!request.complete) response.shouldKeepAlive = false;
  const headers = ['x-request-id', id, ...fixedHeaderList, ...given];
  const { contentType, contentLength, status, stream } = answer;
  if (contentType !== undefined) headers.push('content-type', contentType);
  const said = request.method === 'HEAD' && !stream ? contentLength : length;
  if (stream) headers.push('cache-control', 'no-cache', 'x-accel-buffering', 'no');
  if (said !== undefined && status !== 204 && status !== 304) headers.push('content-length', said);
  return headers;
}
