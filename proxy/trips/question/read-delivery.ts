// Reads all of an answer through its taps, as a client would get it, up to a bound.
import type { Failure, Sink } from '../../answer.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { ModelRequest, Waiting } from '../../http/exchange.ts';
import type { Delivery } from '../../stages/relay.ts';

/** Longest answer that is read. Bytes. */
const mostBytes = 1024 * 1024;
const tooLarge: Failure = { code: 'upstream_invalid_response', reason: `it has more than ${mostBytes} bytes` };
const nothing: Buffer = Buffer.alloc(0);

/** Tells once what has come: all of the body; or why not. */
type Told = (body: Buffer, broken: Refusal | undefined) => void;

/** Reads an answer until it is over, or until the maker of the request leaves: then its taps have seen what has come. */
export function readDelivery(delivery: Delivery, request: ModelRequest, told: Told): void {
  const { answer, taps } = delivery;
  const isWhole = answer.complete && !answer.stream;
  if (request.gone || isWhole) {
    if (!isWhole) answer.cancel();
    let body = answer.body();
    for (const tap of taps) body = tap.whole(body);
    if (body.length > mostBytes) told(nothing, brokenBy(tooLarge, delivery.provider));
    else told(body, undefined);
    return;
  }
  new Reader(delivery, request, told).start();
}

function brokenBy({ code, reason }: Failure, provider: string | undefined): Refusal {
  return refusal(code, { ...(provider === undefined ? undefined : { provider }), fill: { reason } });
}

class Reader implements Sink, Waiting {
  readonly #delivery: Delivery;
  readonly #request: ModelRequest;
  readonly #told: Told;
  readonly #pieces: Buffer[] = [];
  #length = 0;

  constructor(delivery: Delivery, request: ModelRequest, told: Told) {
    this.#delivery = delivery;
    this.#request = request;
    this.#told = told;
  }

  start(): void {
    const { answer, taps } = this.#delivery;
    this.#request.waiting = this;
    answer.attach(taps.reduceRight<Sink>((next, tap) => tap.open(next), this));
  }

  gone(): void {
    this.#delivery.answer.cancel();
  }

  write(chunk: Buffer): boolean {
    this.#length += chunk.length;
    if (this.#length > mostBytes) this.#delivery.answer.cancel(tooLarge);
    // The chunk is the parser's memory, which is used again.
    else this.#pieces.push(Buffer.from(chunk));
    return true;
  }

  end(failure: Failure | undefined): void {
    const { provider } = this.#delivery;
    const broken = failure ?? (this.#length > mostBytes ? tooLarge : undefined);
    if (broken !== undefined) this.#told(nothing, brokenBy(broken, provider));
    else this.#told(Buffer.concat(this.#pieces), undefined);
  }
}
