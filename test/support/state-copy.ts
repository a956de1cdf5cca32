// A copy of the embedded state store, and its return in the place of the store, as a restore from a backup puts it.
import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { stateFilePath } from '../../store/state/sqlite/file.ts';

/** Copies the store in this directory as it is now; the function given puts the copy back in its place, as often as it is called. */
export function copyState(directory: string): () => void {
  const path = stateFilePath(directory);
  const copy = `${path}.copy`;
  const database = new DatabaseSync(path, { timeout: 1_000 });
  database.exec(`VACUUM INTO '${copy}'`);
  database.close();
  return () => {
    copyFileSync(copy, `${copy}.back`);
    for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true });
    renameSync(`${copy}.back`, path);
  };
}
