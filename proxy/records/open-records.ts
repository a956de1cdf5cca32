// Opens what the proxy records of requests, and tells the operator when the journal fails and when it works again.
import type { Log } from '../../plane/log-events.ts';
import { watchJournal } from '../../plane/watch-journal.ts';
import type { JournalStatus } from '../../store/records/journal.ts';
import { type JournalSettings, openJournal, type Reconnecting } from '../../store/records/open-journal.ts';
import type { CaptureBudget } from '../capture/capture-budget.ts';
import { createRecords, type Records, type RecordsOptions } from './records.ts';

export interface RecordingStatus extends JournalStatus {
  /** Requests without a record, because there were too many of their kind. */
  readonly omittedRecords: number;
}

export interface OpenRecords extends Reconnecting {
  readonly records: Records;
  readonly status: () => RecordingStatus;
  /** Makes the records that wait for others now; what answers used is counted with them. */
  readonly flush: () => void;
  /** Writes what waits, for a few seconds at most. */
  close(): Promise<void>;
}

export interface OpenRecordsSettings extends JournalSettings, Pick<RecordsOptions, 'spent'> {
  readonly instance: string;
  readonly usageEnabled: boolean;
  /** The memory that recorded bodies may take. */
  readonly captures: CaptureBudget;
}

export function openRecords(settings: OpenRecordsSettings, log: Log): OpenRecords {
  const { captures, instance, usageEnabled, spent } = settings;
  const journal = openJournal(settings);
  const watch = watchJournal(journal, log);
  const records = createRecords({
    captures,
    journal,
    instance,
    usageEnabled,
    spent,
    random: Math.random,
    reportFailure: (error, requestId) =>
      log.error({ err: error, request_id: requestId }, 'a request could not be recorded as a whole'),
  });
  return {
    records,
    status: () => ({ ...journal.status(), omittedRecords: records.omitted() }),
    flush: () => records.flush(),
    reconnect: (...given) => journal.reconnect(...given),
    close() {
      clearInterval(watch);
      records.flush();
      return journal.close();
    },
  };
}
