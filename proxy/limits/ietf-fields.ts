// The fields RateLimit-Policy and RateLimit of the IETF (draft-ietf-httpapi-ratelimit-headers-10): lists of structured fields (RFC 9651).
import { periodLabel } from '../../domain/rules/period.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import type { Dimension } from './decisions.ts';

/** One limit as it stands. */
export interface LimitState {
  readonly rule: Pick<Rule, 'scope' | 'periodSeconds'>;
  /** As a person knows the limit: for a user path the path. */
  readonly subject: string;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly remaining: number;
  /** Whole seconds. */
  readonly resetSeconds: number;
}

/** The largest integer of a structured field (RFC 9651 3.3.1). */
const largest = 999_999_999_999_999;

/** Adds both fields, names and values in turn; nothing without a limit. */
export function addIetfFields(headers: string[], states: readonly LimitState[]): void {
  if (states.length === 0) return;
  let policies = '';
  let limits = '';
  for (const state of states) {
    const name = nameOf(state);
    const partition = partitionOf(state);
    const separator = policies === '' ? '' : ', ';
    policies += `${separator}${name};q=${bounded(state.cap)}${units[state.dimension]}${windowOf(state)}${partition}`;
    limits += `${separator}${name};r=${bounded(state.remaining)};t=${bounded(state.resetSeconds)}${partition}`;
  }
  headers.push('ratelimit-policy', policies, 'ratelimit', limits);
}

/** Requests are the unit where none is named; tokens are a unit of this service. */
const units: Readonly<Record<Dimension, string>> = {
  requests: '',
  tokens: ';qu="tokens"',
  concurrent: ';qu="concurrent-requests"',
};

/** `"requests-per-minute"`, and `"concurrent-requests"`. */
function nameOf({ dimension, rule }: LimitState): string {
  return dimension === 'concurrent' ? '"concurrent-requests"' : `"${dimension}-per-${periodLabel(rule.periodSeconds)}"`;
}

function windowOf({ dimension, rule }: LimitState): string {
  return dimension === 'concurrent' ? '' : `;w=${rule.periodSeconds}`;
}

/** The user path that shares the limit, as a byte sequence. Rules for providers and models are not divided by consumer. */
function partitionOf({ rule, subject }: LimitState): string {
  return rule.scope === 'user_path' ? `;pk=:${Buffer.from(subject).toString('base64')}:` : '';
}

function bounded(count: number): number {
  return Math.min(count, largest);
}
