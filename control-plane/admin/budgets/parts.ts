// The parts of the process that the budget resource uses, and the budgets and anchors of a state.
import type { Budget } from '../../../domain/budgets/budget.ts';
import { anchorsInForce } from '../../../domain/budgets/budget-settings.ts';
import { type BudgetPrerequisites, type MergedBudget, mergeBudgets } from '../../../domain/budgets/merge-budgets.ts';
import type { Anchors } from '../../../domain/budgets/window.ts';
import { budgetResets, budgetSettings, manualBudgets } from '../../../domain/documents/kinds.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import type { BudgetFigures } from '../../budgets/watch.ts';
import { type DocumentStore, expectedOf } from '../../managed/commit.ts';
import type { Quotas } from '../../managed/quotas.ts';
import type { ManagedParts } from '../../managed/resource.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import { knownBudgets, tidiedBudgets } from './changes.ts';
import { type BudgetListingParts, budgetRows } from './listing.ts';

export interface BudgetParts extends ManagedParts {
  /** The budgets of the configuration in force, with the dates and the place of each declaration, and its anchors. */
  configBudgets(): Pick<BudgetListingParts, 'declared' | 'places' | 'anchors' | 'unpriced'> & {
    readonly budgets: readonly Budget[];
  };
  /** The present spend of the budgets in force. Rejects with `StoreUnavailable`. */
  figures(): Promise<BudgetFigures>;
  /** The limits on what operators may store. */
  quotas(): Quotas;
  /** Decides which budgets can be enforced; called for every request. */
  prerequisites(): BudgetPrerequisites;
}

type BudgetState = Pick<StoredState, 'documents'>;

/** Removes what has ended, in one commit. True: something was changed, or another writer was first. Rejects with `StoreUnavailable`. */
export async function tidyBudgets(
  store: DocumentStore,
  { budgets, anchors }: { readonly budgets: readonly Budget[]; readonly anchors: Anchors },
  nowMs: number,
): Promise<boolean> {
  const state = await store.read();
  const known = knownBudgets(state, budgets, nowMs);
  const changes = tidiedBudgets(known, anchorsInForce(anchors, storedKind(budgetSettings, state).values()));
  if (changes.length === 0) return false;
  const expected = expectedOf(state, [manualBudgets, budgetResets, budgetSettings]);
  await store.commit({ storeId: state.storeId ?? null, expected, changes });
  return true;
}

export type ShownBudgets = Omit<BudgetListingParts, 'figures' | 'covered' | 'isStale'>;

export function shownBudgets(parts: BudgetParts, state: BudgetState): ShownBudgets {
  const { declared, places, unpriced, budgets: config, anchors } = parts.configBudgets();
  const nowMs = Math.floor(parts.nowMs());
  return {
    budgets: budgetsOfState(state, { config, nowMs, prerequisites: parts.prerequisites() }),
    declared,
    places,
    unpriced,
    anchors: anchorsInForce(anchors, storedKind(budgetSettings, state).values()),
    nowMs,
  };
}

/** The budgets that follow from the documents of a state and a configuration. */
export function budgetsOfState(
  state: BudgetState,
  declared: { readonly config: readonly Budget[]; nowMs: number; readonly prerequisites: BudgetPrerequisites },
): MergedBudget[] {
  const [manual, resets] = [storedKind(manualBudgets, state).values(), storedKind(budgetResets, state).values()];
  return mergeBudgets({ ...declared, manual, resets });
}

/** A row for each budget, without what was spent. */
export function budgetRowsWithoutSpend(parts: BudgetParts, state: BudgetState): object[] {
  return budgetRows({ ...shownBudgets(parts, state), figures: undefined, covered: undefined, isStale: false });
}
