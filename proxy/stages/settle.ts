// Stage 9: what a trip took is given back, what it cost is charged, and how it ended is counted, exactly once.
import type { Budgets } from '../budgets/budgets.ts';
import type { MoneyHold } from '../budgets/money-hold.ts';
import type { ModelRequest } from '../http/exchange.ts';
import type { Basis } from '../limits/answer-lengths.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { AccessLog } from '../records/access-log.ts';
import type { RecordedEnd, RecordedTrip } from '../records/record-of-trip.ts';
import type { Records } from '../records/records.ts';
import type { Telemetry } from '../records/spans/telemetry.ts';
import type { Allowance } from '../routing/limit-refusal.ts';
import { noteBreak } from '../routing/retry/learn.ts';
import type { Snapshot, Target } from '../snapshot/snapshot.ts';
import { relayedOutcome } from '../tallies/attempt-outcome.ts';
import type { RevisionTally } from '../tallies/revision-tally.ts';
import { usualCall } from '../targets/breaker.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { TokenUsage, UsageSource } from '../tokens/token-usage.ts';
import type { Principal } from './authenticate.ts';
import { chargeBudgets } from './charge/charge-budgets.ts';
import type { Expected } from './expect.ts';
import type { Ending } from './relay.ts';
import { TripEnd, type TripEndParts } from './trip-end.ts';

/** A target whose answer was relayed. */
export type SettledAnswer = NonNullable<RecordedTrip['accepted']> & {
  readonly allowance: Allowance;
  /** The state of the target, where the request is open until now. */
  readonly state: Pick<TargetState, 'open'>;
};

/** Everything that is known of a request when it is over (spec: Audit entry). Parts that it did not reach are undefined. */
export interface SettledTrip extends RecordedTrip {
  /** That of the endpoint, as metrics say it. */
  readonly path: string;
  readonly exchange: ModelRequest;
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  /** The allowance that the request held under the rules of its consumer. */
  readonly consumer: Allowance | undefined;
  readonly accepted: SettledAnswer | undefined;
  /** What it would probably take; undefined: nothing was set aside for it. */
  readonly expected: Expected | undefined;
  /** The money that was set aside for it; undefined: none was asked for. */
  readonly money: MoneyHold | undefined;
  /** Of a session: what was counted under budgets as it came, in nano-dollars. */
  readonly charged?: number;
  /** The target of the accepted answer, where it is remembered how it answers. */
  readonly remembered: Target | undefined;
  /** Knows what the accepted answer cost. */
  readonly usage: UsageSource | undefined;
  readonly ending: Ending;
}

/** How kinds of trips differ in their settlement. */
export interface Settling {
  /** A client sends it: it is one of the requests that are counted, and refused while memory is nearly full. */
  readonly isOfClient: boolean;
  /** It is a session: tokens were counted and charged as they came, and its target had answered when it began. */
  readonly isSession: boolean;
}

export interface SettleParts extends TripEndParts {
  readonly accessLog: Pick<AccessLog, 'trip'>;
  readonly budgets: Budgets;
  readonly limiter: Pick<Limiter, 'charge' | 'countsTokens'>;
  readonly metrics: TripEndParts['metrics'] & {
    readonly requests: RequestCounts;
    readonly revision: Pick<RevisionTally, 'end'>;
    /** An answer has used this share of what was set aside for it; `basis`: how its length was known before. */
    usedOfReserved(basis: Basis, share: number): void;
    readonly guardrails: { note(findings: NonNullable<RecordedTrip['guarding']>['findings']): void };
  };
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  readonly records: Pick<Records, 'trip'>;
  readonly targets: Pick<TargetStates, 'of'>;
  readonly telemetry?: Pick<Telemetry, 'trip'> | undefined;
  /** Tokens are counted. */
  readonly usageEnabled: boolean;
}

interface RequestCounts {
  begin(): void;
  /** `seconds`: from the request's first byte to the last of its answer. */
  end(over: { endpoint: string; provider: string; stream: boolean; status: number; seconds: number }): void;
}

/** Gets to know how a request ended. */
type Observer = (trip: SettledTrip, end: TripEnd, parts: SettleParts, kind: Settling) => void;

