// Sends an opaque call to its target, once, and says what has come of it. A kept connection that had been closed does not count.
import { failedOutcome } from '../attempt-outcome.ts';
import type { Exchange } from '../connection/exchange.ts';
import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import { keyHeaders } from '../providers/key-headers.ts';
import { failureRefusal, statusRejection } from '../providers/provider-error.ts';
import type { Allowance } from '../stages/admit.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import { type OpaqueAnswer, type OpaqueMethod, sendOpaque } from '../upstream/send-opaque.ts';
import type { OpaqueTarget } from './door.ts';

type Parts = Pick<Gateway, 'deadlines' | 'metrics' | 'nowMs' | 'pools'>;

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
export interface AskedTarget {
  readonly target: OpaqueTarget;
  readonly allowance: Allowance;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly reply: OpaqueAnswer;
}

/** Who asks, and is told once. */
export interface OpaqueAsker {
  readonly method: OpaqueMethod;
  readonly exchange: Exchange;
  /** What went wrong on the client's side while the provider was asked. */
  readonly fault: Refusal | undefined;
  /** The answer can be relayed; the allowance is held. */
  takeAnswer(asked: AskedTarget): void;
  /** It cannot, and nothing is held any more. `isSent`: the request reached the provider, as far as is known. */
  takeFailure(asked: AskedTarget, refused: Refusal, isSent: boolean): void;
  /** Something unexpected; nothing is held. */
  refuse(error: unknown): void;
}

/** Gives what cancels the call. When sending throws, the allowance is given back. */
export function askOpaque(target: OpaqueTarget, allowance: Allowance, asker: OpaqueAsker, parts: Parts): () => void {
  const call = new OpaqueCall(target, allowance, asker, parts);
  try {
    call.send(false);
  } catch (error) {
    allowance.lease.release();
    throw error;
  }
  return () => call.cancel();
}

class OpaqueCall {
  readonly #target: OpaqueTarget;
  readonly #allowance: Allowance;
  readonly #asker: OpaqueAsker;
  readonly #parts: Parts;
  #reply: OpaqueAnswer | undefined;

  constructor(target: OpaqueTarget, allowance: Allowance, asker: OpaqueAsker, parts: Parts) {
    this.#target = target;
    this.#allowance = allowance;
    this.#asker = asker;
    this.#parts = parts;
  }

  send(isFresh: boolean): void {
    const { pools, deadlines, nowMs } = this.#parts;
    const { upstream, path } = this.#target;
    const startedAtMs = Math.floor(nowMs());
    const key = this.#target.key ?? upstream.credentials.pick(deadlines.coarseNowMs);
    const { method } = this.#asker;
    const body = this.#target.body();
    const headers = this.#headers(key);
    if (key.signer !== undefined && Buffer.isBuffer(body))
      headers.push(...key.signer.sign({ method, path, headers, body }, startedAtMs));
    const outgoing = { method, path, headers, body, isFresh };
    const reply = sendOpaque(pools.get(upstream), outgoing, upstream.patience, deadlines);
    this.#reply = reply;
    const canRepeat = !isFresh && Buffer.isBuffer(body);
    reply.answer.whenReady((failure) => this.#judge(reply, { key, startedAtMs, canRepeat }, failure));
  }

  cancel(): void {
    this.#reply?.answer.cancel();
  }

  #headers(key: ApiKey): string[] {
    const { upstream, keyStyle, headers } = this.#target;
    const own = [...keyHeaders(keyStyle, key.secret), ...upstream.headers, 'accept-encoding', 'identity'];
    return [...own, 'x-request-id', this.#asker.exchange.id, ...headers];
  }

  #judge(reply: OpaqueAnswer, sent: Sent, failure: UpstreamFailure | undefined): void {
    try {
      this.#tell(reply, sent, failure);
    } catch (error) {
      reply.answer.cancel();
      this.#allowance.lease.release();
      this.#asker.refuse(error);
    }
  }

  #tell(reply: OpaqueAnswer, { key, startedAtMs, canRepeat }: Sent, failure: UpstreamFailure | undefined): void {
    const { upstream, speaker } = this.#target;
    const { exchange, fault } = this.#asker;
    const { metrics, nowMs } = this.#parts;
    const { answer } = reply;
    const endedAtMs = nowMs();
    const isLeft = exchange.gone || fault !== undefined;
    if (failure === undefined) upstream.credentials.answered(key, answer.status, answer.head, endedAtMs);
    if (failure?.isStale === true && canRepeat && !isLeft) {
      this.send(true);
      return;
    }
    const asked = { target: this.#target, allowance: this.#allowance, startedAtMs, endedAtMs, reply };
    const rejected =
      failure === undefined ? statusRejection(answer, speaker, nowMs) : failureRefusal(failure, upstream, answer.head);
    const refused = failure === undefined ? rejected : (fault ?? rejected);
    const seconds = (endedAtMs - startedAtMs) / 1000;
    if (refused === undefined) {
      metrics.upstream.begun(this.#target, seconds);
      this.#asker.takeAnswer(asked);
      return;
    }
    metrics.upstream.ended(this.#target, failedOutcome(refused, failure !== undefined && isLeft), seconds);
    answer.cancel();
    if (failure?.sent === false && !failure.isStale) this.#allowance.lease.refund(Math.floor(endedAtMs));
    else this.#allowance.lease.release();
    this.#asker.takeFailure(asked, refused, failure?.sent !== false);
  }
}

/** How a request was sent. */
interface Sent {
  readonly key: ApiKey;
  readonly startedAtMs: number;
  /** On a new connection, if the one that was kept had been closed. */
  readonly canRepeat: boolean;
}
