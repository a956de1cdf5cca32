// Counts the entries of a span: whole days and hours from their tallies, what is left at both ends from the entries.
import type { Span } from '../../record-store.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import { dayMs, hourMs } from '../write/tallies.ts';

/** A part of the span that has entries. `single`: those without a session. */
export interface TimeSlice extends Span {
  readonly n: number;
  readonly single: number;
}

/** The latest first. Slices without entries are left out. `combos` undefined: all. */
export async function countSlices(
  statements: Statements,
  span: Span,
  combos: readonly number[] | undefined,
): Promise<readonly TimeSlice[]> {
  const isSought = combos && condition(statements.dialect.isOneOf('combo', 'BIGINT'), combos);
  const slices: TimeSlice[] = [];
  for (const { grainMs, ...part } of partsOf(span)) {
    if (grainMs === 0) slices.push(await countEntries(statements, part, isSought));
    else
      slices.push(
        ...(await countTallies(statements, part, allOf(condition('grain_ms = ?', grainMs), isSought), grainMs)),
      );
  }
  return slices.filter(({ n }) => n > 0).sort((a, b) => b.fromMs - a.fromMs);
}

export function sumOf(slices: readonly TimeSlice[], name: 'n' | 'single'): number {
  return slices.reduce((sum, slice) => sum + slice[name], 0);
}

interface Part extends Span {
  /** 0: no whole hour. */
  readonly grainMs: number;
}

/** The span in whole days, and what is left on either side in whole hours, and what is left on either side of those. */
export function partsOf(span: Span, grainsMs: readonly number[] = [dayMs, hourMs]): Part[] {
  const [grainMs = 0, ...finer] = grainsMs;
  if (span.fromMs >= span.toMs) return [];
  if (grainMs === 0) return [{ ...span, grainMs }];
  const fromMs = Math.ceil(span.fromMs / grainMs) * grainMs;
  const toMs = Math.floor(span.toMs / grainMs) * grainMs;
  if (fromMs >= toMs) return partsOf(span, finer);
  return [
    ...partsOf({ fromMs: span.fromMs, toMs: fromMs }, finer),
    { fromMs, toMs, grainMs },
    ...partsOf({ fromMs: toMs, toMs: span.toMs }, finer),
  ];
}

async function countTallies(
  statements: Statements,
  part: Span,
  where: Condition,
  grainMs: number,
): Promise<TimeSlice[]> {
  const { sql, values } = allOf(between('start_ms', part), where);
  const sums = `SELECT start_ms, sum(n) AS n, sum(single) AS single FROM tally WHERE ${sql} GROUP BY start_ms`;
  const rows = await statements.all(sums, ...values);
  return rows.map((row) => ({
    fromMs: Number(row['start_ms']),
    toMs: Number(row['start_ms']) + grainMs,
    ...countsOf(row),
  }));
}

async function countEntries(statements: Statements, part: Span, where: Condition | undefined): Promise<TimeSlice> {
  const { sql, values } = allOf(between('started_ms', part), where);
  const counted = 'SELECT count(*) AS n, count(CASE WHEN thread < 0 THEN 1 END) AS single FROM entry';
  const [row = {}] = await statements.all(`${counted} WHERE ${sql}`, ...values);
  return { ...part, ...countsOf(row) };
}

function countsOf(row: Row): { n: number; single: number } {
  return { n: Number(row['n']), single: Number(row['single']) };
}
