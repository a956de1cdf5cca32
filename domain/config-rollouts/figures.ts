// How a revision is doing on a proxy: counts of its requests, and whether they are beyond the limits of the rollout. Pure.
import { durationMs } from '../../schemas/formats/units.ts';
import type { Rollout } from '../../schemas/types.ts';

/** Upper bounds of the times to the first byte, in milliseconds. Heartbeats carry counts by these: they never change. */
export const firstByteBounds: readonly number[] = [
  50, 100, 200, 300, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 60_000,
];

export interface RevisionCounts {
  /** Model requests of clients that are over. */
  readonly requests: number;
  /** Those that ended with a status of 500 and more. */
  readonly errors: number;
  /** Those that the gateway itself refused with 429 or 403. */
  readonly refusals: number;
  /** How many answers of providers began within each of `firstByteBounds` and not within the one before; the last: beyond all. */
  readonly firstBytes: readonly number[];
}

/** Shares from 0 to 1; null: there were no requests. `p95Ms`: of the times to the first byte, estimated; null: nothing was answered. */
export interface RevisionFigures extends Pick<RevisionCounts, 'requests' | 'errors' | 'refusals'> {
  readonly errorShare: number | null;
  readonly refusalShare: number | null;
  readonly p95Ms: number | null;
}

export const noCounts: RevisionCounts = {
  requests: 0,
  errors: 0,
  refusals: 0,
  firstBytes: firstByteBounds.map(() => 0).concat(0),
};

export function sumCounts(all: readonly RevisionCounts[]): RevisionCounts {
  return all.reduce(
    (sum, each) => ({
      requests: sum.requests + each.requests,
      errors: sum.errors + each.errors,
      refusals: sum.refusals + each.refusals,
      firstBytes: sum.firstBytes.map((count, index) => count + (each.firstBytes[index] ?? 0)),
    }),
    noCounts,
  );
}

export function figuresOf({ requests, errors, refusals, firstBytes }: RevisionCounts): RevisionFigures {
  const share = (count: number): number | null => (requests === 0 ? null : count / requests);
  const errorShare = share(errors);
  return { requests, errors, refusals, errorShare, refusalShare: share(refusals), p95Ms: p95Of(firstBytes) };
}

/** Within its bucket the times are taken to be evenly spread. Beyond all bounds: the last bound. */
function p95Of(counts: readonly number[]): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const rank = 0.95 * total;
  let below = 0;
  for (const [index, bound] of firstByteBounds.entries()) {
    const count = counts[index] ?? 0;
    if (count > 0 && below + count >= rank) {
      const from = firstByteBounds[index - 1] ?? 0;
      return Math.round(from + ((bound - from) * (rank - below)) / count);
    }
    below += count;
  }
  return firstByteBounds.at(-1) ?? 0;
}

/** The limits of a rollout. Shares from 0 to 1; absent: none. */
export interface RolloutLimits {
  readonly errorShare: number;
  readonly refusalShare: number | undefined;
  readonly p95Ms: number | undefined;
  readonly minRequests: number;
}

export function limitsOf({ abort_if: said }: Pick<Rollout, 'abort_if'>): RolloutLimits {
  return {
    errorShare: shareOf(said.error_share),
    refusalShare: said.refusals === undefined ? undefined : shareOf(said.refusals),
    p95Ms: said.p95 === undefined ? undefined : durationMs(said.p95),
    minRequests: said.min_requests,
  };
}

/** `"5%"` → 0.05 */
export function shareOf(text: string): number {
  return Number(text.slice(0, -1)) / 100;
}

/** The limit that the counts are beyond, in words; undefined: none, or there were too few requests. */
export function beyondLimits(counts: RevisionCounts, limits: RolloutLimits): string | undefined {
  const { requests, errorShare, refusalShare, p95Ms } = figuresOf(counts);
  if (requests < limits.minRequests) return undefined;
  if (errorShare !== null && errorShare > limits.errorShare)
    return `error_share was ${percent(errorShare)} of ${requests} requests, the limit is ${percent(limits.errorShare)}`;
  if (limits.refusalShare !== undefined && refusalShare !== null && refusalShare > limits.refusalShare)
    return `refusals were ${percent(refusalShare)} of ${requests} requests, the limit is ${percent(limits.refusalShare)}`;
  const answered = counts.firstBytes.reduce((sum, count) => sum + count, 0);
  if (limits.p95Ms !== undefined && p95Ms !== null && answered >= limits.minRequests && p95Ms > limits.p95Ms)
    return `p95 of ${answered} answers was ${p95Ms} ms, the limit is ${limits.p95Ms} ms`;
  return undefined;
}

function percent(share: number): string {
  return `${Math.round(share * 10_000) / 100} %`;
}
