// Second admission of a request whose body arrived slowly: windows count it at the moment it goes on to a provider.
import { isShadowed, takeWindow } from './admit.ts';
import type { Need } from './fleet/waiting.ts';
import type { Lease } from './lease.ts';
import { liveCounter, type MatchedCounters, type Matches } from './match.ts';
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
  const moved = new Set(matches.matched().filter((match) => match.caps.isShared && lease.isCountedIn(match, nowMs)));
  lease.uncount(nowMs);
  const windows = windowsOf(matches.matched(), lease);
  let isAsking = false;
  for (const match of windows) {
    if (match.caps.shadow || moved.has(match)) continue;
    const room = roomOf(match.caps, liveCounter(match), nowMs, { isLast });
    if (room === 'asking') isAsking = true;
    else if (room !== 'room') {
      lease.release();
      return reject(windows, nowMs, 'reject');
    }
  }
  const opened = windowsOf(matches.opened(), lease);
  if (isAsking && !isLast)
    return needsOf(
      opened.filter((match) => !moved.has(match)),
      0,
      nowMs,
    );
  const counted = opened.filter((match) => moved.has(match) || !isShadowed(match, nowMs));
  for (const { caps, counter } of counted) takeWindow(caps, counter, nowMs);
  lease.recount(counted, nowMs, momentOf(counted, nowMs));
  return undefined;
}

/** The windows of the matching rules; a shadow rule that would have refused the first admission is left out. */
function windowsOf(matched: MatchedCounters, lease: Lease): MatchedCounters {
  return matched.filter(({ caps }) => caps.rule.periodSeconds !== 0 && (!caps.shadow || lease.counts(caps.tally)));
}
