// The common part of the database files of the embedded store: made for the owner alone, switched to write-ahead logging, told from another file in their place.
import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { ownDirectoryMode, ownFile } from '../../own-files.ts';

/** SQLITE_BUSY. */
const busy = 5;

/** The file itself, whatever its name: another one in its place is another store. Undefined when there is none. */
export function identityOf(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

/** Of its tables; 0 before they are made. */
export function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

/** Creates an empty file for its owner alone: keys of clients are in it as hashes. SQLite gives its side files the same mode. */
export function createFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: ownDirectoryMode });
  ownFile(path);
}

/** Blocks the thread, which is the store's own. */
export function pause(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Write-ahead logging is a property of the file; two processes that switch it on at once get "locked" without waiting. */
export function switchToWal(database: DatabaseSync, tries: number): void {
  try {
    database.exec('PRAGMA journal_mode = WAL');
  } catch (error) {
    if (tries === 0 || (error as { errcode?: unknown }).errcode !== busy) throw error;
    pause(5);
    switchToWal(database, tries - 1);
  }
}
