// Tokens that open requests have set aside: the one place that says whether there is room for more, takes them and gives them back.
import type { FleetCounter } from './fleet/fleet-counter.ts';
import type { Caps, Counter } from './tally.ts';

/** Tokens that one request has set aside on one counter. */
export interface SetAside {
  readonly counter: Counter;
  readonly tokens: number;
}

/** Whether a token cap has room for a request that will probably take `wanted` tokens. Call it after `window.advance`. */
export function hasTokenRoom(caps: Caps, counter: Counter, wanted: number): boolean {
  const { tokensCap } = caps;
  return (counter.window?.tokensUsed ?? 0) + counter.reserved + neededTokens(caps, counter, wanted) <= tokensCap;
}

/**
 * The tokens that must be free for a request: its wish, at least 1 and at most the whole cap. Where no open request has set anything aside,
 * one may go as soon as a token is free, so that a client that sends one request after the other notices nothing; where estimates are
 * bounds, only one that is larger than the cap, which would be refused for ever.
 */
export function neededTokens(caps: Caps, counter: Counter, wanted: number): number {
  return counter.reservers === 0 && oneMayGo(caps, wanted) ? 1 : wishOf(caps, wanted);
}

/** Whether a request may go with less room than it wants, while no other one is open. */
export function oneMayGo({ tokensCap, alone }: Caps, wanted: number): boolean {
  return alone === 'any' || (alone === 'larger' && wanted > tokensCap);
}

/** The units that a request must find: at least 1, and as a rule at most the whole cap. */
export function wishOf({ tokensCap, alone }: Caps, wanted: number): number {
  const units = Math.max(1, Math.floor(wanted));
  return alone === 'none' ? units : Math.min(tokensCap, units);
}

/** Sets aside `wanted` tokens where `hasTokenRoom` was true: all that is free, where it is less. Call it after `window.advance`. */
export function setAside(caps: Caps, counter: Counter, wanted: number, nowMs: number): SetAside {
  if (counter.shared !== undefined) return setAsideShared(caps, counter, wanted, nowMs);
  const free = caps.tokensCap - (counter.window?.tokensUsed ?? 0) - counter.reserved;
  const tokens = Math.min(wishOf(caps, wanted), Math.max(0, free));
  counter.reserved += tokens;
  counter.reservers += 1;
  return { counter, tokens };
}

/** The same of what the fleet shares: from what this proxy holds; while the store is lost, of what nobody granted. */
function setAsideShared(caps: Caps, counter: Counter, wanted: number, nowMs: number): SetAside {
  const shared = counter.shared as FleetCounter;
  const stock = shared.stock('tokens', nowMs);
  const wish = wishOf(caps, wanted);
  const tokens = shared.fleet.isValid(nowMs) ? Math.min(wish, Math.max(0, stock.units)) : wish;
  shared.hold('tokens', tokens, nowMs);
  stock.isAlone = false;
  counter.reserved += tokens;
  counter.reservers += 1;
  return { counter, tokens };
}

/** Gives back what `setAside` returned; call it once for each. */
export function giveBack({ counter, tokens }: SetAside): void {
  counter.reserved -= tokens;
  counter.reservers -= 1;
  counter.releaseShared('tokens', tokens);
}
