// Second admission of a request whose body arrived slowly: windows count it at the moment it goes on to a provider.
import { isShadowed, takeWindow } from './admit.ts';
import type { Need } from './fleet/waiting.ts';
import type { Lease } from './lease.ts';
import type { MatchedCounter, MatchedCounters, Matches } from './match.ts';
import { type Rejection, reject } from './rejection.ts';
import { needsOf, roomOf } from './room.ts';
import { momentOf, whenKnown } from './when-known.ts';

/**
 * Counts the request at `nowMs` (Unix milliseconds) instead of the time of its admission under `matches`, where a slice
 * has passed since. Remove and count are one step, so that no trailing period holds more than the cap; the slots stay.
 * Returns the rejection when the rules refuse it now; the lease then holds nothing. The decision of the first admission
 * is not counted again.
 */
export function renewLease(
  lease: Lease,
  matches: Matches,
  nowMs: number,
): Rejection | undefined | Promise<Rejection | undefined> {
  if (!lease.isDated(nowMs)) return undefined;
  return whenKnown(matches, nowMs, (now, isLast) => tryToRenew(lease, matches, now, isLast));
}

function tryToRenew(
  lease: Lease,
  matches: Matches,
  nowMs: number,
  isLast: boolean,
): Rejection | undefined | readonly Need[] {
  const windows = windowsOf(matches.opened(), lease);
  // What the fleet counts in its ring is moved: it takes no further unit.
  const moved = new Set(windows.filter((match) => match.caps.isShared && lease.isCountedIn(match, nowMs)));
  const renewed = windows.filter((match) => !moved.has(match));
  const enforced = renewed.filter(({ caps }) => !caps.shadow);
  const isAsking = ({ caps, counter }: MatchedCounter): boolean => roomOf(caps, counter, nowMs) === 'asking';
  // It stays counted while it waits, so that no other request takes its place.
  if (!isLast && enforced.some(isAsking)) return needsOf(renewed, 0, nowMs);
  lease.uncount(nowMs);
  if (enforced.some(({ caps, counter }) => roomOf(caps, counter, nowMs, { isLast }) !== 'room')) {
    lease.release();
    return reject(windows, nowMs, 'reject');
  }
  const counted = windows.filter((match) => moved.has(match) || !isShadowed(match, nowMs));
  for (const { caps, counter } of counted) takeWindow(caps, counter, nowMs);
  lease.recount(counted, nowMs, momentOf(counted, nowMs));
  return undefined;
}

/** The windows of the matching rules; a shadow rule that would have refused the first admission is left out. */
function windowsOf(matched: MatchedCounters, lease: Lease): MatchedCounters {
  return matched.filter(({ caps }) => caps.rule.periodSeconds !== 0 && (!caps.shadow || lease.counts(caps.tally)));
}
