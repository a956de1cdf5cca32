// Decides what a write changes in the store: documents of budgets, of resets, and of anchors. Pure.
import type { Budget } from '../../../domain/budgets/budget.ts';
import { everyBudget } from '../../../domain/budgets/budget-reset.ts';
import type { ManualBudget } from '../../../domain/budgets/manual-budget.ts';
import { type Anchors, budgetWindow } from '../../../domain/budgets/window.ts';
import { budgetResets, manualBudgets } from '../../../domain/documents/kinds.ts';
import { readKind, removed, written } from '../../../domain/documents/managed-kind.ts';
import { periodOf } from '../../../domain/rules/rule.ts';
import type { Change, StoredState } from '../../../store/state/state-store.ts';
import { refusal } from '../../errors.ts';
import { countOf, type Known, perChildOf, readKnown, refuseUnset, signature } from '../../managed/known.ts';
import type { BudgetName, BudgetWrite } from './read-write.ts';

/** The limit of the configuration holds here, too: the spend of each budget is asked for every second. */
const mostBudgets = 10_000;

/** All budgets at one moment, by key. */
export interface KnownBudgets extends Known<Budget, ManualBudget> {
  /** When budgets were reset, by document id, in Unix milliseconds. */
  readonly resetAtMs: ReadonlyMap<string, number>;
}

export function knownBudgets(
  state: Pick<StoredState, 'documents' | 'skipped'>,
  config: readonly Budget[],
  nowMs: number,
  places: ReadonlyMap<string, string> = new Map(),
): KnownBudgets {
  const declaration = { config: new Map(config.map((each) => [each.key, each])), places };
  return {
    ...readKnown(manualBudgets, state, declaration, nowMs),
    resetAtMs: new Map(readKind(budgetResets, state.documents).values.map(({ id, atMs }) => [id, atMs])),
  };
}

/** Creates or replaces a budget of an operator, named `by`. What was spent stays spent. */
export function putBudget(known: KnownBudgets, write: BudgetWrite, by: string, hasTemplates: boolean): Change[] {
  const { key } = write;
  const declared = known.config.get(key);
  const perChild = perChildOf(write.perChild, declared?.perChild, hasTemplates);
  const before = known.manual.get(key);
  if (before === undefined && declared === undefined) refuseBudgetsBeyond(countOf(known), mostBudgets, 'in all');
  const { expiresAtMs, ...said } = write;
  const budget: ManualBudget = { ...said, perChild, ...signature(before, expiresAtMs, by, known.nowMs) };
  return [written(manualBudgets, key, budget)];
}

/** Removes a budget of an operator; one of the configuration with the same key is in force again. */
export function deleteBudget(known: KnownBudgets, { key }: BudgetName): Change[] {
  refuseUnset(known, key, { configOwned: 'budget_config_owned', notFound: 'budget_not_found' });
  // A reset belongs to the budget: a new one with this name begins with its window.
  const isForgotten = known.resetAtMs.has(key) && !known.config.has(key);
  return [removed(manualBudgets, key), ...(isForgotten ? [removed(budgetResets, key)] : [])];
}

/** Lets the spend of one budget count from now on, for a template that of all its children. */
export function resetBudget(known: KnownBudgets, { key }: BudgetName): Change[] {
  if (!known.manual.has(key) && !known.config.has(key)) throw refusal('budget_not_found');
  return [written(budgetResets, key, { id: key, atMs: known.nowMs })];
}

/** Lets the spend of all budgets count from now on. */
export function resetEveryBudget(known: KnownBudgets): Change[] {
  return [written(budgetResets, everyBudget, { id: everyBudget, atMs: known.nowMs })];
}

/** Removes the documents of expired budgets, and resets that say nothing any more: of no budget, and before the present window. */
export function tidiedBudgets(known: KnownBudgets, anchors: Anchors): Change[] {
  const { config, manual, unreadable, expired, resetAtMs, nowMs } = known;
  const spent = [...resetAtMs].filter(([id, atMs]) => {
    const seconds = periodOf(id);
    if (seconds === undefined || config.has(id) || manual.has(id) || unreadable.has(id)) return false;
    return atMs < budgetWindow(seconds, anchors, nowMs).startMs;
  });
  return [...[...expired].map((key) => removed(manualBudgets, key)), ...spent.map(([id]) => removed(budgetResets, id))];
}

/** Throws 409 `too_many_budgets` when there are as many as the limit already. */
export function refuseBudgetsBeyond(count: number, limit: number, where: string): void {
  if (count >= limit) throw refusal('too_many_budgets', { fill: { count, limit, where } });
}
