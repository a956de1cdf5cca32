// The allowance of a request under rate-limit rules, and the 429 of one that a rule refuses.
import { ruleLabel } from '../../domain/rules/rule.ts';
import { type Refusal, refusal } from '../errors.ts';
import { rejectionHeaders, rejectionWords, type ToldLimits } from '../limits/headers.ts';
import type { Lease } from '../limits/lease.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Matches } from '../limits/match.ts';
import type { Rejection } from '../limits/rejection.ts';
import type { Route } from '../snapshot/snapshot.ts';

/** The lease of an admitted request under a set of rules. */
export interface Allowance {
  readonly lease: Lease;
  /** The rules it was taken under: tokens are charged to them, headers speak of them. */
  readonly matches: Matches;
}

/** The allowance of a request under the rules of its consumer. */
export interface ConsumerAllowance extends Allowance {
  /** Which headers speak of limits to the consumer. */
  readonly told: ToldLimits;
}

/** Counts the waits that clients were told. */
export interface WaitTally {
  /** `seconds`: whole seconds of `Retry-After`. */
  retryAfter(seconds: number): void;
}

/** The rules of each target of a route, in declared order. */
export function targetRules({ targets }: Route, limiter: Pick<Limiter, 'forTarget'>): Matches[] {
  return targets.map(({ upstream, model }) => limiter.forTarget(upstream.name, model));
}

/**
 * The answer to a request that a rule refuses: 429 `rate_limit_exceeded` with what is used up and when to come again (spec, Errors). 503
 * `rate_limit_store_unavailable` where the state store is lost, and the rule admits nothing without it.
 */
export function limitRefusal(rejection: Rejection, told: ToldLimits, tally: WaitTally): Refusal {
  const words = rejectionWords(rejection);
  tally.retryAfter(words.seconds);
  const { id, scope } = rejection.rule;
  const rule = { id, scope, label: ruleLabel(rejection.rule) };
  if (rejection.isStoreLost) {
    const headers = { 'retry-after': String(words.seconds), 'x-gateway-rule': rule.label };
    return refusal('rate_limit_store_unavailable', { fill: { ...words }, headers, rule });
  }
  return refusal('rate_limit_exceeded', { fill: { ...words }, headers: rejectionHeaders(rejection, told), rule });
}
