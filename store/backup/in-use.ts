// Whether a gateway works with a data directory at this moment.
import { existsSync, globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isLocked } from '../file-lock.ts';
import { embeddedDatabases } from './databases.ts';

/** SQLITE_BUSY, which has further codes above the lowest eight bits. */
const busy = 5;

/** What works with it, for a message; undefined: nothing does. */
export function userOf(dataDirectory: string): string | undefined {
  const locks = globSync('*/lock', { cwd: dataDirectory }).filter((path) => isLocked(join(dataDirectory, path)));
  if (locks.length > 0) return `the proxy ${locks.map(dirname).join(', ')} runs`;
  const open = embeddedDatabases.find(({ name }) => isOpen(join(dataDirectory, name)));
  return open === undefined ? undefined : `a control plane or another process has ${open.name} open`;
}

/** A connection keeps a lock on its file for as long as it is open, also while it does nothing. A damaged file is open nowhere. */
function isOpen(path: string): boolean {
  if (!existsSync(path)) return false;
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; ROLLBACK');
    return false;
  } catch (error) {
    return ((error as { errcode?: number }).errcode ?? 0) % 256 === busy;
  } finally {
    database.close();
  }
}
