// Second admission of a request whose body arrived slowly: windows count it at the moment it goes on to a provider.
import { isShadowed, takeWindow } from './admit.ts';
import type { Lease } from './lease.ts';
import { liveCounter, type MatchedCounters, type Matches } from './match.ts';
import { isExhausted, type Rejection, reject } from './rejection.ts';

/**
 * Counts the request at `nowMs` (Unix milliseconds) instead of the time of its admission under `matches`, where a slice
 * has passed since. Remove and count are one step, so that no trailing period holds more than the cap; the slots stay.
 * Returns the rejection when the rules refuse it now; the lease then holds nothing. The decision of the first admission
 * is not counted again.
 */
export function renewLease(lease: Lease, matches: Matches, nowMs: number): Rejection | undefined {
  if (!lease.isDated(nowMs)) return undefined;
  lease.uncount(nowMs);
  const windows = windowsOf(matches.matched(), lease);
  const isRefusing = windows.some((match) => !match.caps.shadow && isExhausted(match.caps, liveCounter(match), nowMs));
  if (isRefusing) {
    lease.release();
    return reject(windows, nowMs, 'reject');
  }
  const counted = windowsOf(matches.opened(), lease).filter((match) => !isShadowed(match, nowMs));
  for (const { caps, counter } of counted) takeWindow(caps, counter, nowMs);
  lease.recount(counted, nowMs);
  return undefined;
}

/** The windows of the matching rules; a shadow rule that would have refused the first admission is left out. */
function windowsOf(matched: MatchedCounters, lease: Lease): MatchedCounters {
  return matched.filter(({ caps }) => caps.rule.periodSeconds !== 0 && (!caps.shadow || lease.counts(caps.tally)));
}
