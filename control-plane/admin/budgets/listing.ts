// The listing of budgets with what was spent (reference: Budgets, item). Pure.
import { explainUnenforcedBudget, type MergedBudget } from '../../../domain/budgets/merge-budgets.ts';
import { dollarsOf } from '../../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../../domain/budgets/period.ts';
import { type Anchors, budgetWindow } from '../../../domain/budgets/window.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { directChild } from '../../../domain/user-path.ts';
import type { BudgetFigures } from '../../budgets/watch.ts';
import type { DeclaredDates } from '../../managed/declared-dates.ts';
import { authorship, provenance } from '../../managed/listing.ts';

export interface BudgetListingParts {
  /** Sorted. */
  readonly budgets: readonly MergedBudget[];
  readonly anchors: Anchors;
  /** Undefined: the record store does not answer, so what was spent is not known. */
  readonly figures: BudgetFigures | undefined;
  /** Of templates, what the child of this path has spent is shown. */
  readonly covered: string | undefined;
  readonly declared: DeclaredDates;
  /** Where the configuration declares a budget, by its key. */
  readonly places: ReadonlyMap<string, string>;
  /** A sentence about models whose cost no budget counts; undefined: there are none. */
  readonly unpriced: string | undefined;
  readonly nowMs: number;
  /** The state store does not answer either. */
  readonly isStale: boolean;
}

/** The body of `schemas/admin/budgets.schema.json`: times are RFC 3339 in UTC; absent members are left out. */
export function budgetListing(parts: BudgetListingParts): object {
  const { budgets, unpriced } = parts;
  return {
    budgets: budgetRows(parts),
    server_time: timestamp(parts.nowMs),
    ...(unpriced === undefined || !budgets.some(({ enforced }) => enforced) ? {} : { warnings: [sentence(unpriced)] }),
    ...(parts.isStale || parts.figures === undefined ? { stale: true } : {}),
  };
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** One row for each budget; without spend when `figures` is undefined. */
export function budgetRows(parts: BudgetListingParts): object[] {
  return parts.budgets.map((budget) => item(budget, parts));
}

function item(budget: MergedBudget, parts: BudgetListingParts): object {
  const { anchors, declared: all, places, nowMs } = parts;
  const { manual, lastResetMs } = budget;
  const unenforced = explainUnenforcedBudget(budget);
  const { startMs, endMs } = budgetWindow(budget.periodSeconds, anchors, nowMs);
  return {
    id: budget.id,
    scope: budget.scope,
    subject: budget.subject,
    ...(budget.scope === 'user_path' ? { user_path: budget.subject } : {}),
    per_child: budget.perChild,
    ...provenance(budget.key, budget, places),
    enforced: budget.enforced,
    ...(unenforced === undefined ? {} : { unenforced_reason: unenforced }),
    mode: budget.mode,
    period_label: budgetPeriodLabel(budget.periodSeconds),
    period_seconds: budget.periodSeconds,
    amount: dollarsOf(budget.amount),
    period_start: timestamp(startMs),
    period_end: timestamp(endMs),
    period_ratio: (nowMs - startMs) / (endMs - startMs),
    ...(lastResetMs === undefined ? {} : { last_reset_at: timestamp(lastResetMs) }),
    ...spending(budget, parts),
    ...authorship(manual, all.get(budget.key), nowMs),
  };
}

/** Of a template, only a child has an amount of its own. */
function spending(budget: MergedBudget, { figures, covered }: BudgetListingParts): object {
  const owner = ownerOf(budget, covered);
  if (owner === undefined) return {};
  const standing = figures?.of(budget);
  if (standing === undefined) return { effective_subject: owner };
  const spent = standing.spend.get(owner);
  return {
    effective_subject: owner,
    spent: dollarsOf(spent ?? 0),
    has_usage: spent !== undefined,
    remaining: dollarsOf(budget.amount - (spent ?? 0)),
    usage_ratio: (spent ?? 0) / budget.amount,
    exceeded: spent !== undefined && spent >= budget.amount,
  };
}

function ownerOf({ perChild, matchSubject }: MergedBudget, covered: string | undefined): string | undefined {
  if (!perChild) return matchSubject;
  return covered === undefined ? undefined : directChild(covered, matchSubject);
}
