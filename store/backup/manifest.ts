// The list of what a backup consists of. It is written last: a directory without it is no backup.
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ownFileMode } from '../own-files.ts';

export const manifestName = 'manifest.json';
/** Of this list. Raise it when an older gateway can no longer restore what a backup consists of. */
export const backupFormat = 1;

export interface BackupFile {
  /** Below the directory of the backup, with slashes. */
  readonly path: string;
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  /** The version of its tables. */
  readonly tables?: number;
}

export interface Manifest {
  readonly format: number;
  /** Of the gateway that has made it. */
  readonly version: string;
  /** RFC 3339. */
  readonly time: string;
  readonly files: readonly BackupFile[];
}

/** Throws errors of the file system. */
export function writeManifest(folder: string, manifest: Manifest): void {
  const temporary = join(folder, `${manifestName}.unfinished`);
  writeFileSync(temporary, `${JSON.stringify(manifest, undefined, 2)}\n`, { mode: ownFileMode, flush: true });
  renameSync(temporary, join(folder, manifestName));
}

/** Throws an error that says why there is no manifest that can be used. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, manifestName);
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as { code?: string }).code !== 'ENOENT') throw error;
    throw new Error(`there is no ${path}: ${folder} is no backup, or one that was not finished; name another one`, {
      cause: error,
    });
  }
  const manifest = parsed(text);
  if (manifest === undefined) throw new Error(`${path} is damaged; take another backup`);
  if (manifest.format > backupFormat) throw newerBackup(folder, manifest);
  return manifest;
}

/** The backup can be restored by a newer gateway alone. */
export function newerBackup(folder: string, { version }: Manifest): Error {
  return new Error(
    `the backup ${folder} was made by version ${version} of the gateway, whose tables this version does not know; restore it with version ${version} or a newer one`,
  );
}

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

function parsed(text: string): Manifest | undefined {
  try {
    const found = JSON.parse(text) as Manifest;
    const isWhole =
      Number.isInteger(found.format) &&
      typeof found.version === 'string' &&
      typeof found.time === 'string' &&
      found.files.every(
        ({ path, bytes, sha256 }) => typeof path === 'string' && Number.isInteger(bytes) && typeof sha256 === 'string',
      );
    return isWhole ? found : undefined;
  } catch {
    return undefined;
  }
}
