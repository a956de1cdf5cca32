// Reads the budgets of the store, writes changes, and builds the answer with the resulting budgets.
import type { Budget } from '../../../domain/budgets/budget.ts';
import { anchorsInForce } from '../../../domain/budgets/budget-settings.ts';
import { type BudgetPrerequisites, type MergedBudget, mergeBudgets } from '../../../domain/budgets/merge-budgets.ts';
import type { Anchors } from '../../../domain/budgets/window.ts';
import { budgetResets, budgetSettings, manualBudgets } from '../../../domain/documents/kinds.ts';
import { readKind } from '../../../domain/documents/managed-kind.ts';
import type { Change, StoredState } from '../../../store/state/state-store.ts';
import type { BudgetFigures } from '../../budgets/watch.ts';
import { createCommitter, type DocumentStore, expectedOf, stateAfter } from '../../managed/commit.ts';
import { checkPrecondition, entityTag } from '../../managed/entity-tag.ts';
import type { Quotas } from '../../managed/quotas.ts';
import { readStored, unlessUnavailable } from '../../managed/read-stored.ts';
import { type KnownBudgets, knownBudgets, tidiedBudgets } from './changes.ts';
import type { BudgetFilter } from './filter.ts';
import { type BudgetListingParts, budgetListing, budgetRows } from './listing.ts';

/** The parts of the process that the budget resource uses. */
export interface BudgetParts {
  readonly store: DocumentStore;
  /** The budgets of the configuration in force, with the dates and the place of each declaration, and its anchors. */
  configBudgets(): Pick<BudgetListingParts, 'declared' | 'places' | 'anchors' | 'unpriced'> & {
    readonly budgets: readonly Budget[];
  };
  /** What was spent, as of now, by the budgets in force. Rejects with `StoreUnavailable`. */
  figures(): Promise<BudgetFigures>;
  /** The limits on what operators may store. */
  quotas(): Quotas;
  /** Decides which budgets can be enforced; called for every request. */
  prerequisites(): BudgetPrerequisites;
  nowMs(): number;
}

/** The body of an answer with budgets. */
export interface BudgetsAnswer {
  readonly body: object;
  /** The revision of the budgets of operators. */
  readonly etag: string;
  /** The revision of the store after a write; absent for a listing. */
  readonly revision?: number;
  readonly isStale: boolean;
}

/** Decides the changes of a write. */
export type DecideBudgets = (known: KnownBudgets) => readonly Change[];
/** Whether the operator may see a budget of this user path, or (undefined) of a label. */
type CanSee = (userPath: string | undefined) => boolean;
type BudgetState = Pick<StoredState, 'documents' | 'kinds'>;

const budgetKinds = [manualBudgets, budgetResets, budgetSettings];
const everything: BudgetFilter = { shows: () => true, covered: undefined };

/** The condition of a write, and the budgets that its answer shows. */
export interface BudgetConditions {
  /** The If-Match header: 412 when the budgets have another entity tag. */
  readonly ifMatch: string | undefined;
  readonly canSee: CanSee;
}

/** The listing as of now. While the state store cannot be read: the budgets in force here. Rejects with `StoreUnavailable` when none are. */
export async function listBudgets(parts: BudgetParts, canSee: CanSee, filter: BudgetFilter): Promise<BudgetsAnswer> {
  const [{ state, isStale }, figures] = await Promise.all([
    readStored(parts.store),
    unlessUnavailable(parts.figures()),
  ]);
  return answer(parts, state, { figures, canSee, filter, isStale });
}

/** The anchors in force. */
export async function readAnchors(parts: BudgetParts): Promise<{ anchors: Anchors; isStale: boolean }> {
  const { state, isStale } = await readStored(parts.store);
  return { anchors: anchorsOf(parts, state), isStale };
}

/**
 * A writer that decides on the current state of the store and answers with the budgets right after its change. Throws refusals and
 * `StoreUnavailable`.
 */
