// Admission: check every rule, then take from all of them or from none (spec, Limits 5).
import { Lease } from './lease.ts';
import { MatchedCounters, type Matches } from './match.ts';
import { exhaustedOf, isExhausted, type Rejection, refuse } from './rejection.ts';
import type { Caps, Counter } from './tally.ts';
import { requests } from './window.ts';

export type Admission =
  | { readonly lease: Lease; readonly rejection?: undefined }
  | { readonly lease?: undefined; readonly rejection: Rejection };

/** See `Limiter.admit`. */
export function admitMatched(matches: Matches, nowMs: number, refusedAs: 'reject' | 'skip_target'): Admission {
  let matched = matches.matched();
  const { caps } = matched;
  if (caps.length === 0) return nothingTaken;
  let isShadowing = false;
  let isOpen = true;
  for (let index = 0; index < caps.length; index += 1) {
    const held = matched.counters[index];
    const counter = held === undefined || held.retired ? matched.counter(index) : held;
    const rule = caps[index];
    isOpen &&= counter === held && held !== undefined;
    if (rule === undefined || !isExhausted(rule, counter, nowMs)) continue;
    if (!rule.shadow) return { rejection: refuse(matched, nowMs, refusedAs) };
    isShadowing = true;
  }
  if (!isOpen) matched = matches.opened();
  if (isShadowing) matched = withoutExhausted(matched, nowMs);
  take(matched, nowMs);
  return { lease: new Lease(matched, nowMs) };
}

/** Without a matching rule there is nothing to give back, so all such requests share one lease. */
const nothingTaken: Admission = Object.freeze({ lease: new Lease(new MatchedCounters([], [], []), 0) });

/** Books one request on every matched counter. */
function take({ caps, counters }: MatchedCounters, nowMs: number): void {
  for (let index = 0; index < caps.length; index += 1) {
    const rule = caps[index];
    const counter = counters[index];
    if (rule === undefined || counter === undefined) continue;
    const { decisions } = rule.tally;
    if (counter.window === undefined) {
      counter.gauge?.take();
      decisions.note('concurrent', 'allow');
      continue;
    }
    takeWindow(rule, counter, nowMs);
    if (rule.requestsCap !== Number.POSITIVE_INFINITY) decisions.note('requests', 'allow');
    if (rule.tokensCap !== Number.POSITIVE_INFINITY) decisions.note('tokens', 'allow');
  }
}

/** Books one request on the window of a rule, if it counts requests. */
export function takeWindow(rule: Caps, counter: Counter | undefined, nowMs: number): void {
  if (counter?.window === undefined || rule.requestsCap === Number.POSITIVE_INFINITY) return;
  counter.window.add(requests, 1, nowMs);
  counter.touch();
}

/** The matched counters without the shadow rules that would have refused; counts what they would have done. */
function withoutExhausted(matched: MatchedCounters, nowMs: number): MatchedCounters {
  return matched.only((index) => !isShadowed(matched, index, nowMs));
}

/** Whether a rule would have refused; counts that. Only shadow rules are left to ask when a request is admitted. */
export function isShadowed(matched: MatchedCounters, index: number, nowMs: number): boolean {
  const exhausted = exhaustedOf(matched, index, nowMs);
  for (const { dimension } of exhausted) matched.caps[index]?.tally.decisions.note(dimension, 'shadow_reject');
  return exhausted.length > 0;
}
