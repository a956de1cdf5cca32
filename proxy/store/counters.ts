// Counters outlive the process: loaded at start, written every interval, and once more at the end (spec, Limits 11).
import { setImmediate } from 'node:timers/promises';
import type { CounterRow, CounterText } from '../../domain/rules/counter-row.ts';
import { singleFlight } from '../../store/single-flight.ts';
import type { CounterBatch, StateStore } from '../../store/state/state-store.ts';

/** Rows that are collected at once, which holds the process up for some tenths of a millisecond. */
const rowsAtOnce = 100;
/** Rows of one write: each write costs the disk as much as many rows do. With a hundred, a row takes five times as long. */
const rowsPerWrite = 1_000;

/** Pages of stored rows, 500 each: more than two million counters have room nowhere, and a store that never ends is not asked for ever. */
const mostPages = 4_096;

/** Whose counters are kept: the limiter. */
export interface Counting {
  knows(key: string): boolean;
  restore(rows: readonly CounterRow[], nowMs: number): number;
  exportRemoved(): string[];
  exportChanged(limit: number): CounterText[];
}

export interface CounterKeeping {
  readonly store: Pick<StateStore, 'loadCounters' | 'writeCounters'>;
  readonly limiter: Counting;
  /** Whose rows these are. */
  readonly instance: string;
  /** Milliseconds between two writes; 0: only the load and the last write. */
  readonly intervalMs: number;
  /** Whole milliseconds of the limiter's clock. */
  nowMs: () => number;
  /** Called when the store begins to fail, and with undefined when it works again. */
  onTrouble: (trouble: Error | undefined) => void;
  /** Takes a sentence for the log. */
  warn: (sentence: string) => void;
}

/** What is to be written. */
type Changes = Pick<CounterBatch, 'removed' | 'rows'>;

interface Loading {
  from: string | undefined;
  readonly gone: Set<string>;
  skipped: number;
}

export interface KeptCounters {
  /** Unix milliseconds of the last time everything was written; 0 before. */
  writtenAtMs(): number;
  /** Writes what has changed; resolves whether or not the store takes it. */
  flush(): Promise<void>;
  /** The last write. Again gives the same promise. */
  close(): Promise<void>;
}

/**
 * Restores the counters of the rules in force and keeps them written. Resolves after the first attempt to load; while the store
 * fails, counting goes on in memory, every interval tries again, and what is loaded late is added to what was counted meanwhile.
 */
export async function keepCounters(keeping: CounterKeeping): Promise<KeptCounters> {
  const { store, limiter, instance, intervalMs, nowMs, onTrouble, warn } = keeping;
  /** How far the load has come, the rules whose rows are not to be counted, and how many rows cannot be read. */
  const loading: Loading = { from: undefined, gone: new Set(), skipped: 0 };
  let sequence: number | undefined;
  let pending: Changes | undefined;
  let writtenAtMs = 0;
  let isFailing = false;
  let closing: Promise<void> | undefined;

  /** Page by page, so that however many rows there are, neither memory nor time is taken for all at once; after a failure it goes on. */
  async function load(): Promise<number> {
    for (let page = 1; ; page += 1) {
      const stored = await store.loadCounters(instance, loading.from);
      // Of rules that were deleted while no process ran, or reset while the store could not be read: not to be counted again.
      for (const key of limiter.exportRemoved()) loading.gone.add(key);
      for (const { key } of stored.rows) if (!limiter.knows(key)) loading.gone.add(key);
      limiter.restore(
        stored.rows.filter(({ key }) => !loading.gone.has(key)),
        nowMs(),
      );
      loading.from = stored.next;
      loading.skipped += stored.skipped;
      if (stored.next !== undefined && page < mostPages) continue;
      if (loading.skipped > 0) warn(`${loading.skipped} of the stored counters cannot be read and are left out`);
      pending = { removed: [...loading.gone], rows: [] };
      return stored.sequence;
    }
  }

  async function write(): Promise<void> {
    sequence ??= await load();
    for (let isMore = true; isMore; ) {
      // The rest of a failed or earlier write is not the present number of changes.
      const isLeftOver = pending !== undefined;
      pending ??= await collect(limiter);
      const { removed, rows } = pending;
      if (removed.length + rows.length > 0) {
        // A number of its own for every try: one that timed out may have arrived.
        sequence += 1;
        await store.writeCounters(instance, { sequence, nowMs: nowMs(), removed, rows });
      }
      pending = undefined;
      isMore = isLeftOver || rows.length >= rowsPerWrite;
    }
    writtenAtMs = nowMs();
  }

  const flushing = singleFlight(async () => {
    const trouble = await write().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    if ((trouble !== undefined) !== isFailing) onTrouble(trouble);
    isFailing = trouble !== undefined;
  });

  await flushing.join();
  const timer = intervalMs > 0 ? setInterval(() => void flushing.join(), intervalMs) : undefined;
  return {
    writtenAtMs: () => writtenAtMs,
    flush: flushing.join,
    close() {
      clearInterval(timer);
      // A write under way may have collected its rows before the last requests ended.
      closing ??= flushing.next();
      return closing;
    },
  };
}

/** What has changed, in portions: requests come in between. */
async function collect(limiter: Pick<Counting, 'exportRemoved' | 'exportChanged'>): Promise<Changes> {
  const removed: string[] = [];
  let rows: CounterText[] = [];
  for (;;) {
    const gone = new Set(limiter.exportRemoved());
    removed.push(...gone);
    // A rule that was removed meanwhile may be there again: what it counts now is in the rows that follow.
    if (gone.size > 0) rows = rows.filter(({ key }) => !gone.has(key));
    const some = limiter.exportChanged(rowsAtOnce);
    rows.push(...some);
    if (some.length < rowsAtOnce || rows.length >= rowsPerWrite) return { removed, rows };
    await setImmediate();
  }
}
