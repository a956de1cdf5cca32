// A file that may be lost: made at the first use, made anew when it is gone, and put aside when it is damaged, because nothing in it is needed.
import { existsSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { type StoreFailure, StoreUnavailable } from '../store-unavailable.ts';
import { createFile, identityOf, switchToWal, versionOf } from './database-file.ts';
import { explainFailure, failure } from './failure.ts';
import { transact } from './transact.ts';

/** The next access on the same connection may succeed. */
const passing: readonly StoreFailure[] = ['timeout', 'full'];
/**
 * The size, in bytes, to which the log of changes is cut after it was written back; otherwise it keeps the size of the
 * largest change.
 */
const mostLogBytes = 16 * 1024 * 1024;

export interface SpareSettings<Tables> {
  readonly path: string;
  /** What lies there, for messages: in the plural, with its article. */
  readonly what: string;
  /** Makes the tables, and sets `user_version`. */
  readonly create: string;
  /** Of the tables: a file with a higher one is left alone. */
  readonly version: number;
  /** Prepares what works on them. Throws for tables that are not ours. */
  readonly prepare: (database: DatabaseSync) => Tables;
  /** How long a statement waits for a lock of another process. */
  readonly busyMs: number;
  /** `OFF`: nothing is ever waited for, and a loss of power may damage the file. */
  readonly synchronous: 'NORMAL' | 'OFF';
}

interface Opened<Tables> {
  readonly database: DatabaseSync;
  readonly tables: Tables;
  readonly identity: string | undefined;
  readonly version: StatementSync;
}

/** The one connection of this process. Every access first checks that the file is still the one that was opened. */
export class SpareFile<Tables> {
  readonly #settings: SpareSettings<Tables>;
  #open: Opened<Tables> | undefined;
  /** The file that was worked with last. */
  #identity: string | undefined;

  constructor(settings: SpareSettings<Tables>) {
    this.#settings = settings;
  }

  get path(): string {
    return this.#settings.path;
  }

  /**
   * Runs `work` on the open tables; `identity` tells the file from another one in its place. Throws `StoreUnavailable`; a damaged file is
   * put aside then, and the next access makes a new one.
   */
  use<Result>(work: (tables: Tables, identity: string) => Result): Result {
    const tables = this.#tables();
    try {
      return work(tables, this.#identity ?? '');
    } catch (error) {
      throw this.#explained(error);
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

  #tables(): Tables {
    try {
      if (identityOf(this.path) === undefined) createFile(this.path);
      this.#identity = identityOf(this.path);
      if (this.#open?.identity !== this.#identity) this.close();
      this.#open ??= this.#connect();
      if (Number(this.#open.version.get()?.['user_version']) > this.#settings.version)
        throw failure(this.path, 'newer_schema');
      return this.#open.tables;
    } catch (error) {
      throw this.#explained(error);
    }
  }

  #connect(): Opened<Tables> {
    const { busyMs, synchronous, prepare } = this.#settings;
    const database = new DatabaseSync(this.path, { timeout: busyMs });
    try {
      if (versionOf(database) > this.#settings.version) throw failure(this.path, 'newer_schema');
      switchToWal(database, Math.ceil(busyMs / 5));
      database.exec(`PRAGMA synchronous = ${synchronous}; PRAGMA journal_size_limit = ${mostLogBytes}`);
      this.#createTables(database);
      return {
        database,
        tables: prepare(database),
        identity: this.#identity,
        version: database.prepare('PRAGMA user_version'),
      };
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #createTables(database: DatabaseSync): void {
    if (versionOf(database) !== 0) return;
    transact(database, 'IMMEDIATE', () => {
      if (versionOf(database) === 0) database.exec(this.#settings.create);
    });
  }

  /** The failure as it is told. Whatever lasts closes the file, and one that is damaged or has tables that are not ours is put aside. */
  #explained(error: unknown): Error {
    const explained = explainFailure(this.path, error);
    if (!(explained instanceof StoreUnavailable) || passing.includes(explained.reason)) return explained;
    this.close();
    return explained.reason === 'corrupt' ? this.#putAside(explained) : explained;
  }

  /** Over one that was put aside before. Only the file that was found damaged: another process may have been faster. */
  #putAside(cause: Error): StoreUnavailable {
    const { what } = this.#settings;
    const aside = `${this.path}.damaged`;
    try {
      if (identityOf(this.path) !== this.#identity) {
        return new StoreUnavailable('corrupt', `${what} in ${this.path} were damaged; ask again`, cause);
      }
      // The side files first: they would be taken for those of the next file.
      for (const side of ['-wal', '-shm']) {
        rmSync(aside + side, { force: true });
        if (existsSync(this.path + side)) renameSync(this.path + side, aside + side);
      }
      renameSync(this.path, aside);
      const told = `${what} in ${this.path} are damaged; they were put aside as ${aside}, and a new file is begun`;
      return new StoreUnavailable('corrupt', told, cause);
    } catch (error) {
      return failure(this.path, 'corrupt', error instanceof Error ? error : cause);
    }
  }
}
