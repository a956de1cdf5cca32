// Admission: check every rule, then take from all of them or from none (spec, Limits 5).
import { Lease } from './lease.ts';
import { liveCounter, type MatchedCounter, type MatchedCounters, type Matches } from './match.ts';
import { exhaustedOf, isExhausted, type Rejection, reject } from './rejection.ts';
import type { Caps, Counter } from './tally.ts';
import { requests } from './window.ts';

export type Admission =
  | { readonly lease: Lease; readonly rejection?: undefined }
  | { readonly lease?: undefined; readonly rejection: Rejection };

/**
 * Admits under all of `matches` or under none, and sets `wanted` tokens aside; see `Limiter.admit`. `nowMs` in Unix milliseconds. Does not
 * throw.
 */
export function admitMatched(
  matches: Matches,
  nowMs: number,
  rejectedAs: 'reject' | 'skip_target',
  wanted: number,
): Admission {
  let matched = matches.matched();
  if (matched.length === 0) return nothingTaken;
  let isShadowing = false;
  let isOpen = true;
  for (const match of matched) {
    const counter = liveCounter(match);
    isOpen &&= counter !== undefined && counter === match.counter;
    if (!isExhausted(match.caps, counter, nowMs, wanted)) continue;
    if (!match.caps.shadow) return { rejection: reject(matched, nowMs, rejectedAs, wanted) };
    isShadowing = true;
  }
  if (!isOpen) matched = matches.opened();
  if (isShadowing) matched = matched.filter((match) => !isShadowed(match, nowMs, wanted));
  take(matched, nowMs);
  const lease = new Lease(matched, nowMs);
  if (wanted >= 1) for (const match of matched) lease.reserve(match, wanted);
  return { lease };
}

/** Without a matching rule there is nothing to give back, so all such requests share one lease. */
const nothingTaken: Admission = Object.freeze({ lease: new Lease([], 0) });

/** Books one request on every matched counter. */
function take(matched: MatchedCounters, nowMs: number): void {
  for (const { caps, counter } of matched) {
    if (counter === undefined) continue;
    const { decisions } = caps.tally;
    if (counter.window === undefined) {
      counter.inFlight += 1;
      decisions.note('concurrent', 'allow');
      continue;
    }
    takeWindow(caps, counter, nowMs);
    if (caps.requestsCap !== Number.POSITIVE_INFINITY) decisions.note('requests', 'allow');
    if (caps.tokensCap !== Number.POSITIVE_INFINITY) decisions.note('tokens', 'allow');
  }
}

/** Books one request on the window of a rule, if it counts requests. */
export function takeWindow(caps: Caps, counter: Counter | undefined, nowMs: number): void {
  if (counter?.window === undefined || caps.requestsCap === Number.POSITIVE_INFINITY) return;
  counter.window.add(requests, 1, nowMs);
  counter.touch();
}

/**
 * Whether a rule would refuse the request now; each used-up cap counts a `shadow_reject`. Call it after admission: only
 * shadow rules can then answer true.
 */
export function isShadowed(match: MatchedCounter, nowMs: number, wanted: number = 0): boolean {
  const exhausted = exhaustedOf(match, nowMs, wanted);
  for (const { tally, dimension } of exhausted) tally.decisions.note(dimension, 'shadow_reject');
  return exhausted.length > 0;
}
