// After which failures a request is sent again, and how often.

import { type FailureKind, failureKindOf, usualKinds } from '../../domain/targets/failure-kind.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import type { Alias } from '../../schemas/types.ts';

/** The rules for the calls of one request. */
export interface RetryPolicy {
  /** The most calls to providers, the first one included; undefined: as many as there are targets (`mostCalls`). */
  readonly attempts: number | undefined;
  /** The ratio of extra calls to requests for this alias alone; undefined: the budget of the process. */
  readonly budget: number | undefined;
  readonly on: ReadonlySet<FailureKind>;
  /** No further call begins this many milliseconds after the request came; undefined: no such end. */
  readonly deadlineMs: number | undefined;
}

/** The rules for every name without rules of its own. */
export const defaultRetryPolicy: RetryPolicy = Object.freeze({
  attempts: undefined,
  budget: undefined,
  on: Object.freeze(new Set(usualKinds)),
  deadlineMs: undefined,
});

/** Without a number of their own, requests of few targets make at least so many calls, because one may be asked again, and those of many at most so many. */
const leastCalls = 3;
const usualMost = 5;

/** The most calls of a request that may go to so many targets. */
export function mostCalls({ attempts }: Pick<RetryPolicy, 'attempts'>, targets: number): number {
  return attempts ?? Math.min(Math.max(targets, leastCalls), usualMost);
}

/** The policy of an alias; undefined members mean the defaults. */
export function compileRetryPolicy(retry: Alias['retry']): RetryPolicy {
  if (retry === undefined) return defaultRetryPolicy;
  return Object.freeze({
    attempts: retry.attempts,
    budget: retry.budget,
    on: Object.freeze(new Set(retry.on.map(failureKindOf))),
    deadlineMs: retry.deadline === undefined ? undefined : durationMs(retry.deadline),
  });
}
