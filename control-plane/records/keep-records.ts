// The records of the fleet in this plane: the store, what fills and empties it, and the journal of this plane's own records.
import { minutesKeptMs } from '../../domain/records/buckets.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import { controlPlaneFolder } from '../../plane/identity.ts';
import type { Log } from '../../plane/log-events.ts';
import { reconnectInTurn } from '../../plane/reconnect-in-turn.ts';
import { watchJournal } from '../../plane/watch-journal.ts';
import { retentionMs, sizeBytes } from '../../schemas/formats/units.ts';
import type { JournalSettings } from '../../store/records/open-journal.ts';
import { openJournal, openJournalReader, type Reconnecting } from '../../store/records/open-journal.ts';
import { isNewFile, openRecordStore } from '../../store/records/open-records.ts';
import type { Retention } from '../../store/records/record-store.ts';
import type { OpenRecordStore } from '../../store/records/sql/operations.ts';
import { type DrainStatus, drainJournal } from './drain-journal.ts';
import { keepWithin, type RoomStatus } from './keep-within.ts';
import { pruneRecords } from './prune-records.ts';
import { type AdminWrite, recordOfWrite } from './write-record.ts';

export interface RecordSettings extends JournalSettings {
  /** PostgreSQL; undefined: a file in the data directory. */
  readonly databaseUrl: string | undefined;
  /** The name of this process in its records. */
  readonly instance: string;
}

/** How long records are kept, as the configuration says it. */
export interface RecordRetention {
  readonly audit: { readonly retention: string };
  readonly usage: { readonly retention: string };
}

/** The settings of records in force. */
export interface RecordPolicy {
  readonly retention: RecordRetention;
  /** Of the embedded store, such as `20GiB`. */
  readonly recordsMaxSize: string;
  /** Whether writes of operators are recorded. */
  readonly isAudited: boolean;
}

export interface KeptRecords extends Reconnecting {
  readonly store: OpenRecordStore;
  /** They are kept in a file that did not exist at this start. */
  readonly isNewFile: boolean;
  readonly status: () => DrainStatus;
  /** Undefined where the records have a server of their own. */
  readonly room: () => RoomStatus | undefined;
  /** Records a write of an operator, where the configuration wants it. Returns at once. */
  readonly write: (write: AdminWrite) => void;
  /** Adds a record. Returns at once. */
  readonly append: (record: RequestRecord) => void;
  close(): Promise<void>;
}

export interface KeptRecordsParts {
  readonly config: RecordPolicy;
  readonly configStatus: () => Pick<FollowStatus, 'revision'> | undefined;
  readonly nowMs: () => number;
  readonly log: Log;
  /** From when on usage counts for a budget. Unix milliseconds. */
  readonly countedSinceMs: () => number;
  /** Called when records have come into the store. */
  readonly stored: () => void;
}

/** Opens the store and begins to fill it. */
export function keepRecords(
  settings: RecordSettings,
  { config, configStatus, nowMs, log, countedSinceMs, stored }: KeptRecordsParts,
): KeptRecords {
  const { dataDirectory: directory, databaseUrl } = settings;
  const isNew = isNewFile({ directory, databaseUrl });
  const store = openRecordStore({ directory, databaseUrl });
  const reader = openJournalReader(settings);
  const journal = openJournal({ ...settings, instance: controlPlaneFolder });
  const watch = watchJournal(journal, log);
  const drain = drainJournal({ reader, store, log, stored });
  const room = keepWithin({ store, mostBytes: () => sizeBytes(config.recordsMaxSize), nowMs, log });
  const pruning = pruneRecords(store, () => beginnings(config.retention, nowMs(), countedSinceMs()), log);
  const append = (record: RequestRecord): void => journal.append(JSON.stringify(record));
  return {
    store,
    isNewFile: isNew,
    append,
    status() {
      const { lostRecords, ...status } = drain.status();
      return { ...status, lostRecords: lostRecords + journal.status().droppedRecords };
    },
    write(write) {
      if (!config.isAudited) return;
      const { instance } = settings;
      const configRevision = configStatus()?.revision ?? '';
      append(recordOfWrite(write, { instance, configRevision }));
    },
    reconnect: reconnectInTurn(reader, journal),
    room: () => room.status(),
    async close() {
      clearInterval(watch);
      await Promise.all([journal.close(), drain.close(), pruning.close(), room.close()]);
      await Promise.all([reader.close(), store.close()]);
    },
  };
}

/**
 * The times before which records are removed, in Unix milliseconds. A budget that was spent stays spent until its
 * window ends, so usage that counts for one is kept.
 */
export function beginnings({ audit, usage }: RecordRetention, nowMs: number, countedSinceMs: number): Retention {
  return {
    auditBeforeMs: nowMs - retentionMs(audit.retention),
    usageBeforeMs: Math.min(nowMs - retentionMs(usage.retention), countedSinceMs),
    minutesBeforeMs: nowMs - minutesKeptMs,
  };
}
