// Puts a backup in the place of what lies in a data directory, which is kept beside.
import { createReadStream, createWriteStream, existsSync, globSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ownDirectory, ownDirectoryMode, ownFileMode } from '../own-files.ts';
import { explainFailure } from '../state/sqlite/failure.ts';
import { type Elsewhere, embeddedDatabases, sideEndings } from './databases.ts';
import { userOf } from './in-use.ts';
import { type BackupFile, type Manifest, newerBackup, readManifest, sha256Of } from './manifest.ts';
import { isJournalFile, isSideFile } from './side-files.ts';

export interface RestoreOrder {
  readonly folder: string;
  readonly dataDirectory: string;
  /** What does not lie in the data directory: it is not restored. */
  readonly elsewhere: ReadonlySet<Elsewhere>;
  /** RFC 3339; names the folder for what is replaced. */
  readonly time: string;
}

export interface Restored {
  readonly manifest: Manifest;
  /** What was put in place. */
  readonly files: readonly BackupFile[];
  /** What was left out because it lies elsewhere. */
  readonly leftOut: readonly BackupFile[];
  /** Where lies what was replaced; undefined: there was nothing. */
  readonly aside: string | undefined;
}

interface Move {
  readonly from: string;
  readonly to: string;
}

/**
 * What proxies and the control plane remember of a newer state would undo the restore, and how far journals were stored is no longer so.
 * Below the data directory.
 */
const outdated = ['*/last-good-state.json', '*/journal/*.offset'];

/** Rejects with an Error that says what to do; then the data directory is as it was. */
export async function restoreBackup({ folder, dataDirectory, elsewhere, time }: RestoreOrder): Promise<Restored> {
  const manifest = readManifest(folder);
  for (const file of manifest.files) checkName(folder, file, manifest);
  const inUse = existsSync(dataDirectory) ? userOf(dataDirectory) : undefined;
  if (inUse !== undefined)
    throw new Error(`${inUse} on ${dataDirectory}; stop the proxies and the control plane, then run the command again`);
  const isHere = ({ path }: BackupFile): boolean => {
    const place = placeOf(path);
    return place === undefined || !elsewhere.has(place);
  };
  const files = manifest.files.filter(isHere);
  const staged = join(dataDirectory, `restore-${stamp(time)}.unfinished`);
  const aside = join(dataDirectory, `before-restore-${stamp(time)}`);
  try {
    ownDirectory(dataDirectory);
    for (const file of files) await copyChecked(folder, staged, file);
    const replaced = replacedFiles(dataDirectory, elsewhere);
    const moves = [
      ...replaced.map((path) => ({ from: join(dataDirectory, path), to: join(aside, path) })),
      ...files
        // Those that are there hold what the backup has of them, and more.
        .filter(({ path }) => !isSideFile(path) || !existsSync(join(dataDirectory, path)))
        .map(({ path }) => ({ from: join(staged, path), to: join(dataDirectory, path) })),
    ];
    moveAll(moves, aside);
    return {
      manifest,
      files,
      leftOut: manifest.files.filter((file) => !isHere(file)),
      aside: replaced.length > 0 ? aside : undefined,
    };
  } catch (error) {
    throw explainFailure(dataDirectory, error, 'nothing was restored:');
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Throws for a file that no gateway of this version has. */
function checkName(folder: string, { path, tables = 0 }: BackupFile, manifest: Manifest): void {
  const database = embeddedDatabases.find(({ name }) => name === path);
  const isNewer = database === undefined ? !isSideFile(path) : tables > database.version;
  if (isNewer) throw newerBackup(folder, manifest);
}

/** What has a file of a backup instead of the data directory. */
function placeOf(path: string): Elsewhere | undefined {
  if (isJournalFile(path)) return 'redis';
  return embeddedDatabases.find(({ name }) => name === path)?.elsewhere;
}

/** The copy is what is checked: what was read twice could differ. */
async function copyChecked(folder: string, staged: string, { path, sha256 }: BackupFile): Promise<void> {
  const [from, to] = [join(folder, path), join(staged, path)];
  if (!existsSync(from)) throw new Error(`nothing was restored: ${from} is missing in the backup; take another backup`);
  mkdirSync(dirname(to), { recursive: true, mode: ownDirectoryMode });
  await pipeline(createReadStream(from), createWriteStream(to, { mode: ownFileMode, flush: true }));
  if ((await sha256Of(to)) !== sha256)
    throw new Error(
      `nothing was restored: ${from} is not what the backup has written (its SHA-256 differs); take another backup`,
    );
}

/** Paths of what is put aside, below the data directory. */
function replacedFiles(dataDirectory: string, elsewhere: ReadonlySet<Elsewhere>): readonly string[] {
  const databases = embeddedDatabases
    .filter((database) => !elsewhere.has(database.elsewhere))
    .flatMap(({ name }) => ['', ...sideEndings].map((ending) => name + ending))
    .filter((path) => existsSync(join(dataDirectory, path)));
  return elsewhere.has('redis') ? databases : [...databases, ...globSync(outdated, { cwd: dataDirectory })];
}

/** All of them or none; then what was put aside is back, and its folder gone. */
function moveAll(moves: readonly Move[], aside: string): void {
  const done: Move[] = [];
  try {
    for (const move of moves) {
      mkdirSync(dirname(move.to), { recursive: true, mode: ownDirectoryMode });
      renameSync(move.from, move.to);
      done.push(move);
    }
  } catch (error) {
    for (const { from, to } of done.toReversed()) renameSync(to, from);
    rmSync(aside, { recursive: true, force: true });
    throw error;
  }
}

/** A time as a part of a name: 20260131T120000Z. */
function stamp(time: string): string {
  return time.replaceAll(/[-:]|\.\d+/g, '');
}
