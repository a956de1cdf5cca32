// A record store whose lines and texts are records and entries: for tests that ask what is kept, not how it travels.
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { openRecordStore, type RecordStoreOptions } from '../../store/records/open-records.ts';
import type { OpenRecordStore } from '../../store/records/sql/operations.ts';
import type { WrittenEntry } from '../../store/records/written-entries.ts';

export interface RecordObjects extends Omit<OpenRecordStore, 'add' | 'entry' | 'conversation'> {
  /** Gives how many were new. Rejects where one of them cannot be read again. */
  add(records: readonly RequestRecord[]): Promise<number>;
  entry(id: string): Promise<AuditEntry | undefined>;
  conversation(
    id: string,
    most: number,
  ): Promise<{ readonly entries: readonly AuditEntry[]; readonly truncated: boolean } | undefined>;
}

export function openRecordObjects(options: RecordStoreOptions): RecordObjects {
  return recordObjects(openRecordStore(options));
}

export function recordObjects(store: OpenRecordStore): RecordObjects {
  return {
    ...store,
    async add(records) {
      const { added, unreadable } = await store.add(records.map((record) => JSON.stringify(record)));
      if (unreadable > 0) throw new Error(`${unreadable} records cannot be read again`);
      return added;
    },
    async entry(id) {
      const found = await store.entry(id);
      return found && entryOf(found);
    },
    async conversation(id, most) {
      const found = await store.conversation(id, most);
      return found && { ...found, entries: found.entries.map(entryOf) };
    },
  };
}

function entryOf({ id, userPath, json }: WrittenEntry): AuditEntry {
  const entry = JSON.parse(Buffer.from(json).toString()) as AuditEntry;
  if (entry.id !== id || entry.user_path !== userPath) throw new Error(`the text of the entry ${id} is of another one`);
  return entry;
}
