// Opens the record store that a control plane is configured for. The choice of the engine is made only here.
import { existsSync } from 'node:fs';
import { openPostgresRecords } from './postgres/store.ts';
import type { OpenRecordStore } from './sql/operations.ts';
import { recordFilePath } from './sqlite/record-file.ts';
import { openSqliteRecords } from './sqlite/store.ts';

export interface RecordStoreOptions {
  /** Of the embedded file, when there is no `databaseUrl`. */
  readonly directory: string;
  /** `postgresql://…`. */
  readonly databaseUrl?: string | undefined;
  /** Deadline of every operation. Default 10 s. */
  readonly timeoutMs?: number;
  /** `onwards`: all records once, one page after the other, in little memory. Default: `all`. */
  readonly reads?: 'all' | 'onwards';
}

/** PostgreSQL when there is a `databaseUrl`, otherwise a file in `directory`. What is wrong is said by the first operation. */
export function openRecordStore({
  directory,
  databaseUrl,
  timeoutMs = 10_000,
  reads = 'all',
}: RecordStoreOptions): OpenRecordStore {
  return databaseUrl === undefined
    ? openSqliteRecords({ directory, timeoutMs, reads })
    : openPostgresRecords({ databaseUrl, timeoutMs });
}

/** Whether records are to be kept in a file that does not exist yet. */
export function isNewFile({ directory, databaseUrl }: RecordStoreOptions): boolean {
  return databaseUrl === undefined && !existsSync(recordFilePath(directory));
}
