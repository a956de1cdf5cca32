// One line per recorded run in history.jsonl: the ratios, so that a slow creep over many commits can be seen.
import { appendFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join, relative } from 'node:path';
import { cellsOf, type Findings, nameOf, ratioBetween, rowsOf, type Variant } from './findings.ts';
import { NODE_FLAGS, ROOT } from './processes.ts';
import { median } from './statistics.ts';
import { ownCommit } from './tree.ts';
import { isJson } from './workload.ts';

/** Where the lines are. */
const HISTORY = join(import.meta.dirname, 'history.jsonl');

/** What is kept of a run. */
export interface HistoryLine {
  readonly commit: string;
  /** Whether files differed from the commit. */
  readonly dirty: boolean;
  /** ISO 8601. */
  readonly date: string;
  readonly machine: string;
  readonly node: string;
  readonly flags: readonly string[];
  /** CPU of the gateway per request to that of the bare pass-through, by cell; `limits`, `usage` and `access log` to itself without them. */
  readonly ratios: Readonly<Record<string, number>>;
  /** Milliseconds, by JSON cell: the gateway, and the bare pass-through. */
  readonly p99: Readonly<Record<string, { gateway?: number; bare?: number }>>;
  /** MiB; `stream` is KiB per open stream, by their number. */
  readonly memory: { idle?: number; loaded?: number; stream?: Readonly<Record<string, number>> };
  /** Milliseconds to the first 200. */
  readonly start?: number;
}

/** Appends one line; returns the path of the file from the top of the repository. */
export function record(findings: Findings): string {
  const line: HistoryLine = {
    ...ownCommit(relative(ROOT, HISTORY)),
    date: new Date().toISOString(),
    machine: `${cpus().length} × ${cpus()[0]?.model ?? 'CPU'}`,
    node: process.versions.node,
    flags: NODE_FLAGS,
    ...figuresOf(findings),
  };
  appendFileSync(HISTORY, `${JSON.stringify(line)}\n`);
  return relative(ROOT, HISTORY);
}

/** The figures of a run that are kept, rounded to what they are worth. */
export function figuresOf(findings: Findings): Pick<HistoryLine, 'ratios' | 'p99' | 'memory' | 'start'> {
  const { samples, footprints, streams, starts } = findings;
  const ratios: Record<string, number> = {};
  for (const cell of cellsOf(samples)) {
    const keep = (name: string, before: Variant, after: Variant = 'gateway'): void => {
      const ratio = ratioBetween(samples, cell, { before, after });
      if (ratio !== undefined) ratios[name] = Number(ratio.ratio.toFixed(3));
    };
    keep(nameOf(cell), 'bare');
    keep('limits', 'unlimited');
    keep('usage', 'unmetered');
    keep('access log', 'gateway', 'logged');
  }
  const p99: Record<string, { gateway?: number; bare?: number }> = {};
  for (const row of rowsOf(samples).filter(({ workload }) => isJson(workload))) {
    if (row.variant !== 'gateway' && row.variant !== 'bare') continue;
    p99[nameOf(row)] = { ...p99[nameOf(row)], [row.variant]: Number(row.p99Ms.toFixed(2)) };
  }
  const { gateway } = footprints;
  const open = streams.filter((one) => one.variant === 'gateway' && !Number.isNaN(one.kibPerStream));
  const memory = {
    ...(gateway === undefined ? {} : { idle: Math.round(gateway.idleMiB), loaded: Math.round(gateway.loadedMiB) }),
    ...(open.length === 0
      ? {}
      : { stream: Object.fromEntries(open.map(({ wanted, kibPerStream }) => [wanted, Math.round(kibPerStream)])) }),
  };
  const times = starts.find(({ variant }) => variant === 'gateway')?.firstAnswerMs;
  return { ratios, p99, memory, ...(times === undefined ? {} : { start: Math.round(median(times)) }) };
}
