// Admission: check every rule, then take from all of them or from none (spec, Limits 5).
import { Lease } from './lease.ts';
import { type Matches, Plan } from './match.ts';
import { exhaustedOf, isExhausted, type Rejection, refuse } from './rejection.ts';
import { requests } from './window.ts';

export type Admission =
  | { readonly lease: Lease; readonly rejection?: undefined }
  | { readonly lease?: undefined; readonly rejection: Rejection };

/** See `Limiter.admit`. */
export function admitPlan(matches: Matches, nowMs: number, refusedAs: 'reject' | 'skip_target'): Admission {
  let plan = matches.plan();
  const { terms } = plan;
  if (terms.length === 0) return nothingTaken;
  let isShadowed = false;
  let isOpen = true;
  for (let index = 0; index < terms.length; index += 1) {
    const held = plan.counters[index];
    const counter = held === undefined || held.retired ? plan.counter(index) : held;
    const rule = terms[index];
    isOpen &&= counter === held && held !== undefined;
    if (rule === undefined || !isExhausted(rule, counter, nowMs)) continue;
    if (!rule.shadow) return { rejection: refuse(plan, nowMs, refusedAs) };
    isShadowed = true;
  }
  if (!isOpen) plan = matches.opened();
  if (isShadowed) plan = withoutExhausted(plan, nowMs);
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
    const { window } = counter;
    if (window === undefined) {
      counter.gauge?.take();
      rule.tally.decisions.note('concurrent', 'allow');
      continue;
    }
    if (rule.requestsCap !== Number.POSITIVE_INFINITY) {
      window.add(requests, 1, nowMs);
      counter.touch();
      rule.tally.decisions.note('requests', 'allow');
    }
    if (rule.tokensCap !== Number.POSITIVE_INFINITY) rule.tally.decisions.note('tokens', 'allow');
  }
}

/** The plan without the shadow rules that would have refused; counts what they would have done. */
function withoutExhausted(plan: Plan, nowMs: number): Plan {
  const kept = plan.terms.map((_, index) => {
    const exhausted = exhaustedOf(plan, index, nowMs);
    for (const { dimension } of exhausted) plan.terms[index]?.tally.decisions.note(dimension, 'shadow_reject');
    return exhausted.length === 0;
  });
  const isKept = (_: unknown, index: number): boolean => kept[index] === true;
  return new Plan(plan.terms.filter(isKept), plan.children.filter(isKept), plan.counters.filter(isKept));
}
