// The file of the embedded record store and one connection to it: made at the first use, opened again when another one lies in its place.
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { diskRoom } from '../../disk-room.ts';
import { createFile, identityOf, switchToWal } from '../../state/sqlite/database-file.ts';
import { explainFailure, failure } from '../../state/sqlite/failure.ts';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import type { RecordRoom } from '../record-store.ts';
import type { Database, Insertion, Statements, Value } from '../sql/database.ts';
import { sqliteDialect } from '../sql/dialect.ts';
import { migrate, recordsVersion, versionIn, versionOfTables } from '../sql/migrations.ts';

const what = 'the record store';
/** Most pages that a connection holds, in KiB: those that are read for a page of a million entries, and some more. */
const usualCacheKiB = 96 * 1024;
/** Pages of the log of changes before it is written back: the same pages of indexes change again and again. 32 MiB. */
const checkpointPages = 8_192;
/** Of SQLite. */
const mostPages = 4_294_967_294;
/** Pages that a removal may need before it frees others. */
const sparePages = 256;
/** Length of the log of changes after it was written back. Bytes. */
const mostLogBytes = 64 * 1024 * 1024;

/** Where the records lie in the gateway's data directory. */
export function recordFilePath(directory: string): string {
  return join(directory, 'records.sqlite');
}

/** The one connection of a thread, which does one thing after the other. */
export class RecordFile implements Database {
  readonly path: string;
  readonly #busyMs: number;
  readonly #cacheKiB: number;
  #mostBytes = Number.MAX_SAFE_INTEGER;
  #open: { readonly database: DatabaseSync; readonly statements: Statements; readonly identity: string } | undefined;

  constructor(directory: string, busyMs: number, cacheKiB: number = usualCacheKiB) {
    this.path = recordFilePath(directory);
    this.#busyMs = busyMs;
    this.#cacheKiB = cacheKiB;
  }

  read<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result> {
    return this.#use('DEFERRED', work);
  }

  async write<Result>(work: (statements: Statements) => Promise<Result>, makesRoom: boolean): Promise<Result> {
    await this.#limit(makesRoom ? sparePages : 0);
    return this.#use('IMMEDIATE', work);
  }

  /** See `RecordStore`. */
  room(mostBytes: number): Promise<RecordRoom> {
    this.#mostBytes = mostBytes;
    return this.#limit(0);
  }

  /** The file stops to grow where the reserve of the state store begins: SQLite says then that it is full. */
  async #limit(spare: number): Promise<RecordRoom> {
    try {
      const { database } = await this.#opened();
      const numberOf = (name: string): number => Number(database.prepare(`PRAGMA ${name}`).get()?.[name]);
      const [size, pages, free] = [numberOf('page_size'), numberOf('page_count'), numberOf('freelist_count')];
      const { freeBytes } = diskRoom(dirname(this.path));
      const most = Math.floor(Math.min(this.#mostBytes, size * pages + freeBytes) / size);
      database.exec(`PRAGMA max_page_count = ${Math.max(1, Math.min(mostPages, most + spare))}`);
      return { usedBytes: size * (pages - free), mostBytes: size * most };
    } catch (error) {
      throw explainFailure(this.path, error, what);
    }
  }

  close(): void {
    const database = this.#open?.database;
    this.#open = undefined;
    try {
      database?.close();
    } catch {
      // A database that cannot be closed is given up; the operation that failed reports the cause.
    }
  }

  /** Whatever lasts closes the file, so that the next access starts afresh. */
  async #use<Result>(
    mode: 'DEFERRED' | 'IMMEDIATE',
    work: (statements: Statements) => Promise<Result>,
  ): Promise<Result> {
    try {
      const { database, statements } = await this.#opened();
      return await transact(database, mode, async () => {
        if ((await versionOfTables(statements)) > recordsVersion)
          throw failure(this.path, 'newer_schema', undefined, what);
        return work(statements);
      });
    } catch (error) {
      const explained = explainFailure(this.path, error, what);
      const isPassing = explained instanceof StoreUnavailable && ['timeout', 'full'].includes(explained.reason);
      if (!isPassing) this.close();
      throw explained;
    }
  }

  async #opened() {
    if (this.#open !== undefined && this.#open.identity !== identityOf(this.path)) this.close();
    if (this.#open !== undefined) return this.#open;
    if (identityOf(this.path) === undefined) createFile(this.path);
    const database = new DatabaseSync(this.path, { timeout: this.#busyMs });
    const statements = statementsOf(database);
    try {
      if ((await versionIn(statements)) > recordsVersion) throw failure(this.path, 'newer_schema', undefined, what);
      switchToWal(database, Math.ceil(this.#busyMs / 5));
      // A batch that is stored is removed from the journal: it has to be on the disk.
      database.exec(`PRAGMA synchronous = FULL; PRAGMA journal_size_limit = ${mostLogBytes}`);
      database.exec(
        `PRAGMA wal_autocheckpoint = ${pagesOfLog(dirname(this.path))}; PRAGMA cache_size = -${this.#cacheKiB}; PRAGMA temp_store = MEMORY`,
      );
      if ((await versionIn(statements)) < recordsVersion)
        await transact(database, 'IMMEDIATE', () => migrate(statements));
      this.#open = { database, statements, identity: identityOf(this.path) ?? '' };
      return this.#open;
    } catch (error) {
      database.close();
      throw error;
    }
  }
}

/** On a small disk the log of changes stays small, too. */
function pagesOfLog(directory: string): number {
  const { reserveBytes } = diskRoom(directory);
  return Math.max(64, Math.min(checkpointPages, Math.floor(reserveBytes / 8 / 4_096)));
}

async function transact<Result>(
  database: DatabaseSync,
  mode: 'DEFERRED' | 'IMMEDIATE',
  work: () => Promise<Result>,
): Promise<Result> {
  database.exec(`BEGIN ${mode}`);
  try {
    const result = await work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/** Statements are prepared once: their texts are few. */
function statementsOf(database: DatabaseSync): Statements {
  const prepared = new Map<string, StatementSync>();
  const prepare = (sql: string): StatementSync => {
    const known = prepared.get(sql) ?? database.prepare(sql);
    prepared.set(sql, known);
    return known;
  };
  const plain = (value: Value): string | number | null =>
    typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
  return {
    dialect: sqliteDialect,
    async all(sql, ...values) {
      return prepare(sql).all(...values.map(plain));
    },
    async run(sql, ...values) {
      return Number(prepare(sql).run(...values.map(plain)).changes);
    },
    async insert(into, rows) {
      const statement = prepare(insertionText(into));
      if (into.tail?.includes('RETURNING')) return rows.flatMap((row) => statement.all(...row));
      for (const row of rows) statement.run(...row);
      return [];
    },
  };
}

function insertionText({ table, columns, tail = '' }: Insertion): string {
  const names = Object.keys(columns);
  return `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')}) ${tail}`;
}
