// Stage 9: what a trip took is given back, what it cost is charged, and how it ended is counted, exactly once.

import type { Gateway } from '../gateway.ts';
import type { Exchange, ModelRequest } from '../http/exchange.ts';
import type { RecordedEnd, RecordedTrip } from '../records/record-of-trip.ts';
import type { Allowance } from '../routing/limit-refusal.ts';
import { noteBreak } from '../routing/retry/learn.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { relayedOutcome } from '../tallies/attempt-outcome.ts';
import { usualCall } from '../targets/breaker.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import type { Principal } from './authenticate.ts';
import type { Ending } from './relay.ts';
import { TripEnd } from './trip-end.ts';

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
  'accessLog' | 'metrics' | 'limiter' | 'nowMs' | 'records' | 'reportFailure' | 'targets' | 'telemetry' | 'usageEnabled'
>;

/** Gives the slots back, counts and logs how the trip ended, and charges its tokens to every rule it was admitted under. */
export function settle(trip: Trip, parts: Parts): RecordedEnd {
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

function account(trip: CallTrip, parts: Parts, { status, nowMs }: End): RecordedEnd {
  const { accepted, ending } = trip;
  const { metrics } = parts;
  if (accepted !== undefined) {
    const outcome = relayedOutcome(ending.refused);
    metrics.upstream.ended(accepted.target, outcome, (nowMs - accepted.startedAtMs) / 1000);
    const { remembered: target } = trip;
    if (target !== undefined && outcome !== 'success' && outcome !== 'cancelled') {
      noteBreak({ target, state: parts.targets.of(target), role: usualCall }, nowMs);
    }
  }
  if (trip.guarding !== undefined) metrics.guardrails.note(trip.guarding.findings);
  const end = new TripEnd(trip, parts, { status, nowMs });
  charge(trip, end, parts);
  parts.accessLog.trip(trip, end);
  parts.records.trip(trip, end);
  parts.telemetry?.trip(trip, end);
  return end;
}

/** What no rule counts is read with the record, which each answer has whose tokens are counted: it is cheaper there. */
function charge({ consumer, accepted }: CallTrip, end: RecordedEnd, { limiter, usageEnabled }: Parts): void {
  const allowances = [consumer, accepted?.allowance].filter((one) => one !== undefined);
  const isCharged = allowances.some(({ matches }) => limiter.countsTokens(matches));
  if (!isCharged && usageEnabled && accepted !== undefined) return;
  const { usage } = end;
  if (usage === undefined) return;
  for (const { matches, lease } of allowances) limiter.charge(matches, usage.totalTokens, Math.floor(end.nowMs), lease);
}
