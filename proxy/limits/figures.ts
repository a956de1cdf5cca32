// What is used, set aside and in flight under a cap, and what is left of it: of the whole fleet where it shares the cap, else of this proxy.
import type { LimitLane } from '../../domain/limits/exchange.ts';
import { sliceCount } from '../../domain/rules/slice.ts';
import type { Stock } from './fleet/stock.ts';
import { leftWithoutStore } from './room.ts';
import type { Caps, Counter } from './tally.ts';
import { type Lane, requests, tokens } from './window.ts';

/** What is used of a lane in the trailing period: by the fleet as the store said last, and by this proxy since; or by this proxy alone. */
export function usedOf(counter: Counter | undefined, lane: Lane, nowMs: number): number {
  const own = counter?.window?.used(lane, nowMs) ?? 0;
  const stock = stockOf(counter, lane);
  if (stock?.view === undefined) return own;
  const { view, untold, underWay } = stock;
  const isOld = nowMs - view.atMs > (stock.of.periodSeconds * 1000 * sliceCount) / 60;
  return Math.max(own, isOld ? 0 : view.used + untold + underWay);
}

/** Tokens that open requests have set aside. */
export function reservedOf(counter: Counter | undefined): number {
  return (counter?.reserved ?? 0) + (stockOf(counter, tokens)?.view?.othersOpen ?? 0);
}

/** Requests in flight under a concurrency rule. */
export function inFlightOf(counter: Counter | undefined): number {
  return (counter?.inFlight ?? 0) + (counter?.shared?.known('slots')?.view?.othersOpen ?? 0);
}

/**
 * What is left of a cap, beside what is used, set aside and in flight; what is held in advance is left, because it can be called back. While
 * the store is lost, what this proxy admits without it. Below 0: there is more than the cap.
 */
export function leftOf(caps: Caps, counter: Counter | undefined, lane: LimitLane, nowMs: number): number {
  if (counter?.shared?.fleet.isLost) return leftWithoutStore(caps, counter, lane, nowMs);
  if (lane === 'slots') return caps.slotsCap - inFlightOf(counter);
  if (lane === 'requests') return caps.requestsCap - usedOf(counter, requests, nowMs);
  return caps.tokensCap - usedOf(counter, tokens, nowMs) - reservedOf(counter);
}

/** The lane of the fleet for one of a window. */
export function laneOf(lane: Lane): 'requests' | 'tokens' {
  return lane === requests ? 'requests' : 'tokens';
}

function stockOf(counter: Counter | undefined, lane: Lane): Stock | undefined {
  return counter?.shared?.known(laneOf(lane));
}
