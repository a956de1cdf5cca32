// What budgets had spent before the first line of the traffic: what has to be asked, and how a world takes it over.
import { budgetKey, budgetTitle, placeOfBudget } from '../../domain/budgets/budget.ts';
import { budgetWindow } from '../../domain/budgets/window.ts';
import type { SpentBefore } from '../../domain/replays/traffic-head.ts';
import type { World } from './world.ts';

type Budgeted = Pick<World, 'budgets' | 'toKeep'>;

/** The budgets in force, in their windows at `beginMs` (Unix milliseconds), as rows without their spend. */
export function windowsOf({ toKeep: { budgets, anchors } }: Budgeted, beginMs: number): Omit<SpentBefore, 'spent'>[] {
  return budgets
    .filter(({ enforced }) => enforced)
    .map(({ scope, matchSubject: subject, perChild: per_child, periodSeconds: period_seconds }) => {
      const { startMs } = budgetWindow(period_seconds, anchors, beginMs);
      return { scope, subject, per_child, period_seconds, window_ms: startMs };
    });
}

/** Ledgers count from there on. Gives the titles of budgets whose spend is not known; they begin empty. */
export function takeSpent(world: Budgeted, rows: readonly SpentBefore[], beginMs: number): string[] {
  const known = new Map(rows.map((row) => [placeOf(row), row]));
  const mine = windowsOf(world, beginMs);
  const found = mine.flatMap((row) => known.get(placeOf(row)) ?? []);
  const windows = found.map((row) => ({ ...named(row), unlisted: 0 }));
  const spends = found.flatMap((row) =>
    row.spent.map(([effectiveSubject, spent]) => ({ ...named(row), effectiveSubject, spent })),
  );
  world.budgets.ledgers.records.put({ computedAtMs: beginMs, windows, spends, unlisted: 0 }, beginMs);
  const unknown = mine.filter((row) => !known.has(placeOf(row)));
  return unknown.map(({ scope, subject, period_seconds: periodSeconds }) =>
    budgetTitle({ scope, subject, periodSeconds }),
  );
}

function named({ scope, subject, per_child: perChild, period_seconds: seconds, window_ms: fromMs }: SpentBefore) {
  return { key: budgetKey(scope, subject, seconds), perChild, fromMs };
}

function placeOf(row: Omit<SpentBefore, 'spent'>): string {
  return `${placeOfBudget({ key: budgetKey(row.scope, row.subject, row.period_seconds), perChild: row.per_child })}\n${row.window_ms}`;
}
