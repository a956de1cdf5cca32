// How a trip ended, and what its answer used. That is read once: with its record, or before when something needs it at once.
import type { RecordedAttempt } from '../records/attempts.ts';
import type { RecordedEnd } from '../records/record-of-trip.ts';
import type { UpstreamTally } from '../tallies/upstream-tally.ts';
import { ofBrokenAnswer, type TokenUsage, type UsageSource } from '../tokens/token-usage.ts';

export interface TripEndParts {
  readonly metrics: {
    /** Counts tokens, and whether they were reported or estimated. */
    tokens(source: TokenUsage['source'], count: number): void;
    readonly upstream: Pick<UpstreamTally, 'charged' | 'ended'>;
  };
  /** Tells the operator of an unexpected failure. */
  readonly reportFailure: (error: unknown, requestId: string) => void;
}

/** The part of a trip that knows what its answer used. */
interface UsingTrip {
  readonly exchange: { readonly id: string };
  readonly ending: { readonly refused: unknown };
  readonly accepted: Pick<RecordedAttempt, 'target'> | undefined;
  readonly usage: UsageSource | undefined;
}

interface Ended extends Omit<RecordedEnd, 'usage'> {
  readonly trip: UsingTrip;
  /** Its tokens were counted as they came. */
  readonly isSession: boolean;
}

export class TripEnd implements RecordedEnd {
  readonly status: number;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: number;
  readonly #trip: UsingTrip;
  readonly #isSession: boolean;
  readonly #parts: TripEndParts;
  #usage: TokenUsage | undefined;
  #isRead = false;

  constructor({ trip, isSession, status, nowMs }: Ended, parts: TripEndParts) {
    this.status = status;
    this.nowMs = nowMs;
    this.#trip = trip;
    this.#isSession = isSession;
    this.#parts = parts;
  }

  /** Counted in the metrics when it is read. Undefined: nothing came, or tokens are not counted. */
  get usage(): TokenUsage | undefined {
    if (!this.#isRead) {
      this.#isRead = true;
      this.#usage = usageOf(this.#trip, this.#isSession, this.#parts);
      if (this.#usage !== undefined && !this.#isSession) count(this.#usage, this.#trip, this.#parts);
    }
    return this.#usage;
  }
}

function count(usage: TokenUsage, { accepted }: UsingTrip, { metrics }: TripEndParts): void {
  metrics.tokens(usage.source, usage.totalTokens);
  if (accepted !== undefined) metrics.upstream.charged(accepted.target, usage.inputTokens, usage.outputTokens);
}

/** Of an answer that broke off, or whose client left, what was not reported is `partial`. The client has its answer already: what cannot be measured is reported, and costs nothing. */
function usageOf(
  { usage, exchange, ending }: UsingTrip,
  isSession: boolean,
  { reportFailure }: TripEndParts,
): TokenUsage | undefined {
  try {
    const used = usage?.usage();
    const isWhole = ending.refused === undefined || isSession;
    return used === undefined || isWhole ? used : ofBrokenAnswer(used);
  } catch (error) {
    reportFailure(error, exchange.id);
    return undefined;
  }
}
