// How long the use of a rule's window lasts: what clients see as the start and the end of the window, and the seconds to its reset.
import type { LimitLane } from '../../domain/limits/exchange.ts';
import { sliceCount, sliceStartMs } from '../../domain/rules/slice.ts';
import { laneOf } from './figures.ts';
import { capWithoutStore, laneRoom, lanesOf } from './room.ts';
import { hasTokenRoom, neededTokens } from './set-aside.ts';
import type { Caps, Counter } from './tally.ts';
import { type Lane, requests, tokens } from './window.ts';

/** The start of the oldest slice with use in Unix milliseconds; `nowMs` when nothing is used. Of a fleet, as far as the store has said it. */
export function windowStartMs(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  const window = counter?.window;
  if (counter === undefined || window === undefined) return nowMs;
  window.advance(nowMs);
  const { periodSeconds } = caps.rule;
  let startMs = nowMs;
  for (const lane of limitedLanes(caps)) {
    const slice = window.oldest(lane);
    if (slice !== Number.POSITIVE_INFINITY) startMs = Math.min(startMs, sliceStartMs(slice, periodSeconds));
    const span = counter.shared?.known(laneOf(lane))?.span;
    // What was oldest when the store said it may have left meanwhile.
    if (span !== undefined && span.endMs > nowMs)
      startMs = Math.min(startMs, Math.max(span.startMs, nowMs - (periodSeconds * 1000 * sliceCount) / 60));
  }
  return Math.floor(startMs);
}

/** The Unix millisecond at which all use has left the window; one period after `nowMs` when nothing is used. Of a fleet as above. */
export function windowEndMs(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  const { periodSeconds } = caps.rule;
  const window = counter?.window;
  if (counter === undefined || window === undefined) return nowMs + 1000 * periodSeconds;
  window.advance(nowMs);
  let endMs = nowMs;
  for (const lane of limitedLanes(caps)) {
    const slice = window.newest(lane);
    if (slice !== -1) endMs = Math.max(endMs, sliceStartMs(slice + sliceCount, periodSeconds));
    endMs = Math.max(endMs, counter.shared?.known(laneOf(lane))?.span?.endMs ?? endMs);
  }
  return endMs > nowMs ? endMs : nowMs + 1000 * periodSeconds;
}

const everyLane: readonly Lane[] = [requests, tokens];

function limitedLanes(caps: Caps): readonly Lane[] {
  return everyLane.filter((lane) => capOf(caps, lane) !== Number.POSITIVE_INFINITY);
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
  if (counter?.shared !== undefined) return sharedSeconds(caps, counter, { of: laneOf(lane) }, nowMs);
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
