// How full the rules are, for gauges: used share of each cap, and requests in flight.
import type { Rule } from '../../domain/rules/rule.ts';
import type { Dimension } from './decisions.ts';
import type { Tally } from './tally.ts';
import { requests, tokens } from './window.ts';

/** One cap of one rule. */
export interface Utilisation {
  readonly rule: Rule;
  readonly dimension: Dimension;
  /** Used share of the cap; above 1 when tokens overshot or the cap was lowered. Of a template: that of its fullest child. */
  readonly ratio: number;
  /** Of a concurrency rule, all children added up; else 0. */
  readonly inFlight: number;
}

/** A step of reading a rule: the figures come with its last one. */
export interface UtilisationStep {
  readonly figures: readonly Utilisation[];
  /** How many counters were read in it. */
  readonly counters: number;
}

/** Counters of a template that are read in a row: less than a millisecond of work. */
const countersAtOnce = 1_000;

/** Every enforced cap of a rule. A template may have a hundred thousand children: they are read in steps. */
export function* utilisationOf(tally: Tally, nowMs: number): Generator<UtilisationStep, void> {
  const { rule, requestsCap, tokensCap, slotsCap } = tally.caps;
  let mostRequests = 0;
  let mostTokens = 0;
  let mostSlots = 0;
  let inFlight = 0;
  let counters = 0;
  for (const { window, inFlight: slots } of tally.counters()) {
    if (counters === countersAtOnce) {
      yield { figures: [], counters };
      counters = 0;
    }
    counters += 1;
    if (window === undefined) {
      inFlight += slots;
      mostSlots = Math.max(mostSlots, slots);
      continue;
    }
    mostRequests = Math.max(mostRequests, window.used(requests, nowMs));
    mostTokens = Math.max(mostTokens, window.used(tokens, nowMs));
  }
  const found: Utilisation[] = [
    { rule, dimension: 'requests', ratio: usedShare(mostRequests, requestsCap), inFlight: 0 },
    { rule, dimension: 'tokens', ratio: usedShare(mostTokens, tokensCap), inFlight: 0 },
    { rule, dimension: 'concurrent', ratio: usedShare(mostSlots, slotsCap), inFlight },
  ];
  const limits = [requestsCap, tokensCap, slotsCap];
  yield { figures: found.filter((_, index) => limits[index] !== Number.POSITIVE_INFINITY), counters };
}

/** A block is full: nothing of it is left, although nothing may be used. */
export function usedShare(used: number, cap: number): number {
  return cap === 0 ? 1 : used / cap;
}
