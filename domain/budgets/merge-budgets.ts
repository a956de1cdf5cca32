// Merges the budgets of the configuration with those of operators into one list, as rate limits are merged.

import { expiryMs } from '../rules/authorship.ts';
import { type Budget, budgetIds, compareBudgets } from './budget.ts';
import { type BudgetReset, lastResets } from './budget-reset.ts';
import type { ManualBudget } from './manual-budget.ts';
import { stricterMode } from './mode.ts';

/** The conditions for enforcing budgets. */
export interface BudgetPrerequisites {
  /** Budgets are switched on. */
  readonly enabled: boolean;
  /** The entitlement for per-child templates is present. */
  readonly hasTemplates: boolean;
  /** Usage is recorded. */
  readonly usageEnabled: boolean;
}

/** Why a budget cannot be enforced: a template without its entitlement, or no usage records. */
export type BudgetObstacle = 'not_entitled' | 'no_usage';

export interface BudgetSources {
  /** The result of `compileBudgets`. */
  readonly config: readonly Budget[];
  /** All those of operators in the store, including expired ones. */
  readonly manual: readonly ManualBudget[];
  readonly resets: readonly BudgetReset[];
  readonly nowMs: number;
  readonly prerequisites: BudgetPrerequisites;
}

export interface MergedBudget extends Budget {
  /** The configuration declares the same budget, and this one replaces it. */
  readonly overridesConfig: boolean;
  /** Why it cannot be enforced, also while budgets are switched off. */
  readonly obstacle: BudgetObstacle | undefined;
  /** It has no obstacle, and budgets are switched on. */
  readonly enforced: boolean;
  /** Unix milliseconds; spend counts from here on, if the window began before. */
  readonly lastResetMs: number | undefined;
  /** Present for a budget with source `manual`. */
  readonly manual?: ManualBudget;
}

/**
 * Sorted, with ids that are unique among keys. A budget of an operator replaces the one of the configuration with the same key; when it cannot
 * be enforced and the other can, the list has both. Expired ones are left out.
 */
export function mergeBudgets({ config, manual, resets, nowMs, prerequisites }: BudgetSources): MergedBudget[] {
  const lastReset = lastResets(resets);
  const standing = new Map(manual.filter((each) => expiryMs(each) > nowMs).map((each) => [each.key, each]));
  const merged: Omit<MergedBudget, 'id'>[] = [];
  for (const declared of config) {
    const set = standing.get(declared.key);
    const own = judged(declared);
    const override = set === undefined ? undefined : judged(overrideOf(set, declared), set);
    const isHidden = override !== undefined && (override.obstacle === undefined || own.obstacle !== undefined);
    if (!isHidden) merged.push(own);
    if (override !== undefined) merged.push({ ...override, overridesConfig: isHidden });
    standing.delete(declared.key);
  }
  for (const set of standing.values()) merged.push(judged(overrideOf(set, undefined), set));
  const ids = budgetIds(merged.map(({ key }) => key));
  return merged.map((each, index) => Object.freeze({ ...each, id: ids[index] ?? '' })).sort(compareBudgets);

  function judged(budget: Omit<Budget, 'id'>, source?: ManualBudget): Omit<MergedBudget, 'id'> {
    const obstacle = obstacleOf(budget, prerequisites);
    return {
      ...budget,
      overridesConfig: false,
      obstacle,
      enforced: obstacle === undefined && prerequisites.enabled,
      lastResetMs: lastReset(budget.key),
      ...(source === undefined ? {} : { manual: source }),
    };
  }
}

function obstacleOf(
  { perChild }: Pick<Budget, 'perChild'>,
  { hasTemplates, usageEnabled }: BudgetPrerequisites,
): BudgetObstacle | undefined {
  if (perChild && !hasTemplates) return 'not_entitled';
  return usageEnabled ? undefined : 'no_usage';
}

/** One that may only tighten takes the stricter of both. */
function overrideOf(manual: ManualBudget, declared: Budget | undefined): Omit<Budget, 'id'> {
  const { key, scope, subject, matchSubject, periodSeconds } = manual;
  const bound = manual.tightens === true ? declared : undefined;
  return {
    key,
    scope,
    subject,
    matchSubject,
    periodSeconds,
    perChild: bound?.perChild ?? manual.perChild,
    amount: Math.min(manual.amount, bound?.amount ?? Number.POSITIVE_INFINITY),
    mode: stricterMode(bound?.mode ?? manual.mode, manual.mode),
    source: 'manual',
  };
}

const sentences: Readonly<Record<BudgetObstacle, string>> = {
  not_entitled: 'per_child needs the entitlement quota_templates',
  no_usage: 'usage is not recorded, because USAGE_ENABLED is false',
};

/** Why a budget is not enforced, without a full stop; undefined when it is. */
export function explainUnenforcedBudget({ enforced, obstacle }: MergedBudget): string | undefined {
  if (enforced) return undefined;
  return obstacle === undefined ? 'budgets are switched off' : sentences[obstacle];
}

/** The next Unix millisecond at which a budget of an operator ends; undefined: none does. */
export function nextBudgetExpiryMs(manual: readonly ManualBudget[], nowMs: number): number | undefined {
  const coming = manual.map(expiryMs).filter((endMs) => endMs > nowMs && endMs !== Number.POSITIVE_INFINITY);
  return coming.length === 0 ? undefined : Math.min(...coming);
}
