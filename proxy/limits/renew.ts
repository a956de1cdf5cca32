// Admission a second time, for a request whose body took its time: windows count it at the moment it goes on to a provider.
import { isShadowed, takeWindow } from './admit.ts';
import type { Lease } from './lease.ts';
import { liveCounter, type MatchedCounters, type Matches } from './match.ts';
import { isExhausted, type Rejection, reject } from './rejection.ts';

/**
 * The request goes on at `nowMs`, some time after it was admitted under `matches`: where a slice has passed, windows count it now instead,
 * in one step, so that no trailing period holds more than the cap. Its slots stay. Gives the rejection when it is refused now; then
 * everything was given back. An admission is one decision, renewed or not.
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

/** The windows under which the request is admitted; a shadow rule that would have refused it before stays out. */
function windowsOf(matched: MatchedCounters, lease: Lease): MatchedCounters {
  return matched.filter(({ caps }) => caps.rule.periodSeconds !== 0 && (!caps.shadow || lease.counts(caps.tally)));
}
