// Computes the spend of each budget in its present window, and what proxies are told of it: the spends, and the used-up budgets. Pure.
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import { type BudgetSpend, type BudgetSpends, mostSpendCharacters, mostSpends } from '../../domain/budgets/spends.ts';
import { type BudgetVerdict, type BudgetVerdicts, mostVerdicts } from '../../domain/budgets/verdicts.ts';
import { type Anchors, type BudgetWindow, budgetWindow } from '../../domain/budgets/window.ts';
import type { NanoDollars } from '../../domain/records/usage.ts';
import type { Spend, SpendQuestion } from '../../store/records/record-store.ts';

/** A budget in its present window. */
export interface AskedBudget {
  readonly budget: MergedBudget;
  readonly window: BudgetWindow;
  readonly question: SpendQuestion;
}

/** A budget with its spend. */
export interface BudgetStanding extends AskedBudget {
  readonly spend: Spend;
}

/**
 * The questions for the spend of each budget since its window began, or since its last reset. `nowMs`: Unix
 * milliseconds.
 */
export function questionsOf(budgets: readonly MergedBudget[], anchors: Anchors, nowMs: number): AskedBudget[] {
  return budgets.map((budget) => {
    const window = budgetWindow(budget.periodSeconds, anchors, nowMs);
    const { scope, matchSubject: subject, perChild, lastResetMs = window.startMs } = budget;
    const fromMs = Math.max(window.startMs, lastResetMs);
    return { budget, window, question: { scope, subject, perChild, fromMs } };
  });
}

/** From when on usage counts for one of these budgets; Infinity: there is none. Unix milliseconds. */
export function countedSinceMs(budgets: readonly MergedBudget[], anchors: Anchors, nowMs: number): number {
  const asked = questionsOf(budgets, anchors, Math.floor(nowMs));
  return asked.reduce((earliest, { question }) => Math.min(earliest, question.fromMs), Number.POSITIVE_INFINITY);
}

/** The most that one subject of the budget has spent. */
export function highestSpend(spend: Spend): NanoDollars {
  let highest = 0;
  for (const spent of spend.values()) if (spent > highest) highest = spent;
  return highest;
}

/** A verdict on every subject that has spent its budget, for budgets that are enforced; at most `mostVerdicts`, those that refuse first. */
export function verdictsOf(standings: readonly BudgetStanding[], computedAtMs: number): BudgetVerdicts {
  const found: BudgetVerdict[] = [];
  for (const { budget, window, question, spend } of standings) {
    if (!budget.enforced) continue;
    const { id, scope, subject, perChild, periodSeconds, amount, mode } = budget;
    for (const [effectiveSubject, spent] of spend) {
      if (spent < amount) continue;
      const named = { id, scope, subject, effectiveSubject, perChild, periodSeconds };
      const toldMode = mode === 'hard' ? 'enforce' : mode;
      const { fromMs } = question;
      found.push({ ...named, amount, spent: tellable(spent), ...window, mode: toldMode, fromMs });
    }
  }
  const verdicts =
    found.length <= mostVerdicts
      ? found
      : found.sort((a, b) => Number(a.mode === 'shadow') - Number(b.mode === 'shadow')).slice(0, mostVerdicts);
  return { computedAtMs, verdicts, unlisted: found.length - verdicts.length };
}

/**
 * What every subject of the enforced budgets has spent, those in shadow included: at most `mostSpends` subjects of at most as many budgets, those
 * in shadow last, then the greatest shares of their amounts first. `computedAtMs`: when the records were asked.
 */
export function spendsOf(standings: readonly BudgetStanding[], computedAtMs: number): BudgetSpends {
  const enforced = standings.filter(({ budget }) => budget.enforced);
  const listed = enforced.length <= mostSpends ? enforced : nearest(enforced).slice(0, mostSpends);
  const found = listed.flatMap(payersOf);
  const first = fitting(found);
  const told = first.length === found.length ? first : fitting(found.sort(byRank));
  const toldOf = Map.groupBy(told, ({ budget }) => budget);
  const windows = listed.map(({ budget, question: { fromMs }, spend }) => {
    const { key, perChild } = budget;
    return { key, perChild, fromMs, unlisted: payersIn(spend) - (toldOf.get(budget)?.length ?? 0) };
  });
  const spends = told.map(({ budget: { key, perChild }, fromMs, effectiveSubject, spent }): BudgetSpend => {
    return { key, perChild, effectiveSubject, fromMs, spent: tellable(spent) };
  });
  const all = enforced.reduce((sum, { spend }) => sum + payersIn(spend), 0);
  return { computedAtMs, windows, spends, unlisted: all - spends.length };
}

/** A subject that has spent something. */
interface Payer {
  readonly budget: MergedBudget;
  readonly fromMs: number;
  readonly effectiveSubject: string;
  readonly spent: NanoDollars;
  /** Of the amount. */
  readonly share: number;
}

function payersOf({ budget, question: { fromMs }, spend }: BudgetStanding): Payer[] {
  const payers: Payer[] = [];
  for (const [effectiveSubject, spent] of spend) {
    if (spent > 0) payers.push({ budget, fromMs, effectiveSubject, spent, share: spent / budget.amount });
  }
  return payers;
}

type Ranked = Pick<Payer, 'budget' | 'share'>;

/** Those in shadow last, then those with the greatest share of the amount first. */
function byRank(a: Ranked, b: Ranked): number {
  return Number(a.budget.mode === 'shadow') - Number(b.budget.mode === 'shadow') || b.share - a.share;
}

/** Of a template, the child that has spent most counts. */
function nearest(standings: readonly BudgetStanding[]): BudgetStanding[] {
  return standings
    .map((standing) => ({
      standing,
      budget: standing.budget,
      share: highestSpend(standing.spend) / standing.budget.amount,
    }))
    .sort(byRank)
    .map(({ standing }) => standing);
}

/** As many of the first as fit into one body. */
function fitting(all: readonly Payer[]): Payer[] {
  const first: Payer[] = [];
  let characters = 0;
  for (const each of all) {
    characters += each.effectiveSubject.length;
    if (first.length === mostSpends || characters > mostSpendCharacters) break;
    first.push(each);
  }
  return first;
}

/** How many subjects have spent something. */
function payersIn(spend: Spend): number {
  let payers = 0;
  for (const spent of spend.values()) if (spent > 0) payers += 1;
  return payers;
}

/** A sum of more than nine million dollars may be too large to be told exactly. */
function tellable(spent: NanoDollars): NanoDollars {
  return Math.min(spent, Number.MAX_SAFE_INTEGER);
}
