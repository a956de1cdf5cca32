// One process per instance name: a lock on a file in the folder of the instance.
import { dirname, join } from 'node:path';
import { FileInUse, type FileLock, lockFile } from './file-lock.ts';
import { ownDirectory } from './own-files.ts';

export type InstanceLock = FileLock;

/** Another live process holds the lock. */
export class InstanceInUse extends Error {}

/**
 * Takes the lock of the instance whose files lie in `folder` (made when missing). Throws InstanceInUse, or an Error of the file
 * system when the folder cannot be written.
 */
export function lockInstance(folder: string): InstanceLock {
  ownDirectory(dirname(folder));
  ownDirectory(folder);
  try {
    return lockFile(join(folder, 'lock'));
  } catch (error) {
    throw error instanceof FileInUse ? new InstanceInUse(folder) : error;
  }
}
