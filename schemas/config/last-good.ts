// Keeps the last configuration that was in force on disk, so that a restart with a broken directory does not end the service.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Problem, problemOfFile } from './problem.ts';
import { hashOf, type SourceFile } from './read.ts';

const version = 1;

export interface LastGood {
  files: SourceFile[];
  /** Content hash as of `readDirectory`. */
  hash: string;
}

interface Stored {
  version: number;
  checksum: string;
  /** JSON of the files, as text, because the checksum is over exactly these bytes. */
  content: string;
}

/** Where the copy for a configuration directory lies: one file per directory, so that several gateways may share a folder. */
export function lastGoodPath(folder: string, directory: string): string {
  return join(folder, `last-good-config-${sha256(resolve(directory)).slice(0, 16)}.json`);
}

/**
 * Writes the files as they are, variables unexpanded, so that no secret of the environment reaches the disk. The older copy stays
 * until the new one is complete. Gives a warning when that fails; never throws.
 */
export async function keepLastGood(
  folder: string,
  directory: string,
  files: readonly SourceFile[],
): Promise<Problem | undefined> {
  const path = lastGoodPath(folder, directory);
  const temporary = `${path}.${randomUUID()}.tmp`;
  const content = JSON.stringify(
    files.map(({ name, path: shown, bytes }) => [name, shown, Buffer.from(bytes).toString('base64')]),
  );
  const stored: Stored = { version, checksum: sha256(content), content };
  try {
    await mkdir(folder, { recursive: true });
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(JSON.stringify(stored));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    return undefined;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    const reason = error instanceof Error ? error.message : 'unknown error';
    return problemOfFile(
      path,
      `the copy of the last good configuration could not be written (${reason}); a restart depends on the directory alone`,
    );
  }
}

/** The copy, nothing when there is none, or a warning when it cannot be trusted. Never throws. */
export async function recallLastGood(
  folder: string,
  directory: string,
): Promise<{ lastGood?: LastGood; warning?: Problem }> {
  const path = lastGoodPath(folder, directory);
  try {
    const { version: written, checksum, content }: Stored = JSON.parse(await readFile(path, 'utf8'));
    if (written !== version) return untrusted(path, 'it was written by another version');
    if (typeof content !== 'string' || sha256(content) !== checksum) return untrusted(path, 'it is damaged');
    const kept: [string, string, string][] = JSON.parse(content);
    const files = kept.map(([name, shown, bytes]) => ({ name, path: shown, bytes: Buffer.from(bytes, 'base64') }));
    return { lastGood: { files, hash: hashOf(files, []) } };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    return untrusted(
      path,
      error instanceof SyntaxError || error instanceof TypeError ? 'it is damaged' : 'it cannot be read',
    );
  }
}

function untrusted(path: string, reason: string): { warning: Problem } {
  return { warning: problemOfFile(path, `the copy of the last good configuration is ignored: ${reason}`) };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
