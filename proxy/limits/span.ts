// How long the use of a rule's window lasts: what clients see as the start and the end of the window, and the seconds to its reset.
import { sliceCount, sliceStartMs } from '../../domain/rules/slice.ts';
import type { Caps, Counter } from './tally.ts';
import { type Lane, requests, tokens } from './window.ts';

/** The start of the oldest slice with use; now when nothing is used. Unix milliseconds. */
export function windowStartMs(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  const window = counter?.window;
  if (window === undefined) return nowMs;
  window.advance(nowMs);
  let slice = Number.POSITIVE_INFINITY;
  if (caps.requestsCap !== Number.POSITIVE_INFINITY) slice = window.oldest(requests);
  if (caps.tokensCap !== Number.POSITIVE_INFINITY) slice = Math.min(slice, window.oldest(tokens));
  return slice === Number.POSITIVE_INFINITY ? nowMs : sliceStartMs(slice, caps.rule.periodSeconds);
}

/** The moment at which all present use has left; now and a period when nothing is used. Unix milliseconds. */
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

/** Whole seconds, at least 1: the wait of the dimension when nothing of it remains, else until all present use has left. */
export function resetSeconds(caps: Caps, counter: Counter | undefined, lane: Lane, nowMs: number): number {
  return waitSeconds(caps, counter, lane, nowMs) || secondsUntil(windowEndMs(caps, counter, nowMs), nowMs);
}

/** Whole seconds, at least 1, until this cap alone admits; 0 when it does now. A cap of 0 admits when its block has ended. */
export function waitSeconds(caps: Caps, counter: Counter | undefined, lane: Lane, nowMs: number): number {
  const cap = capOf(caps, lane);
  if (cap === 0) return blockSeconds(caps, nowMs);
  return counter?.window?.retryAfterSeconds(lane, cap, nowMs) ?? 0;
}

/** The same for the slots of a concurrency rule. */
export function slotSeconds(caps: Caps, counter: Counter | undefined, nowMs: number): number {
  if (caps.slotsCap === 0) return blockSeconds(caps, nowMs);
  return (counter?.inFlight ?? 0) >= caps.slotsCap ? 1 : 0;
}

function blockSeconds({ rule }: Caps, nowMs: number): number {
  return secondsUntil(rule.blockedUntilMs ?? nowMs, nowMs);
}

/** What a lane may hold at most; Infinity without a cap. */
export function capOf({ requestsCap, tokensCap }: Caps, lane: Lane): number {
  return lane === requests ? requestsCap : tokensCap;
}

/** Rounded up, at least 1. */
export function secondsUntil(momentMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((momentMs - nowMs) / 1000));
}
