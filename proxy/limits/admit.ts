// Admission: check every rule, then take from all of them or from none (spec, Limits 5).
import { Lease } from './lease.ts';
import { type Matches, Plan } from './match.ts';
import { exhaustedOf, isExhausted, type Rejection, refuse } from './rejection.ts';
import type { Counter, Terms } from './tally.ts';
import { requests } from './window.ts';

export type Admission =
  | { readonly lease: Lease; readonly rejection?: undefined }
  | { readonly lease?: undefined; readonly rejection: Rejection };

/** See `Limiter.admit`. */
export function admitPlan(matches: Matches, nowMs: number, refusedAs: 'reject' | 'skip_target'): Admission {
  let plan = matches.plan();
  const { terms } = plan;
  if (terms.length === 0) return nothingTaken;
  let isShadowing = false;
  let isOpen = true;
  for (let index = 0; index < terms.length; index += 1) {
    const held = plan.counters[index];
    const counter = held === undefined || held.retired ? plan.counter(index) : held;
    const rule = terms[index];
    isOpen &&= counter === held && held !== undefined;
    if (rule === undefined || !isExhausted(rule, counter, nowMs)) continue;
    if (!rule.shadow) return { rejection: refuse(plan, nowMs, refusedAs) };
    isShadowing = true;
  }
  if (!isOpen) plan = matches.opened();
  if (isShadowing) plan = withoutExhausted(plan, nowMs);
  take(plan, nowMs);
  return { lease: new Lease(plan, nowMs) };
}

/** Without a matching rule there is nothing to give back, so all such requests share one lease. */
const nothingTaken: Admission = Object.freeze({ lease: new Lease(new Plan([], [], []), 0) });

/** Books one request on every counter of the plan. */
function take({ terms, counters }: Plan, nowMs: number): void {
  for (let index = 0; index < terms.length; index += 1) {
    const rule = terms[index];
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
export function takeWindow(rule: Terms, counter: Counter | undefined, nowMs: number): void {
  if (counter?.window === undefined || rule.requestsCap === Number.POSITIVE_INFINITY) return;
  counter.window.add(requests, 1, nowMs);
  counter.touch();
}

/** The plan without the shadow rules that would have refused; counts what they would have done. */
function withoutExhausted(plan: Plan, nowMs: number): Plan {
  return plan.only((index) => !isShadowed(plan, index, nowMs));
}

/** Whether a rule would have refused; counts that. Only shadow rules are left to ask when a request is admitted. */
export function isShadowed(plan: Plan, index: number, nowMs: number): boolean {
  const exhausted = exhaustedOf(plan, index, nowMs);
  for (const { dimension } of exhausted) plan.terms[index]?.tally.decisions.note(dimension, 'shadow_reject');
  return exhausted.length > 0;
}
