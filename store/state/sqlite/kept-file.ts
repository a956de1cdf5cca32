// The file of kept items.
import { join } from 'node:path';
import { createKept, KeptTables, keptVersion } from './kept-tables.ts';
import { SpareFile } from './spare-file.ts';

/** Where the kept items lie in the gateway's data directory. */
export function keptFilePath(directory: string): string {
  return join(directory, 'kept.sqlite');
}

/** Opened at its first use. `busyMs`: how long a statement waits for a lock of another process. */
export function keptFile(directory: string, busyMs: number): SpareFile<KeptTables> {
  return new SpareFile({
    path: keptFilePath(directory),
    what: 'the kept items',
    create: createKept,
    version: keptVersion,
    prepare: (database) => new KeptTables(database),
    busyMs,
    synchronous: 'NORMAL',
  });
}
