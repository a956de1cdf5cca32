// The verdicts of the control plane as a request meets them: by user path and by label. A request does not ask the control plane.
import { compareBudgets } from '../../domain/budgets/budget.ts';
import type { BudgetVerdict } from '../../domain/budgets/verdicts.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import { mostLabelledBudgets } from '../../schemas/metrics/limit-metrics.ts';
import { againAtMs, type SpentBudget } from './spent-budget.ts';

/** The outcomes of requests under a used-up budget: refused, or (in shadow) would have been. */
export const budgetOutcomes = ['reject', 'shadow_reject'] as const;
export type BudgetOutcome = (typeof budgetOutcomes)[number];

/** Decisions of one budget. */
export interface BudgetDecisions {
  /** Its id, or `other`: only so many budgets are counted apart. */
  readonly budget: string;
  readonly counts: Readonly<Record<BudgetOutcome, number>>;
}

type Index = ReadonlyMap<string, readonly BudgetVerdict[]>;

const nothing: readonly BudgetVerdict[] = [];
const other = 'other';

/** Empty until verdicts were read. */
export class BudgetsInForce {
  /** No budget is used up: nothing needs to be looked for. */
  isEmpty = true;
  #paths: Index = new Map();
  #labels: Index = new Map();
  readonly #decisions = new Map<string, Record<BudgetOutcome, number>>();

  /** How many verdicts there are, those of windows that have ended included. */
  get size(): number {
    let size = 0;
    for (const index of [this.#paths, this.#labels]) for (const found of index.values()) size += found.length;
    return size;
  }

  /** Takes all verdicts of one moment, in place of those before. */
  put(verdicts: readonly BudgetVerdict[]): void {
    this.#paths = indexOf(verdicts, 'user_path');
    this.#labels = indexOf(verdicts, 'label');
    this.isEmpty = verdicts.length === 0;
  }

  /**
   * The one of these that refuses a request that they all cover, undefined when none does: among several the one that is to be waited for longest,
   * because a retry is admitted no sooner; then the first in the order of budgets. It is counted, and so are those in shadow.
   */
  note(found: readonly SpentBudget[]): SpentBudget | undefined {
    const refusing = foremost(found);
    if (refusing !== undefined) this.#count(refusing.id, 'reject');
    else for (const { id } of found) this.#count(id, 'shadow_reject');
    return refusing;
  }

  /** Those that cover a request, whatever their mode, without counting anything. Verdicts of windows that have ended are none. */
  covering(userPath: string, labels: readonly string[] | undefined, nowMs: number): readonly BudgetVerdict[] {
    if (this.isEmpty) return nothing;
    const found: BudgetVerdict[] = [];
    if (this.#paths.size > 0) {
      const path = foldUserPath(userPath);
      take(this.#paths.get('/'), nowMs, found);
      for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) {
        take(this.#paths.get(path.slice(0, end)), nowMs, found);
      }
      if (path !== '/') take(this.#paths.get(path), nowMs, found);
    }
    for (const label of labels ?? []) take(this.#labels.get(label), nowMs, found);
    return found;
  }

  decisions(): BudgetDecisions[] {
    return [...this.#decisions].map(([budget, counts]) => ({ budget, counts: { ...counts } }));
  }

  #count(id: string, outcome: BudgetOutcome): void {
    const isApart = this.#decisions.has(id) || this.#decisions.size < mostLabelledBudgets;
    const name = isApart ? id : other;
    const counts = this.#decisions.get(name) ?? { reject: 0, shadow_reject: 0 };
    counts[outcome] += 1;
    this.#decisions.set(name, counts);
  }
}

/** The enforced one that is to be waited for longest; among equals the first in the order of budgets. */
export function foremost(verdicts: readonly SpentBudget[]): SpentBudget | undefined {
  let first: SpentBudget | undefined;
  for (const each of verdicts) {
    if (each.mode === 'shadow') continue;
    const later = first === undefined ? 1 : againAtMs(each) - againAtMs(first);
    if (later > 0 || (later === 0 && first !== undefined && compareBudgets(each, first) < 0)) first = each;
  }
  return first;
}

function take(verdicts: readonly BudgetVerdict[] | undefined, nowMs: number, to: BudgetVerdict[]): void {
  for (const each of verdicts ?? nothing) if (nowMs < each.endMs) to.push(each);
}

function indexOf(verdicts: readonly BudgetVerdict[], scope: BudgetVerdict['scope']): Index {
  const index = new Map<string, BudgetVerdict[]>();
  for (const each of verdicts) {
    if (each.scope !== scope) continue;
    const { effectiveSubject } = each;
    const subject = scope === 'user_path' ? foldUserPath(effectiveSubject) : effectiveSubject;
    const standing = index.get(subject);
    if (standing === undefined) index.set(subject, [each]);
    else standing.push(each);
  }
  return index;
}
