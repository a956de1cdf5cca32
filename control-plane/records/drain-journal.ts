// Moves records from the journal into the record store, for as long as the process runs. What the store does not take stays in the journal.
import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../plane/log-events.ts';
import type { JournalBatch, JournalReader } from '../../store/records/journal.ts';
import { isOfNewerGateway } from '../../store/records/record-line.ts';
import type { AddedRecords, RecordStore } from '../../store/records/record-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';

/** Records of one transaction: with many consumers, a page of their sums is then written once for several of them. */
const mostRecords = 1_000;
/** How long an empty journal, or a store that fails, is left alone. Milliseconds. */
const idleMs = 200;
const troubleMs = 1_000;

const nothing: AddedRecords = { added: 0, unreadable: 0 };

/** What keeps records from being stored. */
export interface DrainTrouble {
  /** The record store takes none, or the journal cannot be read. */
  readonly of: 'store' | 'journal';
  /** For operators: it may name hosts and files. */
  readonly reason: string;
}

const consequence: Readonly<Record<DrainTrouble['of'], string>> = {
  store: 'records wait in the journal, because they cannot be stored',
  journal: 'the journal of records cannot be read',
};

export interface DrainStatus {
  /** Records that were new to the store. */
  readonly storedRecords: number;
  /** Lines of the journal that are no records, and records that the store can never take. */
  readonly lostRecords: number;
  /** The present problem; undefined: none. */
  readonly trouble: DrainTrouble | undefined;
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
  let trouble: DrainTrouble | undefined;

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
        [added, unreadable] = [added + each.added, unreadable + each.unreadable];
      } catch (error) {
        if (error instanceof StoreUnavailable) throw error;
        log.error({ err: error, record_id: /"id":"([^"]{1,64})"/.exec(line)?.[1] }, 'a record cannot be stored');
        lostRecords += 1;
      }
    }
    return { added, unreadable };
  }

  const add = (lines: readonly string[]): Promise<AddedRecords> =>
    store.add(lines).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) throw error;
      return addEach(lines);
    });

  const hinder = (of: DrainTrouble['of'], error: unknown): void => {
    const reason = error instanceof Error ? error.message : String(error);
    if (trouble?.of !== of) log.error({ err: error }, `${consequence[of]}: ${reason}`);
    trouble = { of, reason };
  };

  /** Moves a portion. Gives how long to wait before the next one. Milliseconds. */
  async function step(): Promise<number> {
    let at: DrainTrouble['of'] = 'journal';
    try {
      const batch = readable(await reader.next(mostRecords));
      if (batch !== undefined) {
        at = 'store';
        const { added, unreadable } = batch.lines.length === 0 ? nothing : await add(batch.lines);
        lose(unreadable + batch.passedOver, 'lines of the journal are no records');
        at = 'journal';
        await batch.acknowledge();
        storedRecords += added;
        if (added > 0) stored();
      }
      if (trouble !== undefined) log.info('records are stored again');
      trouble = undefined;
      return batch === undefined ? idleMs : 0;
    } catch (error) {
      hinder(at, error);
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

/** Throws for a batch with records that this gateway would misread: all of them wait for one that can read them. */
function readable(batch: JournalBatch | undefined): JournalBatch | undefined {
  if (batch?.lines.some(isOfNewerGateway) === true)
    throw new Error('it holds records of a newer version of the gateway; run the control plane of that version');
  return batch;
}
