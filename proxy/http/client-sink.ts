// Where every answer's bytes end: the socket of the client. How an answer ends there tells a complete one from a broken one.
import type { Answer, Failure, Sink } from '../answer.ts';
import { type ErrorCode, type Refusal, refusal } from '../errors.ts';
import { errorEvent } from './error-format.ts';
import type { Exchange } from './exchange.ts';
import { endAnswer } from './linger.ts';

/** Writes an answer whose head has been written. */
export class ClientSink implements Sink {
  readonly #answer: Answer;
  readonly #provider: string | undefined;
  readonly #exchange: Exchange;
  readonly #ended: (status: number, refused: Refusal | undefined) => void;

  /** `provider`: the name of the one whose answer it is; `ended` is called when its end was written: with its status, or with the error that broke it off. */
  constructor(
    answer: Answer,
    provider: string | undefined,
    exchange: Exchange,
    ended: (status: number, refused: Refusal | undefined) => void,
  ) {
    this.#answer = answer;
    this.#provider = provider;
    this.#exchange = exchange;
    this.#ended = ended;
  }

  /** Bytes for a client that left are dropped. */
  write(chunk: Buffer): boolean {
    return this.#exchange.gone || this.#exchange.response.write(chunk);
  }

  /** A broken stream ends with an error event and without its terminal one; anything else that broke, with a broken connection. */
  end(failure: Failure | undefined): void {
    const { response, id } = this.#exchange;
    if (failure === undefined) {
      endAnswer(this.#exchange);
      this.#ended(this.#answer.status, undefined);
      return;
    }
    const refused = refusalOf(failure, this.#provider, id);
    if (failure.isTold === true) response.end();
    else if (this.#answer.stream) {
      response.end(errorEvent(refused, this.#exchange));
    } else response.destroy();
    this.#ended(refused.status, refused);
  }
}

const ownCodes: ReadonlySet<ErrorCode> = new Set([
  'internal_error',
  'key_revoked',
  'guardrail_blocked',
  'guardrail_unavailable',
]);

/** Names the provider, but for what is the gateway's own doing. */
function refusalOf(failure: Failure, first: string | undefined, requestId: string): Refusal {
  const { code, reason, provider = first } = failure;
  const fill = { reason, request_id: requestId };
  const isOwn = provider === undefined || ownCodes.has(code);
  return refusal(code, isOwn ? { fill } : { fill, provider });
}
