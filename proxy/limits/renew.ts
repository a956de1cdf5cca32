// Admission a second time, for a request whose body took its time: windows count it at the moment it goes on to a provider.
import { isShadowed, takeWindow } from './admit.ts';
import type { Lease } from './lease.ts';
import type { MatchedCounters, Matches } from './match.ts';
import { isExhausted, type Rejection, refuse } from './rejection.ts';

/**
 * The request goes on at `nowMs`, some time after it was admitted under `matches`: where a slice has passed, windows count it now instead,
 * in one step, so that no trailing period holds more than the cap. Its slots stay. Gives the rejection when it is refused now; then
 * everything was given back. An admission is one decision, renewed or not.
 */
export function renewLease(lease: Lease, matches: Matches, nowMs: number): Rejection | undefined {
  if (!lease.isDated(nowMs)) return undefined;
  lease.uncount(nowMs);
  const windows = windowsOf(matches.matched(), lease);
  const isRefusing = windows.caps.some(
    (rule, index) => !rule.shadow && isExhausted(rule, windows.counter(index), nowMs),
  );
  if (isRefusing) {
    lease.release();
    return refuse(windows, nowMs, 'reject');
  }
  const open = windowsOf(matches.opened(), lease);
  const counted = open.only((index) => !isShadowed(open, index, nowMs));
  for (const [index, rule] of counted.caps.entries()) takeWindow(rule, counted.counters[index], nowMs);
  lease.recount(counted, nowMs);
  return undefined;
}

/** The windows under which the request is admitted; a shadow rule that would have refused it before stays out. */
function windowsOf(matched: MatchedCounters, lease: Lease): MatchedCounters {
  return matched.only((index) => {
    const rule = matched.caps[index];
    return rule !== undefined && rule.rule.periodSeconds !== 0 && (!rule.shadow || lease.counts(rule.tally));
  });
}
