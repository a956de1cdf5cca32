// Makes a backup of a data directory while the gateway works with it.
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { ownDirectoryMode, ownFile, ownFileMode } from '../own-files.ts';
import { explainFailure } from '../state/sqlite/failure.ts';
import { type Elsewhere, type EmbeddedDatabase, embeddedDatabases, sideEndings } from './databases.ts';
import { type BackupFile, backupFormat, type Manifest, sha256Of, writeManifest } from './manifest.ts';
import { sideFilesIn } from './side-files.ts';

/** How long a database may be locked by another process. Milliseconds. */
const busyMs = 60_000;
/** Pages of a database that are copied at once. */
const pagesAtOnce = 4_096;

export interface BackupOrder {
  readonly dataDirectory: string;
  /** A new or an empty directory. */
  readonly folder: string;
  /** What is not in the data directory: it is left out. */
  readonly elsewhere: ReadonlySet<Elsewhere>;
  /** Of this gateway. */
  readonly version: string;
  /** RFC 3339. */
  readonly time: string;
}

/**
 * Copies every database as it is at one moment, and the records that wait beside them. Rejects with an Error that says what to do; then
 * nothing of it is left.
 */
export async function makeBackup(order: BackupOrder): Promise<Manifest> {
  const { dataDirectory, folder, elsewhere, version, time } = order;
  const here = embeddedDatabases.filter(
    ({ name, elsewhere: place }) => !elsewhere.has(place) && existsSync(join(dataDirectory, name)),
  );
  if (here.length === 0)
    throw new Error(
      `${dataDirectory} holds no database of a gateway; let GATEWAY_DATA name the directory that the gateway has`,
    );
  const wasThere = existsSync(folder);
  try {
    emptyFolder(folder);
    const files: BackupFile[] = [];
    // Before the records: a line that has left its journal since is in the records that are copied after it.
    for await (const { path, content } of sideFilesIn(dataDirectory, !elsewhere.has('redis'))) {
      mkdirSync(dirname(join(folder, path)), { recursive: true, mode: ownDirectoryMode });
      writeFileSync(join(folder, path), content, { mode: ownFileMode, flush: true });
      files.push(await described(folder, path));
    }
    for (const database of here) {
      const tables = await copyDatabase(database, dataDirectory, folder);
      files.push({ ...(await described(folder, database.name)), tables });
    }
    const manifest = { format: backupFormat, version, time, files };
    writeManifest(folder, manifest);
    return manifest;
  } catch (error) {
    if (error instanceof FolderInUse) throw error;
    for (const name of wasThere ? readdirSync(folder) : []) rmSync(join(folder, name), { recursive: true });
    if (!wasThere) rmSync(folder, { recursive: true, force: true });
    throw explainFailure(folder, error, 'no backup was made:');
  }
}

class FolderInUse extends Error {}

function emptyFolder(folder: string): void {
  if (existsSync(folder) && (!statSync(folder).isDirectory() || readdirSync(folder).length > 0))
    throw new FolderInUse(`${folder} is there and not empty; name a new or an empty directory for the backup`);
  mkdirSync(folder, { recursive: true, mode: ownDirectoryMode });
}

/** Gives the version of the tables. Both files are checked: SQLite copies pages without reading them. */
async function copyDatabase(database: EmbeddedDatabase, dataDirectory: string, folder: string): Promise<number> {
  const { name, what, versionIn } = database;
  const [from, to] = [join(dataDirectory, name), join(folder, name)];
  const source = openedAtOnce(from, what);
  try {
    ownFile(to);
    await backup(source, to, { rate: pagesAtOnce });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(to);
  try {
    const verdict = Object.values(copy.prepare('PRAGMA quick_check(1)').get() ?? {})[0];
    if (verdict !== 'ok') throw Object.assign(new Error(String(verdict)), { errcode: corrupt });
    return versionIn(copy);
  } catch (error) {
    throw explainFailure(from, error, `no backup was made: the file of ${what}`);
  } finally {
    copy.close();
    for (const ending of sideEndings) rmSync(to + ending, { force: true });
  }
}

/** SQLITE_CORRUPT. */
const corrupt = 11;

/** In a transaction: what others write meanwhile is not in the copy, and does not make it begin anew. */
function openedAtOnce(path: string, what: string): DatabaseSync {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: busyMs, readOnly: true });
    database.exec('BEGIN');
    database.prepare('SELECT count(*) FROM sqlite_schema').get();
    return database;
  } catch (error) {
    database?.close();
    throw explainFailure(path, error, `no backup was made: the file of ${what}`);
  }
}

async function described(folder: string, path: string): Promise<BackupFile> {
  const file = join(folder, path);
  return { path, bytes: statSync(file).size, sha256: await sha256Of(file) };
}
