// Admission: check every rule, then take from all of them or from none (spec, Limits 5).
import type { Need } from './fleet/waiting.ts';
import { Lease } from './lease.ts';
import { liveCounter, type MatchedCounter, type MatchedCounters, type Matches } from './match.ts';
import { exhaustedOf, type Rejection, reject } from './rejection.ts';
import { needsOf, roomOf } from './room.ts';
import type { Caps, Counter } from './tally.ts';
import { isAsking, momentOf, whenKnown } from './when-known.ts';
import { requests } from './window.ts';

export type Admission =
  | { readonly lease: Lease; readonly rejection?: undefined }
  | { readonly lease?: undefined; readonly rejection: Rejection };

/** How a request is admitted. */
export interface Admitting {
  readonly rejectedAs: 'reject' | 'skip_target';
  /** The tokens that it will probably take, which are set aside. */
  readonly wanted: number;
}

/**
 * Admits under all of `matches` or under none; see `Limiter.admit`. `nowMs` in Unix milliseconds. Does not throw. A promise where the state
 * store has to be asked, which resolves within the time that requests may wait for it.
 */
export function admitMatched(matches: Matches, nowMs: number, admitting: Admitting): Admission | Promise<Admission> {
  return whenKnown(matches, nowMs, (now, isLast) => tryToAdmit(matches, now, { ...admitting, isLast }));
}

/** `admitMatched` with what is known now. */
export function admitNow(matches: Matches, nowMs: number, admitting: Admitting): Admission {
  const admission = tryToAdmit(matches, nowMs, { ...admitting, isLast: true });
  if (isAsking(admission)) throw new Error('an admission that cannot wait was not decided');
  return admission;
}

/** An admission; or what it needs that the state store has to grant. */
function tryToAdmit(
  matches: Matches,
  nowMs: number,
  { rejectedAs, wanted, isLast }: Admitting & { readonly isLast: boolean },
): Admission | readonly Need[] {
  let matched = matches.matched();
  if (matched.length === 0) return nothingTaken;
  let isShadowing = false;
  let isOpen = true;
  let mustAsk = false;
  for (const match of matched) {
    const counter = liveCounter(match);
    isOpen &&= counter !== undefined && counter === match.counter;
    const room = roomOf(match.caps, counter, nowMs, { wanted, isLast });
    if (room === 'room') continue;
    if (room === 'asking') mustAsk ||= !match.caps.shadow;
    else if (!match.caps.shadow) return { rejection: reject(matched, nowMs, rejectedAs, wanted) };
    else isShadowing = true;
  }
  if (!isOpen) matched = matches.opened();
  if (mustAsk) {
    if (!isLast) return needsOf(matched, wanted, nowMs);
    // Its counter has only been opened now: it is decided without an answer.
    return tryToAdmit(matches, nowMs, { rejectedAs, wanted, isLast });
  }
  if (isShadowing) matched = matched.filter((match) => !isShadowed(match, nowMs, wanted));
  take(matched, nowMs);
  const lease = new Lease(matched, nowMs, momentOf(matched, nowMs));
  if (wanted >= 1) for (const match of matched) lease.reserve(match, wanted, nowMs);
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
      counter.shared?.hold('slots', 1, nowMs);
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
  counter.shared?.use('requests', 1, nowMs);
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
