// Stage 9: what a trip took is given back, what it cost is charged, and how it ended is counted, exactly once.

import { relayedOutcome } from '../attempt-outcome.ts';
import type { Exchange, ModelRequest } from '../connection/exchange.ts';
import type { Gateway } from '../gateway.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { RecordedEnd, RecordedTrip } from '../records/record-of-trip.ts';
import { noteBreak } from '../retry/learn.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { usualCall } from '../targets/breaker.ts';
import { ofBrokenAnswer, type TokenUsage, type UsageSource } from '../tokens/token-usage.ts';
import type { Allowance } from './admit.ts';
import type { Principal } from './authenticate.ts';
import type { Ending } from './relay.ts';

/** A target whose answer was relayed. */
export type SettledAnswer = NonNullable<RecordedTrip['accepted']> & { readonly allowance: Allowance };

/** Everything that is known of one call of a model when it is over, of a client or of the gateway. Parts that it did not reach are undefined. */
export interface CallTrip extends RecordedTrip {
  readonly exchange: ModelRequest;
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  /** What the request held under the rules of its consumer. */
  readonly consumer: Allowance | undefined;
  readonly accepted: SettledAnswer | undefined;
  /** The same target, where it is remembered how it answers. */
  readonly remembered: Target | undefined;
  /** Knows what the accepted answer cost. */
  readonly usage: UsageSource | undefined;
  readonly ending: Ending;
}

/** Everything that is known of one request of a client to a provider when it is over (spec: Audit entry). */
export interface Trip extends CallTrip {
  /** That of the endpoint, as metrics say it. */
  readonly path: string;
  /** The request as it came, its id, its start and the address of its client. */
  readonly exchange: Exchange;
}

type Parts = Pick<
  Gateway,
  'accessLog' | 'metrics' | 'limiter' | 'nowMs' | 'records' | 'reportFailure' | 'targets' | 'telemetry'
>;

/** Gives the slots back, counts and logs how the trip ended, and charges its tokens to every rule it was admitted under. Gives its usage. */
export function settle(trip: Trip, parts: Parts): TokenUsage | undefined {
  const { exchange, accepted, ending } = trip;
  giveBack(trip);
  const nowMs = parts.nowMs();
  const provider = accepted?.target.upstream.name ?? ending.refused?.provider ?? '';
  const status = exchange.gone ? 499 : ending.status;
  const stream = trip.call?.stream ?? false;
  const seconds = (nowMs - exchange.startedAtMs) / 1000;
  parts.metrics.requests.end({ endpoint: trip.path, provider, stream, status, seconds });
  return account(trip, parts, { status, nowMs });
}

/** The same of a call that no client has asked for: it is none of the requests that are counted. */
export function settleCall(trip: CallTrip, parts: Parts): void {
  giveBack(trip);
  account(trip, parts, { status: trip.ending.status, nowMs: parts.nowMs() });
}

/** Whatever fails behind this, no slot stays taken. */
function giveBack({ exchange, consumer, accepted }: CallTrip): void {
  exchange.waiting = undefined;
  consumer?.lease.release();
  accepted?.allowance.lease.release();
}

type End = Omit<RecordedEnd, 'usage'>;

function account(trip: CallTrip, parts: Parts, end: End): TokenUsage | undefined {
  const { consumer, accepted, ending } = trip;
  const { metrics, limiter } = parts;
  const { nowMs } = end;
  if (accepted !== undefined) {
    const outcome = relayedOutcome(ending.refused);
    metrics.upstream.ended(accepted.target, outcome, (nowMs - accepted.startedAtMs) / 1000);
    const { remembered: target } = trip;
    if (target !== undefined && outcome !== 'success' && outcome !== 'cancelled') {
      noteBreak({ target, state: parts.targets.of(target), role: usualCall }, nowMs);
    }
  }
  if (trip.guarding !== undefined) metrics.guardrails.note(trip.guarding.findings);
  const usage = usageOf(trip, parts);
  if (usage !== undefined) {
    charge(limiter, consumer, usage, nowMs);
    charge(limiter, accepted?.allowance, usage, nowMs);
    metrics.tokens(usage.source, usage.totalTokens);
    if (accepted !== undefined) metrics.upstream.charged(accepted.target, usage.inputTokens, usage.outputTokens);
  }
  parts.accessLog.trip(trip, { ...end, usage });
  parts.records.trip(trip, { ...end, usage });
  parts.telemetry?.trip(trip, { ...end, usage });
  return usage;
}

function charge(limiter: Limiter, allowance: Allowance | undefined, { totalTokens }: TokenUsage, nowMs: number): void {
  if (allowance !== undefined) limiter.charge(allowance.matches, totalTokens, Math.floor(nowMs), allowance.lease);
}

/** Of an answer that broke off, or whose client left, what was not reported is `partial`. The client has its answer already: what cannot be measured is reported, and costs nothing. */
function usageOf({ usage, exchange, ending }: CallTrip, { reportFailure }: Parts): TokenUsage | undefined {
  try {
    const used = usage?.usage();
    return used === undefined || ending.refused === undefined ? used : ofBrokenAnswer(used);
  } catch (error) {
    reportFailure(error, exchange.id);
    return undefined;
  }
}
