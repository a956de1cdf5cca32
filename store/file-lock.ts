// A lock of the operating system on a file, which ends with the process that holds it in every case.
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { ownFile } from './own-files.ts';

export interface FileLock {
  release(): void;
}

/** Another live process holds the lock. */
export class FileInUse extends Error {}

const busy = 5;

/** Takes the lock on a file, which is made when missing. Throws FileInUse, or an Error of the file system. */
export function lockFile(path: string): FileLock {
  ownFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, so nothing but the lock needs to be on the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    throw isBusy(error) ? new FileInUse(path) : error;
  }
  return { release: () => database.close() };
}

/**
 * Whether a live process holds the lock, this one included. Never throws; when it cannot be told, it is held. It takes 0.1 ms.
 * The file is opened by SQLite alone: when a process closes a file by other means, it loses its locks on it.
 */
export function isLocked(path: string): boolean {
  if (!existsSync(path)) return false;
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: 0, readOnly: true });
    database.exec('SELECT count(*) FROM sqlite_schema');
    return false;
  } catch {
    return existsSync(path);
  } finally {
    database?.close();
  }
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: number }).errcode === busy;
}
