// Sets aside, for a request that was admitted before its size was known, the tokens that it will probably take.
import type { Need } from './fleet/waiting.ts';
import type { Lease } from './lease.ts';
import { liveCounter, type Matches } from './match.ts';
import { type Rejection, reject } from './rejection.ts';
import { type Room, tokenNeeds, tokenRoom } from './room.ts';
import { isAsking, whenKnown } from './when-known.ts';

/**
 * Sets aside `tokens` under every token rule of `matches` that the lease is counted under. Returns the rejection when one has no room; the
 * lease then holds nothing. A shadow rule without room counts a `shadow_reject`, and neither the request nor its tokens. Below 1 token
 * nothing is asked and nothing is taken. `nowMs` in Unix milliseconds.
 */
export function reserveTokens(lease: Lease, matches: Matches, tokens: number, nowMs: number): Rejection | undefined {
  if (!(tokens >= 1)) return undefined;
  const reserved = tryToReserve(lease, matches, { tokens, isLast: true }, nowMs);
  if (isAsking(reserved)) throw new Error('a reservation that cannot wait was not decided');
  return reserved;
}

/** `reserveTokens`, which asks the state store where a fleet shares a rule: a promise then, as `Limiter.admitSoon` gives. */
export function reserveTokensSoon(
  lease: Lease,
  matches: Matches,
  tokens: number,
  nowMs: number,
): Rejection | undefined | Promise<Rejection | undefined> {
  if (!(tokens >= 1)) return undefined;
  return whenKnown(matches, nowMs, (now, isLast) => tryToReserve(lease, matches, { tokens, isLast }, now));
}

function tryToReserve(
  lease: Lease,
  matches: Matches,
  { tokens, isLast }: { readonly tokens: number; readonly isLast: boolean },
  nowMs: number,
): Rejection | undefined | readonly Need[] {
  const windows = matches
    .matched()
    .filter(({ caps }) => caps.tokensCap !== Number.POSITIVE_INFINITY && lease.counts(caps.tally))
    .map((match) => ({ ...match, counter: liveCounter(match) ?? match.caps.tally.open(match.child) }));
  const rooms = windows.map(({ caps, counter }) => tokenRoom(caps, counter, nowMs, { wanted: tokens, isLast }));
  const isRefused = (room: Room, index: number): boolean =>
    room !== 'room' && room !== 'asking' && windows[index]?.caps.shadow === false;
  if (rooms.some(isRefused)) {
    lease.refund(nowMs);
    return reject(windows, nowMs, 'reject', tokens);
  }
  if (rooms.some((room, index) => room === 'asking' && windows[index]?.caps.shadow === false))
    return tokenNeeds(windows, tokens, nowMs);
  for (const [index, match] of windows.entries()) {
    const { tally } = match.caps;
    if (rooms[index] === 'none') {
      tally.decisions.note('tokens', 'shadow_reject');
      lease.leave(tally, nowMs);
    } else lease.reserve(match, tokens, nowMs);
  }
  return undefined;
}
