// Decides what a write changes in the store: documents of budgets, of resets, and of anchors. Pure.
import type { Budget } from '../../../domain/budgets/budget.ts';
import { type BudgetReset, everyBudget } from '../../../domain/budgets/budget-reset.ts';
import type { ManualBudget } from '../../../domain/budgets/manual-budget.ts';
import { type Anchors, budgetWindow } from '../../../domain/budgets/window.ts';
import { budgetResets, manualBudgets } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { periodOf } from '../../../domain/rules/rule.ts';
import type { Change } from '../../../store/state/state-store.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { byKey, type Known, perChildOf, readKnown, refuseFull, refuseUnset, signature } from '../../managed/known.ts';
import { type KindState, type StoredKind, storedKind } from '../../managed/stored-kind.ts';
import type { BudgetName, BudgetWrite } from './read-write.ts';

/** The limit of the configuration holds here, too: the spend of each budget is asked for every second. */
const mostBudgets = 10_000;

/** All budgets at one moment, by key. */
export interface KnownBudgets extends Known<Budget, ManualBudget> {
  readonly resets: StoredKind<BudgetReset>;
}

export function knownBudgets(
  state: KindState,
  config: readonly Budget[],
  nowMs: number,
  places: ReadonlyMap<string, string> = new Map(),
): KnownBudgets {
  const declaration = { config: byKey(config, ({ key }) => key), places };
  return { ...readKnown(manualBudgets, state, declaration, nowMs), resets: storedKind(budgetResets, state) };
}

/** Creates or replaces a budget of an operator, named `by`. What was spent stays spent. */
export function putBudget(known: KnownBudgets, write: BudgetWrite, by: string, hasTemplates: boolean): Change[] {
  const { key } = write;
  const declared = known.config.get(key);
  const perChild = perChildOf(write.perChild, declared?.perChild, hasTemplates);
  const before = known.manual.get(key);
  if (before === undefined && declared === undefined)
    refuseFull(known, mostBudgets, (count) => tooMany(count, mostBudgets, 'in all'));
  const { expiresAtMs, ...said } = write;
  const budget: ManualBudget = { ...said, perChild, ...signature(before, expiresAtMs, by, known.nowMs) };
  return [written(manualBudgets, key, budget)];
}

/** Removes a budget of an operator; one of the configuration with the same key is in force again. */
export function deleteBudget(known: KnownBudgets, { key }: BudgetName): Change[] {
  refuseUnset(known, key, { configOwned: 'budget_config_owned', notFound: 'budget_not_found' });
  // A reset belongs to the budget: a new one with this name begins with its window.
  const isForgotten = known.resets.get(key) !== undefined && !known.config.has(key);
  return [removed(manualBudgets, key), ...(isForgotten ? [removed(budgetResets, key)] : [])];
}

/** Lets the spend of one budget count from now on, for a template that of all its children. */
export function resetBudget(known: KnownBudgets, { key }: BudgetName): Change[] {
  if (known.manual.get(key) === undefined && !known.config.has(key)) throw refusal('budget_not_found');
  return [written(budgetResets, key, { id: key, atMs: known.nowMs })];
}

/** Lets the spend of all budgets count from now on. */
export function resetEveryBudget(known: KnownBudgets): Change[] {
  return [written(budgetResets, everyBudget, { id: everyBudget, atMs: known.nowMs })];
}

/** Removes the documents of expired budgets, and resets that say nothing any more: of no budget, and before the present window. */
export function tidiedBudgets(known: KnownBudgets, anchors: Anchors): Change[] {
  const { config, manual, nowMs } = known;
  const spent = [...known.resets.all().values()].filter(({ id, atMs }) => {
    const seconds = periodOf(id);
    if (seconds === undefined || config.has(id) || manual.get(id) !== undefined || known.isUnreadable(id)) return false;
    return atMs < budgetWindow(seconds, anchors, nowMs).startMs;
  });
  return [
    ...known.expired().map((key) => removed(manualBudgets, key)),
    ...spent.map(({ id }) => removed(budgetResets, id)),
  ];
}

/** Throws 409 `too_many_budgets` when there are as many as the limit already. */
export function refuseBudgetsBeyond(count: number, limit: number, where: string): void {
  if (count >= limit) throw tooMany(count, limit, where);
}

function tooMany(count: number, limit: number, where: string): Refusal {
  return refusal('too_many_budgets', { fill: { count, limit, where } });
}
