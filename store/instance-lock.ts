// One process per instance name: a lock of the operating system, which ends with the process in every case.
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ownDirectory, ownFile } from './own-files.ts';

export interface InstanceLock {
  release(): void;
}

/** Another live process holds the lock. */
export class InstanceInUse extends Error {}

const busy = 5;

/**
 * Takes the lock of the instance whose files lie in `folder` (made when missing). Throws InstanceInUse, or an Error of the file
 * system when the folder cannot be written.
 */
export function lockInstance(folder: string): InstanceLock {
  const path = join(folder, 'lock');
  ownDirectory(dirname(folder));
  ownDirectory(folder);
  ownFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Nothing is ever written, so nothing but the lock needs to be on the disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) throw new InstanceInUse(folder);
    throw error;
  }
  return { release: () => database.close() };
}
