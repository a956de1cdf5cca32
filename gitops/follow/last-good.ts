// Keeps a copy of the last good configuration on disk, so that a process can restart with a broken directory.
import { createHash } from 'node:crypto';
import { join, resolve } from 'node:path';
import { keepCopy, recallCopy } from '../../store/checksummed-file.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import { hashOf, type SourceFile } from '../read/read.ts';

export interface LastGood {
  files: SourceFile[];
  /** Content hash as of `readDirectory`. */
  hash: string;
}

/** The path of the copy for a configuration directory: one file per directory, so that several gateways may share a folder. */
export function lastGoodPath(folder: string, directory: string): string {
  const name = createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 16);
  return join(folder, `last-good-config-${name}.json`);
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
  const content = JSON.stringify(
    files.map(({ name, path: shown, bytes }) => [name, shown, Buffer.from(bytes).toString('base64')]),
  );
  const reason = await keepCopy(path, content);
  if (reason === undefined) return undefined;
  return problemOfFile(
    path,
    `the copy of the last good configuration could not be written (${reason}); a restart depends on the directory alone`,
  );
}

/** The copy, an empty object when there is none, or a warning when it is damaged. Never throws. */
export async function recallLastGood(
  folder: string,
  directory: string,
): Promise<{ lastGood?: LastGood; warning?: Problem }> {
  const path = lastGoodPath(folder, directory);
  const { content, distrust } = await recallCopy(path);
  if (distrust !== undefined) return untrusted(path, distrust);
  if (content === undefined) return {};
  try {
    const kept: [string, string, string][] = JSON.parse(content);
    const files = kept.map(([name, shown, bytes]) => ({ name, path: shown, bytes: Buffer.from(bytes, 'base64') }));
    return { lastGood: { files, hash: hashOf(files, []) } };
  } catch {
    return untrusted(path, 'it is damaged');
  }
}

function untrusted(path: string, reason: string): { warning: Problem } {
  return { warning: problemOfFile(path, `the copy of the last good configuration is ignored: ${reason}`) };
}
