// The file of the embedded state store: created at the first use, opened again when it was replaced, not created again when it vanished.
import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { StoreUnavailable } from '../store-unavailable.ts';
import { hasRoomAgain, takeBallast } from './ballast.ts';
import { createFile, identityOf, pause, switchToWal, versionOf } from './database-file.ts';
import { createTables, tablesVersion } from './ddl.ts';
import { explainFailure, failure } from './failure.ts';
import { StateTables } from './operations.ts';
import { transact } from './transact.ts';

/** How long an empty file may stand before it is taken for an emptied store: that of a copy, which cp and others begin with, is shorter. */
const copyBeginsMs = 200;

/** Where the store lies in the gateway's data directory. */
export function stateFilePath(directory: string): string {
  return join(directory, 'state.sqlite');
}

interface Opened {
  readonly database: DatabaseSync;
  readonly tables: StateTables;
  readonly identity: string;
  readonly version: StatementSync;
  readonly dataVersion: StatementSync;
}

/** The one connection of this process. Every access first checks that the file is still the one that was opened. */
export class StateFile {
  readonly path: string;
  readonly #busyMs: number;
  #wasOpen: boolean;
  #open: Opened | undefined;
  /** Counts how often the file was opened. */
  openings = 0;

  constructor(directory: string, busyMs: number, wasOpen: boolean) {
    this.path = stateFilePath(directory);
    this.#busyMs = busyMs;
    this.#wasOpen = wasOpen;
  }

  /**
   * Runs `work` on the open tables. A file that is not there is made only at first, or when `mayCreate`. Whatever goes wrong with
   * the file closes it, so that the next access starts afresh; throws `StoreUnavailable`.
   */
  use<Result>(work: (tables: StateTables) => Result, mayCreate = false): Result {
    return this.#use(work, mayCreate, true);
  }

  #use<Result>(work: (tables: StateTables) => Result, mayCreate: boolean, isFirst: boolean): Result {
    try {
      return work(this.#tables(mayCreate));
    } catch (error) {
      const explained = explainFailure(this.path, error);
      const isFull = explained instanceof StoreUnavailable && explained.reason === 'full';
      // The ballast is for this case. Another process may have given it back since the disk was full.
      if (isFull && isFirst && hasRoomAgain(dirname(this.path))) return this.#use(work, mayCreate, false);
      const isLasting = explained instanceof StoreUnavailable && !['timeout', 'full'].includes(explained.reason);
      if (isLasting) this.close();
      throw explained;
    }
  }

  /** A number that changes when another connection has written. Only after `use`. */
  dataVersion(): number {
    return Number(this.#open?.dataVersion.get()?.['data_version']);
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

  #tables(mayCreate: boolean): StateTables {
    const identity = identityOf(this.path);
    if (this.#open !== undefined && this.#open.identity !== identity) this.close();
    if (this.#open === undefined) {
      if (identity === undefined && this.#wasOpen && !mayCreate) throw this.#gone();
      if (identity === undefined) createFile(this.path);
      // Tables that are made in a file that is being copied would end up in the copy, and hide what is in it.
      else if (statSync(this.path).size === 0) pause(copyBeginsMs);
      this.#connect();
    }
    const open = this.#open;
    if (open === undefined) throw this.#gone();
    if (Number(open.version.get()?.['user_version']) > tablesVersion) throw failure(this.path, 'newer_schema');
    return open.tables;
  }

  #connect(): void {
    const database = new DatabaseSync(this.path, { timeout: this.#busyMs });
    try {
      if (versionOf(database) > tablesVersion) throw failure(this.path, 'newer_schema');
      switchToWal(database, Math.ceil(this.#busyMs / 5));
      database.exec('PRAGMA synchronous = NORMAL');
      this.#createTables(database);
      this.#open = {
        database,
        tables: new StateTables(database),
        identity: identityOf(this.path) ?? '',
        version: database.prepare('PRAGMA user_version'),
        dataVersion: database.prepare('PRAGMA data_version'),
      };
      this.#wasOpen = true;
      this.openings += 1;
      takeBallast(dirname(this.path));
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** The first process creates the tables. They get no id, so that a process that remembers documents sees that they are gone. */
  #createTables(database: DatabaseSync): void {
    if (versionOf(database) !== 0) return;
    transact(database, 'IMMEDIATE', () => {
      if (versionOf(database) !== 0) return;
      database.exec(createTables);
      database.exec('INSERT INTO store VALUES (1, NULL, 0)');
    });
  }

  #gone(): StoreUnavailable {
    return new StoreUnavailable(
      'unreachable',
      `the state store ${this.path} is gone; put it back, or start the gateway anew: it writes back the rules and keys it knows`,
    );
  }
}
