// Opens what the proxy records of requests, and tells the operator when the journal fails and when it works again.
import type { Log } from '../plane/log-events.ts';
import type { JournalStatus } from '../store/records/journal.ts';
import { type JournalSettings, openJournal, type Reconnecting } from '../store/records/open-journal.ts';
import type { CaptureBudget } from './capture/capture-budget.ts';
import { createRecords, type Records } from './records/records.ts';

/** How often the journal is asked how it is. Milliseconds. */
const watchMs = 1_000;

export interface OpenRecords extends Reconnecting {
  readonly records: Records;
  readonly status: () => JournalStatus;
  /** Writes what waits, for a few seconds at most. */
  close(): Promise<void>;
}

export interface OpenRecordsSettings extends JournalSettings {
  readonly instance: string;
  readonly usageEnabled: boolean;
  /** What recorded bodies may take of memory. */
  readonly captures: CaptureBudget;
}

export function openRecords(settings: OpenRecordsSettings, log: Log): OpenRecords {
  const { captures, instance, usageEnabled } = settings;
  const journal = openJournal(settings);
  let told: string | undefined;
  const watch = setInterval(() => {
    const { trouble, droppedRecords } = journal.status();
    if (trouble === told) return;
    told = trouble;
    const facts = { dropped_records: droppedRecords };
    if (trouble === undefined) log.info(facts, 'the journal of records works again');
    else log.error(facts, trouble);
  }, watchMs).unref();
  return {
    records: createRecords({
      captures,
      journal,
      instance,
      usageEnabled,
      random: Math.random,
      reportFailure: (error, requestId) =>
        log.error({ err: error, request_id: requestId }, 'bodies could not be recorded'),
    }),
    status: () => journal.status(),
    reconnect: (...given) => journal.reconnect(...given),
    close() {
      clearInterval(watch);
      return journal.close();
    },
  };
}
