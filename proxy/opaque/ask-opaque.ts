// Sends an opaque call to a target, once, and says what has come of it. A kept connection that had been closed does not count.

import type { Refusal } from '../errors.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { keyHeaders } from '../providers/key-headers.ts';
import { failureRefusal, statusRejection } from '../providers/provider-error.ts';
import { type Consequence, noteAnswered, noteRefused } from '../routing/retry/note-outcome.ts';
import type { Allowance } from '../stages/admit.ts';
import type { CallRole } from '../targets/breaker.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import type { UpstreamFailure } from '../upstream/failure.ts';
import { type OpaqueAnswer, type OpaqueMethod, sendOpaque } from '../upstream/send-opaque.ts';
import type { OpaqueTarget } from './door.ts';

type Parts = Pick<Gateway, 'deadlines' | 'metrics' | 'nowMs' | 'pools' | 'targets' | 'telemetry'>;

/** A target that was asked. Moments in milliseconds of the gateway's clock. */
export interface AskedTarget {
  readonly target: OpaqueTarget;
  readonly allowance: Allowance;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** What its span is called; undefined: no traces are made. */
  readonly spanId: string | undefined;
  readonly reply: OpaqueAnswer;
}

/** Why a target gave no answer that can be relayed. */
export interface OpaqueFailure extends Consequence {
  readonly refused: Refusal;
  /** Undefined: its answer came completely. */
  readonly failure: UpstreamFailure | undefined;
}

/** Who asks, and is told once. */
export interface OpaqueAsker {
  readonly method: OpaqueMethod;
  readonly exchange: Exchange;
  /** What went wrong on the client's side while the provider was asked. */
  readonly fault: Refusal | undefined;
  /** The answer can be relayed; the allowance is held. */
  takeAnswer(asked: AskedTarget): void;
  /** It cannot, and nothing is held any more. */
  takeFailure(asked: AskedTarget, failed: OpaqueFailure): void;
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
  readonly #state: TargetState;
  #reply: OpaqueAnswer | undefined;

  constructor(target: OpaqueTarget, allowance: Allowance, asker: OpaqueAsker, parts: Parts) {
    this.#target = target;
    this.#allowance = allowance;
    this.#asker = asker;
    this.#parts = parts;
    this.#state = parts.targets.of(target.remembered ?? target);
  }

  send(isFresh: boolean): void {
    const startedAtMs = Math.floor(this.#parts.nowMs());
    const role = this.#state.breaker.begin(startedAtMs);
    try {
      this.#send(isFresh, role, startedAtMs);
    } catch (error) {
      this.#state.breaker.released(role);
      throw error;
    }
  }

  #send(isFresh: boolean, role: CallRole, startedAtMs: number): void {
    const { pools, deadlines } = this.#parts;
    const { upstream, path } = this.#target;
    const key = this.#target.key ?? upstream.credentials.pick(deadlines.coarseNowMs, this.#state.quota);
    const { method } = this.#asker;
    const body = this.#target.body();
    const headers = this.#headers(key);
    const spanId = this.#parts.telemetry?.propagate(this.#asker.exchange, headers);
    const isPaced = !Buffer.isBuffer(body);
    if (key.signer !== undefined && !isPaced)
      headers.push(...key.signer.sign({ method, path, headers, body }, startedAtMs));
    const outgoing = { method, path, headers, body, isFresh };
    const reply = sendOpaque(pools.get(upstream), outgoing, upstream.patience, deadlines);
    this.#reply = reply;
    const sent = { key, role, startedAtMs, spanId, isPaced, canRepeat: !isFresh && !isPaced };
    reply.answer.whenReady((failure) => this.#judge(reply, sent, failure));
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
      this.#state.breaker.released(sent.role);
      this.#allowance.lease.release();
      this.#asker.refuse(error);
    }
  }

  #tell(reply: OpaqueAnswer, { canRepeat, ...sent }: Sent, failure: UpstreamFailure | undefined): void {
    const { upstream, speaker, key: ownKey, isPassed = false } = this.#target;
    const { exchange, fault } = this.#asker;
    const { metrics, nowMs } = this.#parts;
    const { answer } = reply;
    const endedAtMs = nowMs();
    const isLeft = exchange.gone || fault !== undefined;
    if (failure === undefined) upstream.credentials.answered(sent.key, answer.status, answer.head, endedAtMs);
    const isUnsent = failure?.isStale === true && canRepeat;
    if (isUnsent && !isLeft) {
      this.#state.breaker.released(sent.role);
      this.send(true);
      return;
    }
    const call = { target: this.#target, state: this.#state, answer, ...sent };
    const { startedAtMs, spanId } = sent;
    const asked = { target: this.#target, allowance: this.#allowance, startedAtMs, endedAtMs, spanId, reply };
    const rejected =
      failure === undefined
        ? statusRejection(answer, { speaker, nowMs, isPassed })
        : failureRefusal(failure, upstream, answer.head);
    const refused = failure === undefined ? rejected : (fault ?? rejected);
    if (refused === undefined) {
      noteAnswered(call, endedAtMs, isLeft, metrics.upstream);
      this.#asker.takeAnswer(asked);
      return;
    }
    const brokenOff = failure !== undefined && isLeft ? 'cancelled' : undefined;
    const outcome = { refused, failure, brokenOff, isCall: !isUnsent, isBoundToKey: ownKey !== undefined } as const;
    const consequence = noteRefused(call, outcome, endedAtMs, metrics.upstream);
    answer.cancel();
    if (failure?.sent === false && !failure.isStale) this.#allowance.lease.refund(Math.floor(endedAtMs));
    else this.#allowance.lease.release();
    this.#asker.takeFailure(asked, { refused, failure, ...consequence });
  }
}

/** How a request was sent. */
interface Sent {
  readonly key: ApiKey;
  /** What the call is to the breaker. */
  readonly role: CallRole;
  readonly startedAtMs: number;
  readonly spanId: string | undefined;
  /** The client's body comes while it is sent. */
  readonly isPaced: boolean;
  /** On a new connection, if the one that was kept had been closed. */
  readonly canRepeat: boolean;
}