/** In this order. Tokens are read by the first that needs them. */
const observers: readonly Observer[] = [
  countAnswer,
  ({ guarding }, _end, { metrics }) => {
    if (guarding !== undefined) metrics.guardrails.note(guarding.findings);
  },
  (trip, end, { accessLog }) => accessLog.trip(trip, end),
  (trip, end, { records }) => records.trip(trip, end),
  (trip, end, { telemetry }) => telemetry?.trip(trip, end),
];

/** Charges the tokens, gives back what the request holds, and tells every observer. */
export function settle(trip: SettledTrip, kind: Settling, parts: SettleParts): RecordedEnd {
  const { exchange, consumer, accepted, expected, ending } = trip;
  exchange.waiting = undefined;
  const status = kind.isOfClient && exchange.gone ? 499 : ending.status;
  const end = new TripEnd({ trip, isSession: kind.isSession, status, nowMs: parts.nowMs() }, parts);
  try {
    // First: room that was set aside is not free before what was used of it is counted.
    charge(trip, end, parts, kind);
    if (parts.usageEnabled) chargeBudgets(trip, end, parts.budgets);
  } finally {
    // Whatever fails, nothing stays taken.
    consumer?.lease.release();
    accepted?.allowance.lease.release();
    if (accepted !== undefined) accepted.state.open -= 1;
    trip.money?.release();
    expected?.end();
  }
  if (kind.isOfClient) countRequest(trip, end, parts);
  for (const observe of observers) observe(trip, end, parts, kind);
  return end;
}

function countRequest(
  { path, exchange, accepted, ending, call, snapshot }: SettledTrip,
  { status, nowMs }: TripEnd,
  { metrics }: SettleParts,
): void {
  const provider = accepted?.target.upstream.name ?? ending.refused?.provider ?? '';
  const seconds = (nowMs - exchange.startedAtMs) / 1000;
  metrics.requests.end({ endpoint: path, provider, stream: call?.stream ?? false, status, seconds });
  metrics.revision.end({
    revision: snapshot.revision,
    status,
    isOwnRefusal: ending.refused !== undefined && ending.refused.provider === undefined,
    firstByteMs: accepted?.answer?.status ? accepted.endedAtMs - exchange.startedAtMs : undefined,
  });
}

/** How the target whose answer was relayed has done its work. */
function countAnswer(
  { accepted, ending, remembered }: SettledTrip,
  { nowMs }: TripEnd,
  { metrics, targets }: SettleParts,
  { isSession }: Settling,
): void {
  if (accepted === undefined) return;
  const outcome = isSession ? 'success' : relayedOutcome(ending.refused);
  const endedAtMs = isSession ? accepted.endedAtMs : nowMs;
  metrics.upstream.ended(accepted.target, outcome, (endedAtMs - accepted.startedAtMs) / 1000);
  if (remembered !== undefined && outcome !== 'success' && outcome !== 'cancelled')
    noteBreak({ target: remembered, state: targets.of(remembered), role: usualCall }, nowMs);
}

/**
 * Charges tokens to every rule that the request was admitted under. What no rule counts is read with the record, which each answer has whose
 * tokens are counted: it is cheaper there.
 */
function charge(trip: SettledTrip, end: TripEnd, parts: SettleParts, { isSession }: Settling): void {
  if (isSession) return;
  const { consumer, accepted } = trip;
  const { limiter, usageEnabled } = parts;
  const allowances = [consumer, accepted?.allowance].filter((one) => one !== undefined);
  const isCharged = allowances.some(({ matches }) => limiter.countsTokens(matches));
  if (!isCharged && trip.money?.isEmpty !== false && usageEnabled && accepted !== undefined) return;
  const { usage } = end;
  if (usage === undefined) return;
  for (const { matches, lease } of allowances) limiter.charge(matches, usage.totalTokens, Math.floor(end.nowMs), lease);
  if (isCharged || trip.money?.isEmpty === false) learn(trip, usage, isCharged ? parts.metrics : undefined);
}

/** Remembers how long a whole answer was, where its provider has told it. `metrics` undefined: no tokens were set aside for it. */
function learn(
  { accepted, ending, expected, rescued }: SettledTrip,
  usage: TokenUsage,
  metrics: SettleParts['metrics'] | undefined,
): void {
  if (accepted === undefined || expected === undefined || ending.refused !== undefined || rescued !== undefined) return;
  const { target } = accepted;
  metrics?.usedOfReserved(expected.outputAt(target).basis, usage.totalTokens / expected.at(target));
  expected.end(target, usage.source === 'reported' ? usage.outputTokens : undefined);
}
