// A rate-limit rule as the API lists it, and the words for it.
import { count } from '../../format.ts';

export type Scope = 'user_path' | 'provider' | 'model';

export interface Rule {
  readonly id: string;
  readonly name?: string;
  readonly scope: Scope;
  readonly subject: string;
  readonly per_child: boolean;
  readonly source: 'manual' | 'config';
  readonly overrides_config: boolean;
  readonly declared_at?: string;
  readonly enforced: boolean;
  readonly unenforced_reason?: string;
  readonly mode: 'enforce' | 'shadow';
  readonly period_label: string;
  readonly period_seconds: number;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  /** Absent while the store does not answer. */
  readonly requests_used?: number;
  readonly tokens_used?: number;
  readonly in_flight?: number;
  readonly refused?: number;
  readonly window_end?: string;
  readonly reason?: string;
  readonly expires_at?: string;
  readonly updated_at: string;
  readonly updated_by?: string;
}

/** One page. */
export interface RuleListing {
  readonly rate_limits: readonly Rule[];
  /** With these filters, on all pages. */
  readonly total: number;
  readonly offset: number;
  readonly unfiltered_total: number;
  readonly server_time: string;
  readonly stale?: true;
}

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
    (max_tokens !== undefined && (used.tokens_used ?? 0) >= max_tokens)
  );
}
