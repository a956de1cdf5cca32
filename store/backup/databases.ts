// The database files of a data directory, as far as a backup is concerned.
import type { DatabaseSync } from 'node:sqlite';
import { recordsVersion } from '../records/sql/migrations.ts';
import { recordFilePath } from '../records/sqlite/record-file.ts';
import { versionOf } from '../state/sqlite/database-file.ts';
import { tablesVersion } from '../state/sqlite/ddl.ts';
import { stateFilePath } from '../state/sqlite/file.ts';
import { keptFilePath } from '../state/sqlite/kept-file.ts';
import { keptVersion } from '../state/sqlite/kept-tables.ts';
import { limitFilePath, limitsVersion } from '../state/sqlite/limit-file.ts';

/** What holds the data instead of files: with `REDIS_URL`, and with `DATABASE_URL`. */
export type Elsewhere = 'redis' | 'postgres';

export interface EmbeddedDatabase {
  readonly name: string;
  /** What lies there, for messages. */
  readonly what: string;
  /** What has it when it is not in this file. */
  readonly elsewhere: Elsewhere;
  /** The newest version of its tables that this gateway can read. */
  readonly version: number;
  /** Of the tables that are there. */
  readonly versionIn: (database: DatabaseSync) => number;
}

/** The journals are the fifth part of a data directory, see `side-files.ts`. Records come first: what leaves a journal is in them by then. */
export const embeddedDatabases: readonly EmbeddedDatabase[] = [
  {
    name: recordFilePath('.'),
    what: 'usage and audit records',
    elsewhere: 'postgres',
    version: recordsVersion,
    versionIn: versionOfRecords,
  },
  {
    name: keptFilePath('.'),
    what: 'stored responses',
    elsewhere: 'redis',
    version: keptVersion,
    versionIn: versionOf,
  },
  {
    name: limitFilePath('.'),
    what: 'shared limits',
    elsewhere: 'redis',
    version: limitsVersion,
    versionIn: versionOf,
  },
  {
    name: stateFilePath('.'),
    what: 'rules, keys and counters',
    elsewhere: 'redis',
    version: tablesVersion,
    versionIn: versionOf,
  },
];

/** SQLite keeps these beside a database. */
export const sideEndings = ['-wal', '-shm', '-journal'] as const;

/** 0: the tables are not made yet. */
function versionOfRecords(database: DatabaseSync): number {
  const table = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'record_version'").get();
  return table === undefined ? 0 : Number(database.prepare('SELECT version FROM record_version').get()?.['version']);
}
