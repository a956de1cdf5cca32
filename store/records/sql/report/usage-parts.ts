// Sums over usage records of a span as SQL: whole days, hours or quarters of an hour from the sums kept, what is left at both ends from the records.
import type { Span } from '../../record-store.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { dayMs } from '../write/tallies.ts';
import {
  amountIn,
  grainsOf,
  type Measure,
  type Rollup,
  rollups,
  type SumColumn,
  tableOf,
} from '../write/usage-rollups.ts';
import { partsOf } from './time-slices.ts';
import { namesCondition, recordCondition, type SoughtUsage } from './usage-filter.ts';

/** The sums that can tell the records that are asked for from the others, and by these columns; undefined: none can. */
export function rollupFor(sought: SoughtUsage, columns: readonly SumColumn[]): Rollup | undefined {
  const { model, path, label, sessionId } = sought;
  const needs = (column: SumColumn, asked: unknown): boolean => asked !== undefined || columns.includes(column);
  if (sessionId !== undefined) return undefined;
  const [byModel, byPath] = [needs('model', model), needs('path', path)];
  if (needs('label', label))
    // A record with several labels has one row for each: the others are not to be told from one.
    return byModel || byPath || columns.includes('auth_key_id') || (label !== undefined && columns.includes('label'))
      ? undefined
      : rollups.label;
  if (columns.includes('auth_key_id')) return byModel ? undefined : byPath ? rollups.keyAndPath : rollups.key;
  if (byModel && byPath) return rollups.both;
  return byPath ? rollups.path : rollups.model;
}

/** SQL that gives the sums of one part of the span, and how it groups them. */
export interface PartSums extends Span {
  /** 0: of the records themselves. */
  readonly grainMs: number;
  readonly select: Condition;
}

interface Wanted {
  /** Columns that sums are made for. */
  readonly columns: readonly SumColumn[];
  readonly measures: readonly Measure[];
  /** A row for each grain of time too, as `start_ms`. */
  readonly byStart?: boolean;
  /** Some of those of the sums. */
  readonly grainsMs?: readonly number[];
}

/** Of the span that is asked for, without gaps. */
export function partSums(statements: Statements, sought: SoughtUsage, wanted: Wanted): readonly PartSums[] {
  const rollup = rollupFor(sought, wanted.columns);
  const { grainsMs = rollup === undefined ? [] : grainsOf(rollup, sought.isRecent) } = wanted;
  return partsOf(sought.span, grainsMs).map(({ grainMs, ...part }) => ({
    ...part,
    grainMs,
    select:
      rollup === undefined || grainMs === 0
        ? sumsOfRecords(statements, sought, part, wanted)
        : sumsOfRollup(statements, sought, { ...part, grainMs, rollup }, wanted),
  }));
}

function sumsOfRollup(
  statements: Statements,
  sought: SoughtUsage,
  { rollup, grainMs, ...part }: Span & { readonly rollup: Rollup; readonly grainMs: number },
  { columns, measures: asked, byStart = false }: Wanted,
): Condition {
  const { sql, values } = allOf(
    between('start_ms', part),
    namesCondition(statements, sought),
    sought.label === undefined ? undefined : condition('label = ?', sought.label),
  );
  const sums = asked.map((name) => `sum(${name}) AS ${name}`);
  const groups = [...(byStart ? ['start_ms'] : []), ...columns];
  return condition(
    `SELECT ${[...groups, ...sums].join(', ')} FROM ${tableOf(rollup, grainMs)} WHERE ${sql} ${groupedBy(groups)}`,
    ...values,
  );
}

function sumsOfRecords(
  statements: Statements,
  sought: SoughtUsage,
  part: Span,
  { columns, measures: asked, byStart = false }: Wanted,
): Condition {
  const isShort = part.toMs - part.fromMs <= dayMs;
  const { sql, values } = allOf(between('at_ms', part), recordCondition(statements, sought, isShort));
  const sums = asked.map((name) => `${amountIn[name]} AS ${name}`);
  const start = byStart ? ['min(at_ms) AS start_ms'] : [];
  const source = columns.includes('label') ? 'usage JOIN usage_label ON usage_label.usage = usage.id' : 'usage';
  return condition(
    `SELECT ${[...start, ...columns, ...sums].join(', ')} FROM ${source} WHERE ${sql} ${groupedBy(columns)}`,
    ...values,
  );
}

function groupedBy(columns: readonly string[]): string {
  return columns.length === 0 ? '' : `GROUP BY ${columns.join(', ')}`;
}

/** One row for each value of the columns, over all parts. */
export function joinSums(parts: readonly PartSums[], { columns, measures: asked }: Wanted): Condition {
  // Sums of the database are exact; as a number of JavaScript they are so up to 2^53, and the nearest one beyond.
  const sums = asked.map((name) => `CAST(sum(${name}) AS DOUBLE PRECISION) AS ${name}`);
  const all = parts.map(({ select }) => select.sql).join(' UNION ALL ');
  return condition(
    `SELECT ${[...columns, ...sums].join(', ')} FROM (${all}) AS part ${groupedBy(columns)}`,
    ...parts.flatMap(({ select }) => select.values),
  );
}
