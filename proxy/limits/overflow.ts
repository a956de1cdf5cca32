// Templates with more children than may have counters of their own: what operators are told of it.
import type { Rule } from '../../domain/rules/rule.ts';
import type { Tally } from './tally.ts';

/** A template with more children than may have counters of their own. */
export interface Overflow {
  readonly rule: Rule;
  /** Counted on the shared counter so far. */
  readonly requests: number;
  /** Children share a counter now. */
  readonly isOverflowing: boolean;
}

/** Nothing of a rule whose children have never shared a counter. */
export function overflowOf({ caps, overflowed, isOverflowing }: Tally): Overflow[] {
  return overflowed === 0 ? [] : [{ rule: caps.rule, requests: overflowed, isOverflowing }];
}
