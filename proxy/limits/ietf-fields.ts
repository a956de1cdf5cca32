// The fields RateLimit-Policy and RateLimit of the IETF (draft-ietf-httpapi-ratelimit-headers-10): lists of structured fields (RFC 9651).
import { periodLabel } from '../../domain/rules/period.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import type { Dimension } from './decisions.ts';

/** The present state of one cap of one rule. */
export interface LimitState {
  readonly rule: Pick<Rule, 'scope' | 'periodSeconds'>;
  /** The user path that shares the limit, or the name of the provider or the model. */
  readonly subject: string;
  readonly dimension: Dimension;
  readonly cap: number;
  readonly remaining: number;
  /** Whole seconds. */
  readonly resetSeconds: number;
}

/** The largest integer of a structured field (RFC 9651 3.3.1). */
const largest = 999_999_999_999_999;

/**
 * Appends both fields to `headers`, names and values in turn; appends nothing when `states` is empty. Counts above 15
 * digits are cut to the largest that a structured field can hold.
 */
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
