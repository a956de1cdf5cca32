// The budgets that a caller spends from, for GET /v1/usage: as the control plane lists them, with what this proxy knows beyond; else as this
// proxy knows them. Pure.
import { dollarsOf } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { KnownBudget } from './spent-budget.ts';

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
 * `listed`: the body of GET /admin/budgets for the caller's path, undefined when it is not known; one without spend counts as unknown. It has no
 * budgets of labels. `known`: the budgets that cover the caller, as this proxy knows them. `nowMs`: Unix milliseconds.
 */
export function callerBudgets(listed: unknown, known: readonly KnownBudget[], nowMs: number): object[] {
  const rows = rowsIn(listed)?.filter((row) => row['enforced'] === true && typeof row['spent'] === 'number');
  const others = rows === undefined ? known : known.filter(({ scope }) => scope === 'label');
  return [
    ...(rows?.map((row) => itemOf(raised(row, known), nowMs)) ?? []),
    ...others.map((verdict) => itemOfVerdict(verdict, nowMs)),
  ];
}

/** Records of what was spent just now are still on their way. */
function raised(row: Row, known: readonly KnownBudget[]): Row {
  const names = ['scope', 'per_child', 'period_seconds', 'effective_subject'] as const;
  const wanted = nameOf(names.map((name) => row[name]));
  const own = known.find(({ scope, perChild, periodSeconds, effectiveSubject }) => {
    return nameOf([scope, perChild, periodSeconds, effectiveSubject]) === wanted;
  });
  if (own === undefined || dollarsOf(own.spent) <= (row['spent'] as number)) return row;
  return { ...row, ...spentOf(own) };
}

function nameOf(parts: readonly unknown[]): string {
  return parts.join(' ').toLowerCase();
}

/** The members that follow from what was spent. */
function spentOf({ amount, spent }: Pick<KnownBudget, 'amount' | 'spent'>): Row {
  return {
    spent: dollarsOf(spent),
    remaining: dollarsOf(amount - spent),
    usage_ratio: spent / amount,
    exceeded: spent >= amount,
  };
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

function itemOfVerdict(verdict: KnownBudget, nowMs: number): object {
  const { scope, subject, effectiveSubject, perChild, mode, periodSeconds, amount, startMs, endMs } = verdict;
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
    ...spentOf(verdict),
    period_start: timestamp(startMs),
    period_end: timestamp(endMs),
    resets_in_seconds: secondsUntil(endMs, nowMs),
  };
}

function secondsUntil(endMs: number, nowMs: number): number {
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000));
}
