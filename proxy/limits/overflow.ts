// Templates with more children than may have counters of their own, as a metric shows them.
import type { Rule } from '../../domain/rules/rule.ts';
import type { Tally } from './tally.ts';

/** A template with more children than may have counters of their own. */
export interface Overflow {
  readonly rule: Rule;
  /** The number of requests counted on the shared counter so far. */
  readonly requests: number;
  /** Whether children share a counter now. */
  readonly isOverflowing: boolean;
}

/** One entry for a template whose children have shared a counter, else none. */
export function overflowOf({ caps, overflowed, isOverflowing }: Tally): Overflow[] {
  return overflowed === 0 ? [] : [{ rule: caps.rule, requests: overflowed, isOverflowing }];
}
