// How long the use of a rule's window lasts: what clients see as the start and the end of the window, and the seconds to its reset.
import type { LimitLane } from '../../domain/limits/exchange.ts';
import { sliceCount, sliceStartMs } from '../../domain/rules/slice.ts';
import { capWithoutStore, laneRoom, lanesOf } from './room.ts';
import { hasTokenRoom, neededTokens } from './set-aside.ts';
import type { Caps, Counter } from './tally.ts';
import { type Lane, requests, tokens } from './window.ts';

/** The start of the oldest slice with use in Unix milliseconds; `nowMs` when nothing is used. */
export function windowStartMs(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  const window = counter?.window;
  if (window === undefined) return nowMs;
  window.advance(nowMs);
  let slice = Number.POSITIVE_INFINITY;
  if (caps.requestsCap !== Number.POSITIVE_INFINITY) slice = window.oldest(requests);
  if (caps.tokensCap !== Number.POSITIVE_INFINITY) slice = Math.min(slice, window.oldest(tokens));
  return slice === Number.POSITIVE_INFINITY ? nowMs : sliceStartMs(slice, caps.rule.periodSeconds);
}

/** The Unix millisecond at which all use has left the window; one period after `nowMs` when nothing is used. */
export function windowEndMs(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  const { periodSeconds } = caps.rule;
  const window = counter?.window;
  let slice = -1;
  if (window !== undefined) {
    window.advance(nowMs);
    if (caps.requestsCap !== Number.POSITIVE_INFINITY) slice = window.newest(requests);
    if (caps.tokensCap !== Number.POSITIVE_INFINITY) slice = Math.max(slice, window.newest(tokens));
  }
  return slice === -1 ? nowMs + 1000 * periodSeconds : sliceStartMs(slice + sliceCount, periodSeconds);
}

/**
 * Whole seconds, at least 1, to the reset of a dimension: until its cap admits again when it is used up, else until all
 * use of the rule has left. What is set aside does not lengthen it.
 */
export function resetSeconds(caps: Caps, counter: Counter | undefined, lane: Lane, nowMs: number): number {
  return waitSeconds(caps, counter, lane, nowMs) || secondsUntil(windowEndMs(caps, counter, nowMs), nowMs);
}

/**
 * Whole seconds until the use of this cap alone admits a request; 0 when it admits one now. A cap of 0 admits when its block ends.
 */
export function waitSeconds(caps: Caps, counter: Counter | undefined, lane: Lane, nowMs: number): number {
  const cap = capOf(caps, lane);
  if (cap === 0) return blockSeconds(caps, nowMs);
  if (counter?.shared !== undefined)
    return sharedSeconds(caps, counter, { of: lane === requests ? 'requests' : 'tokens' }, nowMs);
  return counter?.window?.retryAfterSeconds(lane, cap, nowMs) ?? 0;
}

/**
 * Whole seconds until a token cap alone has room for `wanted` tokens; 0 when it has room now. Where only what open requests have set aside is
 * in the way, the wait is that until use has made room for the wish, and at least 1: the end of a request cannot be foreseen.
 */
export function tokenSeconds(caps: Caps, counter: Counter | undefined, wanted: number, nowMs: number): number {
  const { tokensCap } = caps;
  if (tokensCap === 0) return blockSeconds(caps, nowMs);
  const { window } = counter ?? {};
  if (counter === undefined || window === undefined || tokensCap === Number.POSITIVE_INFINITY) return 0;
  if (counter.shared !== undefined) return sharedSeconds(caps, counter, { of: 'tokens', wanted }, nowMs);
  window.advance(nowMs);
  if (hasTokenRoom(caps, counter, wanted)) return 0;
  const needed = neededTokens(caps, counter, wanted);
  return Math.max(1, window.retryAfterSeconds(tokens, tokensCap - needed + 1, nowMs));
}

/**
 * Whole seconds until a concurrency rule has a free slot: 0 when it has one now, 1 when it has none, because the end of
 * a request cannot be foreseen.
 */
export function slotSeconds(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  if (caps.slotsCap === 0) return blockSeconds(caps, nowMs);
  if (counter?.shared !== undefined) return Math.min(1, sharedSeconds(caps, counter, { of: 'slots' }, nowMs));
  return (counter?.inFlight ?? 0) >= caps.slotsCap ? 1 : 0;
}

/**
 * The same for a lane that the fleet shares: as the store said, or while it is lost by this proxy's part. 0 also while the store has to be
 * asked.
 */
function sharedSeconds(
  caps: Caps,
  counter: Counter,
  { of, wanted = 0 }: { readonly of: LimitLane; readonly wanted?: number },
  nowMs: number,
): number {
  const lane = lanesOf(caps, wanted).find((found) => found.lane === of);
  if (lane === undefined || laneRoom(caps, counter, lane, nowMs) !== 'none') return 0;
  const { dryUntilMs = -1 } = counter.shared?.known(of) ?? {};
  if (dryUntilMs > nowMs || counter.window === undefined) return secondsUntil(dryUntilMs, nowMs);
  const most = capWithoutStore(caps, counter, lane.cap);
  return Math.max(
    1,
    counter.window.retryAfterSeconds(of === 'requests' ? requests : tokens, most - lane.units + 1, nowMs),
  );
}

/** What is used of a lane in the trailing period: by the fleet as the store said last, and by this proxy since; or by this proxy alone. */
export function usedOf(counter: Counter | undefined, lane: Lane, nowMs: number): number {
  const own = counter?.window?.used(lane, nowMs) ?? 0;
  const stock = counter?.shared?.known(lane === requests ? 'requests' : 'tokens');
  if (stock?.view === undefined) return own;
  const { view, untold, underWay } = stock;
  const isOld = nowMs - view.atMs > (stock.of.periodSeconds * 1000 * sliceCount) / 60;
  return Math.max(own, isOld ? 0 : view.used + untold + underWay);
}

/** Requests in flight under a concurrency rule: of the fleet, as the store said last, what others hold in advance included. */
export function inFlightOf(counter: Counter | undefined): number {
  return (counter?.inFlight ?? 0) + (counter?.shared?.known('slots')?.view?.others ?? 0);
}

function blockSeconds({ rule }: Caps, nowMs: number): number {
  return secondsUntil(rule.blockedUntilMs ?? nowMs, nowMs);
}

/** The cap of a lane, in requests or tokens; Infinity without a cap. */
export function capOf({ requestsCap, tokensCap }: Caps, lane: Lane): number {
  return lane === requests ? requestsCap : tokensCap;
}

/** Whole seconds from `nowMs` to `momentMs`, rounded up, at least 1. */
export function secondsUntil(momentMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((momentMs - nowMs) / 1000));
}
