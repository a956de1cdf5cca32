// The records of the fleet in this plane: the store, and what fills and empties it.
import type { Log } from '../../plane/log-events.ts';
import { retentionMs } from '../../schemas/units.ts';
import type { JournalSettings } from '../../store/records/open-journal.ts';
import { openJournalReader, type Reconnecting } from '../../store/records/open-journal.ts';
import { openRecordStore } from '../../store/records/open-records.ts';
import type { Retention } from '../../store/records/record-store.ts';
import type { OpenRecordStore } from '../../store/records/sql/operations.ts';
import { type DrainStatus, drainJournal } from './drain-journal.ts';
import { pruneRecords } from './prune-records.ts';

export interface RecordSettings extends JournalSettings {
  /** PostgreSQL; undefined: a file in the data directory. */
  readonly databaseUrl: string | undefined;
}

/** How long records are kept, as the configuration says it. */
export interface RecordRetention {
  readonly audit: { readonly retention: string };
  readonly usage: { readonly retention: string };
}

export interface KeptRecords extends Reconnecting {
  readonly store: OpenRecordStore;
  readonly status: () => DrainStatus;
  close(): Promise<void>;
}

export interface KeptRecordsParts {
  readonly retention: () => RecordRetention;
  readonly nowMs: () => number;
  readonly log: Log;
  /** Called when records have come into the store. */
  readonly stored: () => void;
}

/** Opens the store and begins to fill it. */
export function keepRecords(
  settings: RecordSettings,
  { retention, nowMs, log, stored }: KeptRecordsParts,
): KeptRecords {
  const { dataDirectory: directory, databaseUrl } = settings;
  const store = openRecordStore({ directory, databaseUrl });
  const reader = openJournalReader(settings);
  const drain = drainJournal({ reader, store, log, stored });
  const pruning = pruneRecords(store, () => beginnings(retention(), nowMs()), log);
  return {
    store,
    status: () => drain.status(),
    reconnect: (...given) => reader.reconnect(...given),
    async close() {
      await Promise.all([drain.close(), pruning.close()]);
      await Promise.all([reader.close(), store.close()]);
    },
  };
}

function beginnings({ audit, usage }: RecordRetention, nowMs: number): Retention {
  return {
    auditBeforeMs: nowMs - retentionMs(audit.retention),
    usageBeforeMs: nowMs - retentionMs(usage.retention),
  };
}
