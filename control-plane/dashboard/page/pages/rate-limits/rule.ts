// A rate-limit rule as the API lists it, and the words for it.
import type { RateLimitsAnswer } from '../../../../../schemas/types.ts';
import { count } from '../../format.ts';

/** One page. */
export type RuleListing = RateLimitsAnswer & Required<Pick<RateLimitsAnswer, 'total' | 'offset' | 'unfiltered_total'>>;
export type Rule = RateLimitsAnswer['rate_limits'][number];
export type Scope = Rule['scope'];

export const scopeWords: Readonly<Record<Scope, string>> = {
  user_path: 'User path',
  provider: 'Provider',
  model: 'Model',
};

/** `/team-a, a minute`. */
export function titleOf({ subject, period_label }: Pick<Rule, 'subject' | 'period_label'>): string {
  return `${subject}, ${periodWords(period_label)}`;
}

/** Of `minute`, `concurrent`, `300s`. */
export function periodWords(label: string): string {
  if (label === 'concurrent') return 'at a time';
  const seconds = /^(\d+)s$/.exec(label)?.[1];
  return seconds === undefined ? `per ${label}` : `per ${count(Number(seconds))} s`;
}

/** How a request names the rule. */
export function keyOf({ scope, subject, period_seconds }: Pick<Rule, 'scope' | 'subject' | 'period_seconds'>): object {
  const limit = period_seconds === 0 ? { period: 'concurrent' } : { period_seconds };
  return { scope, subject, limit_key: limit };
}

/** Whether nothing is left of a cap. A template has no use as a whole. */
export function isFull({ per_child, max_requests, max_tokens, ...used }: Rule): boolean {
  if (per_child) return false;
  const requests = used.period_seconds === 0 ? used.in_flight : used.requests_used;
  return (
    (max_requests !== undefined && (requests ?? 0) >= max_requests) ||
    (max_tokens !== undefined && (used.tokens_used ?? 0) + (used.tokens_reserved ?? 0) >= max_tokens)
  );
}
