// Counters outlive the process: loaded at start, written in small portions every interval, and once more at the end (spec, Limits 11).
import type { CounterRow } from '../../schemas/rules/counter-row.ts';
import type { CounterBatch, StateStore } from '../../schemas/store/state-store.ts';

/** Rows of one write: collecting and encoding them, however full they are, holds the process up for a few milliseconds. */
const rowsPerWrite = 200;

/** Whose counters are kept: the limiter. */
export interface Counting {
  rules(): readonly { readonly key: string }[];
  restore(rows: readonly CounterRow[], nowMs: number): number;
  exportRemoved(): string[];
  exportChanged(limit: number): CounterRow[];
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
  const { store, limiter, instance, intervalMs, nowMs, onTrouble } = keeping;
  let sequence: number | undefined;
  let pending: Omit<CounterBatch, 'sequence' | 'nowMs'> | undefined;
  let writtenAtMs = 0;
  let isFailing = false;
  let running: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  async function load(): Promise<number> {
    const stored = await store.loadCounters(instance);
    const known = new Set(limiter.rules().map(({ key }) => key));
    // Of rules that were deleted while nobody ran, or that started anew while the store could not be read: not to be counted again.
    const gone = new Set(limiter.exportRemoved());
    // Without any rule, limits are switched off, and what was counted may be asked for again.
    if (known.size > 0) for (const { key } of stored.rows) if (!known.has(key)) gone.add(key);
    const rows = stored.rows.filter(({ key }) => !gone.has(key));
    limiter.restore(rows, nowMs());
    pending = { removed: [...gone], rows: [] };
    return stored.sequence;
  }

  async function write(): Promise<void> {
    sequence ??= await load();
    for (let isMore = true; isMore; ) {
      // What a failure or a load has left to do says nothing about what has changed since.
      const isLeftOver = pending !== undefined;
      pending ??= { removed: limiter.exportRemoved(), rows: limiter.exportChanged(rowsPerWrite) };
      const { removed, rows } = pending;
      if (removed.length + rows.length > 0) {
        // A number of its own for every try: one that timed out may have arrived.
        sequence += 1;
        await store.writeCounters(instance, { sequence, nowMs: nowMs(), removed, rows });
      }
      pending = undefined;
      isMore = isLeftOver || rows.length === rowsPerWrite;
    }
    writtenAtMs = nowMs();
  }

  function flush(): Promise<void> {
    running ??= write()
      .then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
      )
      .then((trouble) => {
        running = undefined;
        if ((trouble !== undefined) !== isFailing) onTrouble(trouble);
        isFailing = trouble !== undefined;
      });
    return running;
  }

  await flush();
  const timer = intervalMs > 0 ? setInterval(() => void flush(), intervalMs) : undefined;
  return {
    writtenAtMs: () => writtenAtMs,
    flush,
    close() {
      clearInterval(timer);
      // A write under way may have collected its rows before the last requests ended.
      closing ??= (running ?? Promise.resolve()).then(flush);
      return closing;
    },
  };
}
