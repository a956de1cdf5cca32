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

/** Whether it admits nothing until its end. */
export function isStop({ max_requests, mode }: Pick<Rule, 'max_requests' | 'mode'>): boolean {
  return max_requests === 0 && mode === 'enforce';
}

/** Whether nothing is left of a cap. A template has no use as a whole. */
export function isFull({ per_child, requests_remaining, tokens_remaining }: Rule): boolean {
  return !per_child && (requests_remaining === 0 || tokens_remaining === 0);
}

/** The caps that the figures of all proxies together are compared with. */
export function capsOf(rule: Rule): { readonly requests: number | undefined; readonly tokens: number | undefined } {
  return {
    requests: rule.effective_max_requests ?? rule.max_requests,
    tokens: rule.effective_max_tokens ?? rule.max_tokens,
  };
}
