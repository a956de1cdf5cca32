// Moves records from the journal into the record store, for as long as the process runs. What the store does not take stays in the journal.
import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../plane/log-events.ts';
import type { JournalReader } from '../../store/records/journal.ts';
import type { AddedRecords, RecordStore } from '../../store/records/record-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';

/** Records of one transaction: with many consumers, a page of their sums is then written once for several of them. */
const mostRecords = 1_000;
/** How long an empty journal, or a store that fails, is left alone. Milliseconds. */
const idleMs = 200;
const troubleMs = 1_000;

const nothing: AddedRecords = { added: 0, unreadable: 0 };

export interface DrainStatus {
  /** Records that were new to the store. */
  readonly storedRecords: number;
  /** Lines of the journal that are no records, and records that the store can never take. */
  readonly lostRecords: number;
  /** The present problem; undefined: none. */
  readonly trouble: string | undefined;
}

export interface JournalDrain {
  status(): DrainStatus;
  /** Finishes the portion at hand, and moves no more. */
  close(): Promise<void>;
}

export interface JournalDrainParts {
  readonly reader: Pick<JournalReader, 'next'>;
  readonly store: Pick<RecordStore, 'add'>;
  readonly log: Log;
  /** Called when records have come into the store. */
  readonly stored: () => void;
}

/** Begins at once. The log says when it cannot go on, and when it can again. */
export function drainJournal({ reader, store, log, stored }: JournalDrainParts): JournalDrain {
  const closing = new AbortController();
  let storedRecords = 0;
  let lostRecords = 0;
  let trouble: string | undefined;

  const lose = (count: number, reason: string): void => {
    if (count === 0) return;
    lostRecords += count;
    log.error({ records: count }, reason);
  };

  /** Of a portion that the store cannot take, each record alone: one that cannot be stored must not hold up the others. */
  async function addEach(lines: readonly string[]): Promise<AddedRecords> {
    let [added, unreadable] = [0, 0];
    for (const line of lines) {
      try {
        const each = await store.add([line]);
        added += each.added;
        unreadable += each.unreadable;
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        log.error({ err: error, record_id: /"id":"([^"]{1,64})"/.exec(line)?.[1] }, 'a record cannot be stored');
        lostRecords += 1;
      }
    }
    return { added, unreadable };
  }

  async function add(lines: readonly string[]): Promise<AddedRecords> {
    try {
      return await store.add(lines);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return addEach(lines);
    }
  }

  /** Whether there was anything. */
  async function move(): Promise<boolean> {
    const batch = await reader.next(mostRecords);
    if (batch === undefined) return false;
    const { added, unreadable } = batch.lines.length === 0 ? nothing : await add(batch.lines);
    lose(unreadable + batch.passedOver, 'lines of the journal are no records');
    await batch.acknowledge();
    storedRecords += added;
    if (added > 0) stored();
    return true;
  }

  async function step(): Promise<number> {
    try {
      const wasBusy = await move();
      if (trouble !== undefined) log.info('records are stored again');
      trouble = undefined;
      return wasBusy ? 0 : idleMs;
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      if (trouble === undefined) log.error({ err: error }, 'records wait in the journal: they cannot be stored');
      trouble = said;
      return troubleMs;
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      const pauseMs = await step();
      if (pauseMs > 0) await setTimeout(pauseMs, undefined, { signal: closing.signal }).catch(() => undefined);
    }
  }

  const running = run();
  return {
    status: () => ({ storedRecords, lostRecords, trouble }),
    close() {
      closing.abort();
      return running;
    },
  };
}
