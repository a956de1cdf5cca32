// Sets aside, for a request that was admitted before its size was known, the tokens that it will probably take.
import type { Lease } from './lease.ts';
import { liveCounter, type MatchedCounter, type Matches } from './match.ts';
import { isOutOfTokens, type Rejection, reject } from './rejection.ts';

/**
 * Sets aside `tokens` under every token rule of `matches` that the lease is counted under. Returns the rejection when one has no room; the
 * lease then holds nothing. A shadow rule without room counts a `shadow_reject`, and neither the request nor its tokens. Below 1 token
 * nothing is asked and nothing is taken. `nowMs` in Unix milliseconds.
 */
export function reserveTokens(lease: Lease, matches: Matches, tokens: number, nowMs: number): Rejection | undefined {
  if (!(tokens >= 1)) return undefined;
  const windows = matches
    .matched()
    .filter(({ caps }) => caps.tokensCap !== Number.POSITIVE_INFINITY && lease.counts(caps.tally));
  if (windows.length === 0) return undefined;
  const isFull = (match: MatchedCounter): boolean => isOutOfTokens(match.caps, liveCounter(match), nowMs, tokens);
  if (windows.some((match) => !match.caps.shadow && isFull(match))) {
    lease.refund(nowMs);
    return reject(windows, nowMs, 'reject', tokens);
  }
  for (const match of windows) {
    const { tally } = match.caps;
    if (isFull(match)) {
      tally.decisions.note('tokens', 'shadow_reject');
      lease.leave(tally, nowMs);
    } else lease.reserve({ ...match, counter: liveCounter(match) ?? tally.open(match.child) }, tokens);
  }
  return undefined;
}
