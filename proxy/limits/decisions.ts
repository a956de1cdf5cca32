// How often each rule decided what: plain numbers, counted on the path of a request, read at a scrape.
import type { Rule } from '../../domain/rules/rule.ts';
import type { Scope } from '../../domain/rules/scope.ts';

/** The dimensions in which a rule can have a cap. */
export const dimensions = ['requests', 'tokens', 'concurrent'] as const;
export type Dimension = (typeof dimensions)[number];

/** The decisions of a rule about a request, by the names that the metric uses. */
export const outcomes = ['allow', 'reject', 'skip_target', 'shadow_reject'] as const;
export type Outcome = (typeof outcomes)[number];

/**
 * The index of each dimension's first count, and the offset of each outcome behind it. Tables, because every request
 * notes several.
 */
const rows = placesOf(dimensions, outcomes.length);
const columns = placesOf(outcomes, 1);

function placesOf<Name extends string>(names: readonly Name[], size: number): Readonly<Record<Name, number>> {
  return Object.fromEntries(names.map((name, index) => [name, index * size])) as Record<Name, number>;
}

/** How often a rule, known by its id, decided something. */
export interface DecisionCount {
  readonly rule: string;
  readonly scope: Scope;
  readonly dimension: Dimension;
  readonly outcome: Outcome;
  readonly count: number;
}

/** The decisions of one rule. They survive resets: they are a history, not a limit. */
export class Decisions {
  /** By dimension, then outcome. */
  readonly #counts: number[] = dimensions.flatMap(() => outcomes.map(() => 0));
  #refused = 0;

  note(dimension: Dimension, outcome: Outcome): void {
    const index = rows[dimension] + columns[outcome];
    this.#counts[index] = (this.#counts[index] ?? 0) + 1;
    if (outcome !== 'allow') this.#refused += 1;
  }

  /** The number of refusals, those of a shadow rule included: a request that exceeds two caps counts twice. */
  get refused(): number {
    return this.#refused;
  }

  /** The counts above 0 and, also at 0, the count of each outcome of `refusals` in each dimension of `capped`. */
  counts({ id, scope }: Rule, capped: readonly Dimension[], refusals: readonly Outcome[]): DecisionCount[] {
    const found: DecisionCount[] = [];
    for (const [row, dimension] of dimensions.entries()) {
      for (const [column, outcome] of outcomes.entries()) {
        const count = this.#counts[row * outcomes.length + column] ?? 0;
        const isExpected = capped.includes(dimension) && refusals.includes(outcome);
        if (count > 0 || isExpected) found.push({ rule: id, scope, dimension, outcome, count });
      }
    }
    return found;
  }
}

/**
 * The outcomes that stand for a refusal by this rule. Only a rule on a provider or a model can have a target skipped.
 */
export function refusalsOf({ mode, scope }: Rule): readonly Outcome[] {
  if (mode === 'shadow') return ['shadow_reject'];
  return scope === 'user_path' ? ['reject'] : ['reject', 'skip_target'];
}
