// Why a request is refused, and when it would not be: the slow half of admission.
import type { Rule } from '../../schemas/rules/rule.ts';
import type { Dimension, Outcome } from './decisions.ts';
import type { Plan } from './match.ts';
import type { Counter, Terms } from './tally.ts';
import { requests, tokens } from './window.ts';

/** One cap that is used up. */
export interface Exhausted {
  readonly rule: Rule;
  /** The child's path for a template, else the subject. */
  readonly subject: string;
  readonly dimension: Dimension;
  readonly cap: number;
  /** Whole seconds, at least 1, until this cap alone would admit. */
  readonly retryAfterSeconds: number;
}

/**
 * The answer to a refused request: the first used-up cap in the order of rules, with the longest wait of all of them, since only
 * then a retry would be admitted (spec, Errors).
 */
export interface Rejection extends Exhausted {
  /** Every used-up cap of an enforcing rule, in the order of rules. */
  readonly exhausted: readonly Exhausted[];
}

/** Whether a rule has nothing left now. Where nothing was counted yet, only a cap of 0 is used up. */
export function isExhausted(terms: Terms, counter: Counter | undefined, nowMs: number): boolean {
  if (counter === undefined) return terms.isBlock;
  const { window } = counter;
  if (window === undefined) return (counter.gauge?.inFlight ?? 0) >= terms.slotsCap;
  window.advance(nowMs);
  return window.requestsUsed >= terms.requestsCap || window.tokensUsed >= terms.tokensCap;
}

/** Every used-up cap of one rule. */
export function exhaustedOf(plan: Plan, index: number, nowMs: number): Exhausted[] {
  const terms = plan.terms[index];
  const counter = plan.counter(index);
  if (terms === undefined) return [];
  const { rule, requestsCap, tokensCap, slotsCap } = terms;
  const { window, gauge } = counter ?? {};
  const found: Exhausted[] = [];
  if ((gauge?.inFlight ?? 0) >= slotsCap) add('concurrent', slotsCap, 1);
  if ((window?.used(requests, nowMs) ?? 0) >= requestsCap)
    add('requests', requestsCap, window?.retryAfterSeconds(requests, requestsCap, nowMs));
  if ((window?.used(tokens, nowMs) ?? 0) >= tokensCap)
    add('tokens', tokensCap, window?.retryAfterSeconds(tokens, tokensCap, nowMs));
  return found;

  /** A cap of 0 admits nothing before its block ends, whatever leaves the window. */
  function add(dimension: Dimension, cap: number, freeSeconds: number = 1): void {
    const blockSeconds = Math.max(1, Math.ceil(((rule.blockedUntilMs ?? nowMs) - nowMs) / 1000));
    const retryAfterSeconds = cap === 0 ? blockSeconds : freeSeconds;
    found.push({ rule, subject: plan.subject(index), dimension, cap, retryAfterSeconds });
  }
}

/** Explains the refusal by a plan of which at least one enforcing rule is used up, and counts it for each such cap. */
export function refuse(plan: Plan, nowMs: number, refusedAs: Outcome): Rejection {
  const exhausted: Exhausted[] = [];
  for (const [index, { shadow, tally }] of plan.terms.entries()) {
    if (shadow) continue;
    for (const found of exhaustedOf(plan, index, nowMs)) {
      exhausted.push(found);
      tally.decisions.note(found.dimension, refusedAs);
    }
  }
  const [first] = exhausted;
  if (first === undefined) throw new Error('nothing is used up, so nothing can be refused');
  const retryAfterSeconds = Math.max(...exhausted.map((found) => found.retryAfterSeconds));
  return { ...first, retryAfterSeconds, exhausted };
}
