// When a second target is asked beside one that is slow to begin, and how often at most.
import { durationMs } from '../../schemas/formats/units.ts';
import type { Alias } from '../../schemas/types.ts';
import type { Latency } from '../targets/latency.ts';

/** How the requests of an alias are hedged. */
export interface HedgePlan {
  /** After so long, in milliseconds; undefined: when the first target takes longer than usual. */
  readonly afterMs: number | undefined;
  /** What is usual: so many of 100 of its answers began sooner. */
  readonly percentile: number;
  /** The most hedges, relative to the requests of aliases that hedge. */
  readonly share: number;
}

const usualPercentile = 95;

/**
 * Undefined: they are not. By definition one answer of twenty is slower than the 95th percentile; when more are, the target has become slow, and
 * hedging would only double its load.
 */
export function compileHedge(hedge: Alias['hedge']): HedgePlan | undefined {
  if (hedge === false) return undefined;
  const { after, percentile = usualPercentile } = hedge === true ? {} : hedge;
  const afterMs = after === undefined ? undefined : durationMs(after);
  return Object.freeze({ afterMs, percentile, share: (100 - percentile) / 100 });
}

/** How long the first byte is waited for before another target is asked, in milliseconds; undefined: too little is known of the target. */
export function hedgeDelayMs(
  { afterMs, percentile }: HedgePlan,
  latency: Latency,
  isStream: boolean,
): number | undefined {
  return afterMs ?? latency.percentile(percentile, isStream);
}
