// The utilisation of rules, for gauges: the used share of each cap, and the requests in flight.
import type { Rule } from '../../domain/rules/rule.ts';
import type { Dimension } from './decisions.ts';
import { inFlightOf, usedOf } from './figures.ts';
import type { Tally } from './tally.ts';
import { requests, tokens } from './window.ts';

/** The utilisation of one cap of one rule. */
export interface Utilisation {
  readonly rule: Rule;
  readonly dimension: Dimension;
  /**
   * Used share of the cap, 0 to 1; above 1 when tokens overshot or the cap was lowered. For a template, that of its
   * fullest child. Where the fleet shares the rule, of the whole fleet, as the store said last.
   */
  readonly ratio: number;
  /** For a concurrency rule, the requests in flight of all children together, at this proxy; else 0. */
  readonly inFlight: number;
  /** For a token cap, the tokens that open requests of all children together have set aside; else 0. */
  readonly reserved: number;
}

/** One step of reading a rule. Only the last step has figures. */
export interface UtilisationStep {
  readonly figures: readonly Utilisation[];
  /** The number of counters that the step read. */
  readonly counters: number;
}

/** The number of counters read per step: less than a millisecond of work. */
const countersAtOnce = 1_000;

/**
 * The utilisation of every enforced cap of a rule at `nowMs` (Unix milliseconds), in steps, because a template may have
 * 100,000 children.
 */
export function* utilisationOf(tally: Tally, nowMs: number): Generator<UtilisationStep, void> {
  const { rule, requestsCap, tokensCap, slotsCap } = tally.caps;
  let mostRequests = 0;
  let mostTokens = 0;
  let mostSlots = 0;
  let inFlight = 0;
  let reserved = 0;
  let counters = 0;
  for (const counter of tally.counters()) {
    const { window } = counter;
    if (counters === countersAtOnce) {
      yield { figures: [], counters };
      counters = 0;
    }
    counters += 1;
    if (window === undefined) {
      inFlight += counter.inFlight;
      mostSlots = Math.max(mostSlots, inFlightOf(counter));
      continue;
    }
    mostRequests = Math.max(mostRequests, usedOf(counter, requests, nowMs));
    reserved += counter.reserved;
    mostTokens = Math.max(mostTokens, usedOf(counter, tokens, nowMs));
  }
  const found: Utilisation[] = [
    { rule, dimension: 'requests', ratio: usedShare(mostRequests, requestsCap), inFlight: 0, reserved: 0 },
    { rule, dimension: 'tokens', ratio: usedShare(mostTokens, tokensCap), inFlight: 0, reserved },
    { rule, dimension: 'concurrent', ratio: usedShare(mostSlots, slotsCap), inFlight, reserved: 0 },
  ];
  const limits = [requestsCap, tokensCap, slotsCap];
  yield { figures: found.filter((_, index) => limits[index] !== Number.POSITIVE_INFINITY), counters };
}

/** The used share of a cap, 0 to 1 or above; 1 for a cap of 0, under which nothing may be used. */
export function usedShare(used: number, cap: number): number {
  return cap === 0 ? 1 : used / cap;
}
