// A copy on disk, for a start without its source: written whole or not at all, and used only when its checksum matches.
import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ownDirectoryMode, ownFileMode } from './own-files.ts';

const version = 1;

interface Stored {
  version: number;
  checksum: string;
  /** As text, because the checksum is over exactly these bytes. */
  content: string;
}

/** The result of reading: the content, nothing, or the reason why it cannot be trusted (`it is damaged`). */
export type Recalled = { content: string; distrust?: undefined } | { content?: undefined; distrust?: string };

/** Puts `content` in the place of the older copy, readable by this user alone. Gives the reason when that fails; never throws. */
export async function keepCopy(path: string, content: string): Promise<string | undefined> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  const stored: Stored = { version, checksum: sha256(content), content };
  try {
    await mkdir(dirname(path), { recursive: true, mode: ownDirectoryMode });
    const handle = await open(temporary, 'wx', ownFileMode);
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
    return error instanceof Error ? error.message : 'unknown error';
  }
}

/** Reads a copy back. Never throws. */
export async function recallCopy(path: string): Promise<Recalled> {
  try {
    const { version: written, checksum, content }: Stored = JSON.parse(await readFile(path, 'utf8'));
    if (written !== version) return { distrust: 'it was written by another version' };
    if (typeof content !== 'string' || sha256(content) !== checksum) return { distrust: 'it is damaged' };
    return { content };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {};
    const isDamaged = error instanceof SyntaxError || error instanceof TypeError;
    return { distrust: isDamaged ? 'it is damaged' : 'it cannot be read' };
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
