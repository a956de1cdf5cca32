// A budget, and its identity: scope, subject and period.

import type { BudgetLimit, Budgets } from '../../schemas/types.ts';
import type { NanoDollars } from '../records/usage.ts';
import { uniqueRuleIds } from '../rules/rule-id.ts';
import { normaliseSubject, type SubjectResult } from '../rules/scope.ts';
import { foldUserPath } from '../user-path.ts';
import type { BudgetMode } from './mode.ts';
import { nanoDollarsOf } from './money.ts';
import { budgetPeriodLabel, budgetPeriodSeconds } from './period.ts';

/** `label`: of the key that a request shows. */
export const budgetScopes = ['user_path', 'label'] as const;
export type BudgetScope = (typeof budgetScopes)[number];

/** A budget ready to be watched (spec: What the service does 8). It is replaced, never changed. */
export interface Budget {
  /** The identity: scope, subject and period. */
  readonly key: string;
  /** Short and stable, for metric labels; unique within a set. */
  readonly id: string;
  readonly scope: BudgetScope;
  /** The subject to show: a user path, normalised, or a label, in the letter case in which it is written. */
  readonly subject: string;
  /** The subject to compare: a user path in lower case, or a label as it is written. */
  readonly matchSubject: string;
  /** Every direct child of the user path has a budget of its own. */
  readonly perChild: boolean;
  /** See `budgetPeriods`. */
  readonly periodSeconds: number;
  /** Above 0. */
  readonly amount: NanoDollars;
  readonly mode: BudgetMode;
  readonly source: 'config' | 'manual';
}

/** The part of `budgets` that declares budgets. */
export type BudgetLists = Pick<Budgets, 'user_paths' | 'labels'>;

/** One budget of the configuration with its place in `budgets`. */
export interface DeclaredBudget {
  readonly scope: BudgetScope;
  /** As written. */
  readonly subject: string;
  readonly perChild: boolean;
  readonly periodSeconds: number;
  readonly limit: BudgetLimit;
  /** Where it is: for example `["user_paths", 0, "limits", 2]`. */
  readonly place: readonly [section: 'user_paths' | 'labels', entry: number, 'limits', index: number];
}

/** The identity of a budget; amount, mode and per_child are not part of it. `subject`: to compare. */
export function budgetKey(scope: BudgetScope, subject: string, periodSeconds: number): string {
  return `${scope} ${periodSeconds} ${subject}`;
}

/** Where its spend belongs: a template and a plain budget of one key may stand beside each other. */
export function placeOfBudget({ key, perChild }: Pick<Budget, 'key' | 'perChild'>): string {
  return `${perChild} ${key}`;
}

/** The label of the budget with this identity; undefined: it is about a user path. */
export function labelOfKey(key: string): string | undefined {
  return /^label \d+ (.*)$/s.exec(key)?.[1];
}

/** The forms of a subject, or the end of a sentence about one that is none. The letter case of labels counts. */
export function normaliseBudgetSubject(scope: BudgetScope, subject: string): SubjectResult {
  return scope === 'label' ? { subject, shown: subject } : normaliseSubject(scope, subject);
}

/** The name of a budget in log lines, diffs and messages: for example `user_path /team-a monthly`. */
export function budgetTitle({
  scope,
  subject,
  periodSeconds,
}: Pick<Budget, 'scope' | 'subject' | 'periodSeconds'>): string {
  return `${scope} ${subject} ${budgetPeriodLabel(periodSeconds)}`;
}

/**
 * Compares two budgets for listings and for equal waits: scope, subject, then the longer period first (reference:
 * Budgets). Returns a number below, equal to or above 0, as `Array.sort` needs.
 */
export function compareBudgets(
  a: Pick<Budget, 'scope' | 'subject' | 'periodSeconds'>,
  b: Pick<Budget, 'scope' | 'subject' | 'periodSeconds'>,
): number {
  if (a.scope !== b.scope) return a.scope === 'user_path' ? -1 : 1;
  const [one, other] =
    a.scope === 'user_path' ? [a, b].map(({ subject }) => foldUserPath(subject)) : [a.subject, b.subject];
  if (one !== undefined && other !== undefined && one !== other) return one < other ? -1 : 1;
  return b.periodSeconds - a.periodSeconds;
}

/** Every budget of the section as one flat list, in the order it is written. */
export function declaredBudgets({ user_paths, labels }: BudgetLists): DeclaredBudget[] {
  return [
    ...user_paths.flatMap(({ path, per_child, limits }, entry) =>
      limits.map((limit, index): DeclaredBudget => {
        const periodSeconds = budgetPeriodSeconds(limit);
        const place = ['user_paths', entry, 'limits', index] as const;
        return { scope: 'user_path', subject: path, perChild: per_child, periodSeconds, limit, place };
      }),
    ),
    ...labels.flatMap(({ label, limits }, entry) =>
      limits.map((limit, index): DeclaredBudget => {
        const periodSeconds = budgetPeriodSeconds(limit);
        const place = ['labels', entry, 'limits', index] as const;
        return { scope: 'label', subject: label, perChild: false, periodSeconds, limit, place };
      }),
    ),
  ];
}

/** The ids of budgets by their keys, in the order given. */
export function budgetIds(keys: readonly string[]): string[] {
  return uniqueRuleIds(keys.map((key) => `budget ${key}`));
}

/**
 * The budgets of a validated section, sorted, also while it is switched off. Throws a RangeError for an invalid path; the loader rejects such a
 * configuration before.
 */
export function compileBudgets(budgets: BudgetLists): Budget[] {
  const declared = declaredBudgets(budgets).map(({ scope, subject: written, perChild, periodSeconds, limit }) => {
    const { subject: matchSubject, shown: subject, problem } = normaliseBudgetSubject(scope, written);
    if (problem !== undefined) throw new RangeError(`the subject of a budget ${problem}`);
    const amount = nanoDollarsOf(limit.amount);
    const key = budgetKey(scope, matchSubject, periodSeconds);
    const named = { key, scope, subject, matchSubject, perChild, periodSeconds };
    return { ...named, amount, mode: limit.mode, source: 'config' as const };
  });
  const ids = budgetIds(declared.map(({ key }) => key));
  return declared
    .map((budget, index): Budget => Object.freeze({ ...budget, id: ids[index] ?? '' }))
    .sort(compareBudgets);
}
