// The budgets that a caller spends from, for GET /v1/usage: as the control plane lists them, else those that are used up. Pure.
import { dollarsOf } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import type { BudgetVerdict } from '../../domain/budgets/verdicts.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';

/** Members of a row of the listing that the caller sees as they are (`schemas/model-api/usage.schema.json`). */
const told = [
  'scope',
  'subject',
  'effective_subject',
  'per_child',
  'mode',
  'period_seconds',
  'period_label',
  'amount',
  'spent',
  'remaining',
  'usage_ratio',
  'period_start',
  'period_end',
  'exceeded',
] as const;

type Row = Readonly<Record<string, unknown>>;

/**
 * `listed`: the body of GET /admin/budgets for the caller's path, undefined when it is not known; one without spend counts as unknown. `verdicts`: those that cover the caller.
 * Of labels only budgets that are used up are known. `nowMs`: Unix milliseconds.
 */
export function callerBudgets(listed: unknown, verdicts: readonly BudgetVerdict[], nowMs: number): object[] {
  const rows = rowsIn(listed)?.filter((row) => row['enforced'] === true && typeof row['spent'] === 'number');
  const known = rows?.map((row) => itemOf(row, nowMs)) ?? [];
  const others = rows === undefined ? verdicts : verdicts.filter(({ scope }) => scope === 'label');
  return [...known, ...others.map((verdict) => itemOfVerdict(verdict, nowMs))];
}

function rowsIn(listed: unknown): Row[] | undefined {
  if (typeof listed !== 'object' || listed === null || 'stale' in listed || !('budgets' in listed)) return undefined;
  const { budgets: rows } = listed;
  if (!Array.isArray(rows)) return undefined;
  return rows.filter((row): row is Row => typeof row === 'object' && row !== null);
}

function itemOf(row: Row, nowMs: number): object {
  const end = row['period_end'];
  const endMs = typeof end === 'string' ? (parseMoment(end) ?? nowMs) : nowMs;
  return {
    ...Object.fromEntries(told.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]]))),
    user_path: row['effective_subject'],
    resets_in_seconds: secondsUntil(endMs, nowMs),
  };
}

function itemOfVerdict(verdict: BudgetVerdict, nowMs: number): object {
  const { scope, subject, effectiveSubject, perChild, mode, periodSeconds, amount, spent, startMs, endMs } = verdict;
  return {
    scope,
    subject,
    effective_subject: effectiveSubject,
    per_child: perChild,
    ...(scope === 'user_path' ? { user_path: effectiveSubject } : {}),
    mode,
    period_seconds: periodSeconds,
    period_label: budgetPeriodLabel(periodSeconds),
    amount: dollarsOf(amount),
    spent: dollarsOf(spent),
    remaining: dollarsOf(amount - spent),
    usage_ratio: spent / amount,
    period_start: timestamp(startMs),
    period_end: timestamp(endMs),
    resets_in_seconds: secondsUntil(endMs, nowMs),
    exceeded: true,
  };
}

function secondsUntil(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