export function createBudgetWriter(
  parts: BudgetParts,
): (decide: DecideBudgets, conditions: BudgetConditions) => Promise<BudgetsAnswer & { readonly anchors: Anchors }> {
  const commit = createCommitter(parts.store, budgetKinds);
  return async (decide, { ifMatch, canSee }) => {
    const { state, decision, revision } = await commit((current) => {
      checkPrecondition(ifMatch, entityTag(current, manualBudgets));
      const now = Math.floor(parts.nowMs());
      return {
        changes: decide(knownBudgets(current, parts.configBudgets().budgets, now, parts.configBudgets().places)),
      };
    });
    // Nothing may fail after the commit; what was spent is asked for after it, because a reset changes that.
    const figures = await unlessUnavailable(parts.figures());
    const next = stateAfter(state, decision.changes, revision);
    const shown = answer(parts, next, { figures, canSee, filter: everything, isStale: false });
    return { ...shown, revision, anchors: anchorsOf(parts, next) };
  };
}

/** Removes what has ended, in one commit. True: something was changed, or another writer was first. Rejects with `StoreUnavailable`. */
export async function tidyBudgets(
  store: DocumentStore,
  { budgets, anchors }: { readonly budgets: readonly Budget[]; readonly anchors: Anchors },
  nowMs: number,
): Promise<boolean> {
  const state = await store.read();
  const known = knownBudgets(state, budgets, nowMs);
  const changes = tidiedBudgets(known, anchorsInForce(anchors, known.settings));
  if (changes.length === 0) return false;
  await store.commit({ storeId: state.storeId ?? null, expected: expectedOf(state, budgetKinds), changes });
  return true;
}

interface Shown {
  readonly figures: BudgetFigures | undefined;
  readonly canSee: CanSee;
  readonly filter: BudgetFilter;
  readonly isStale: boolean;
}

function answer(parts: BudgetParts, state: BudgetState, { figures, canSee, filter, isStale }: Shown): BudgetsAnswer {
  const shown = shownBudgets(parts, state);
  const budgets = shown.budgets.filter((budget) => canSee(pathOfBudget(budget)) && filter.shows(budget));
  const body = budgetListing({ ...shown, budgets, figures, covered: filter.covered, isStale });
  return { body, etag: entityTag(state, manualBudgets), isStale: isStale || figures === undefined };
}

function shownBudgets(
  parts: BudgetParts,
  state: BudgetState,
): Omit<BudgetListingParts, 'figures' | 'covered' | 'isStale'> {
  const { declared, places, unpriced } = parts.configBudgets();
  const nowMs = Math.floor(parts.nowMs());
  const config = parts.configBudgets().budgets;
  const budgets = budgetsOfState(state, { config, nowMs, prerequisites: parts.prerequisites() });
  return { budgets, declared, places, unpriced, anchors: anchorsOf(parts, state), nowMs };
}

function anchorsOf(parts: BudgetParts, { documents }: Pick<BudgetState, 'documents'>): Anchors {
  return anchorsInForce(parts.configBudgets().anchors, readKind(budgetSettings, documents).values);
}

/** The budgets that follow from the documents of a state and a configuration. */
export function budgetsOfState(
  { documents }: Pick<BudgetState, 'documents'>,
  declared: { readonly config: readonly Budget[]; nowMs: number; readonly prerequisites: BudgetPrerequisites },
): MergedBudget[] {
  const { values: manual } = readKind(manualBudgets, documents);
  return mergeBudgets({ ...declared, manual, resets: readKind(budgetResets, documents).values });
}

/** A row for each budget, without what was spent. */
export function budgetRowsWithoutSpend(parts: BudgetParts, state: BudgetState): object[] {
  return budgetRows({ ...shownBudgets(parts, state), figures: undefined, covered: undefined, isStale: false });
}

/** The user path a budget belongs to; undefined when it is about a label, which belongs to the whole gateway. */
export function pathOfBudget({ scope, subject }: Pick<Budget, 'scope' | 'subject'>): string | undefined {
  return scope === 'user_path' ? subject : undefined;
}
