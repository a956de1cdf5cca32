// A copy on disk that grows with what changes: it is begun whole or not at all, and used only when the checksums of all its lines match.
import { createHash, randomUUID } from 'node:crypto';
import { constants, type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ownDirectoryMode, ownFileMode } from './own-files.ts';

/** The first line says it, and how many lines there were at the beginning. */
const version = 2;
/** A file may grow by as many bytes as it began with, or by so many. */
const leastGrowth = 1024 * 1024;

/** Writes one file. Of each line the checksum is over all lines up to it, so none can be missing, moved or changed but the last. */
export class ChecksummedLog {
  readonly #path: string;
  /** The checksum of the last line; undefined when the file is to be begun anew. */
  #checksum: string | undefined;
  #bytes = 0;
  #mostBytes = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Whether `append` may be called: the file was begun, nothing has failed, and it has not grown too much since. */
  get mayGrow(): boolean {
    return this.#checksum !== undefined && this.#bytes < this.#mostBytes;
  }

  /** Puts a file with these lines in the place of the one before; takes one line after the other. Gives the reason when that fails; never throws. */
  async begin(count: number, lines: Iterable<string>): Promise<string | undefined> {
    const temporary = `${this.#path}.${randomUUID()}.tmp`;
    [this.#checksum, this.#bytes] = [undefined, 0];
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: ownDirectoryMode });
      const handle = await open(temporary, 'wx', ownFileMode);
      let checksum = '';
      try {
        checksum = await this.#write(handle, checksum, JSON.stringify({ version, lines: count }));
        for (const line of lines) checksum = await this.#write(handle, checksum, line);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(temporary, this.#path);
      [this.#checksum, this.#mostBytes] = [checksum, Math.max(2 * this.#bytes, this.#bytes + leastGrowth)];
      return undefined;
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => undefined);
      return reasonOf(error);
    }
  }

  /** Gives the reason when that fails, which may have written a part of the line; never throws. */
  async append(line: string): Promise<string | undefined> {
    const { O_WRONLY, O_APPEND } = constants;
    const before = this.#checksum ?? '';
    this.#checksum = undefined;
    try {
      // A file that was removed is not made anew without its beginning.
      const handle = await open(this.#path, O_WRONLY | O_APPEND);
      try {
        const checksum = await this.#write(handle, before, line);
        await handle.sync();
        this.#checksum = checksum;
      } finally {
        await handle.close();
      }
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  async #write(handle: FileHandle, before: string, line: string): Promise<string> {
    const checksum = checksumOf(before, line);
    const bytes = Buffer.from(`${checksum} ${line}\n`);
    await handle.writeFile(bytes);
    this.#bytes += bytes.length;
    return checksum;
  }
}

/** The lines of a file, or the reason why they cannot be trusted (`it is damaged`). */
export type RecalledLog = { lines: string[]; distrust?: undefined } | { lines?: undefined; distrust: string };

/** Reads `text`, the content of a file, but for a last line that was not written to its end. */
export function recallLog(text: string): RecalledLog {
  const isDamaged = { distrust: 'it is damaged' };
  const stored = text.split('\n').slice(0, -1).map(parted);
  const { version: written, lines: least } = headOf(stored[0]?.line);
  if (written === undefined || least === undefined) return isDamaged;
  if (written !== version) return { distrust: 'it was written by another version' };
  let before = '';
  for (const { checksum, line } of stored) {
    if (checksum !== checksumOf(before, line)) return isDamaged;
    before = checksum;
  }
  const lines = stored.slice(1).map(({ line }) => line);
  return lines.length < least ? isDamaged : { lines };
}

function parted(text: string): { readonly checksum: string; readonly line: string } {
  const end = text.indexOf(' ');
  return { checksum: text.slice(0, end), line: text.slice(end + 1) };
}

function headOf(line: string | undefined): { readonly version?: number; readonly lines?: number } {
  try {
    return JSON.parse(line ?? '{}') as object;
  } catch {
    return {};
  }
}

function checksumOf(before: string, line: string): string {
  return createHash('sha256').update(before).update(line).digest('hex');
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'unknown error';
}
