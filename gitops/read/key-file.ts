// Reads the file of a secret: bounded, without its line break at the end. No message holds its content.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** Longest file. Bytes. */
const mostBytes = 16 * 1024;
/** A named pipe must not block. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK;

/** The secret, or the rest of a sentence that says why there is none: "does not exist". */
export type KeyReading = { readonly key: string } | { readonly trouble: string };

/** Reads without blocking the thread; never rejects. */
export async function readKeyFile(path: string): Promise<KeyReading> {
  const reading = await readBytes(path, mostBytes);
  return 'trouble' in reading ? reading : keyOf(reading.bytes);
}

/** Reads a regular file, of a longer one the first `most` bytes and one more. Never rejects. */
export async function readBytes(
  path: string,
  most: number,
): Promise<{ readonly bytes: Buffer } | { readonly trouble: string }> {
  try {
    const handle = await open(path, flags);
    try {
      const facts = await handle.stat();
      if (!facts.isFile()) return notRegular;
      const room = Math.min(facts.size, most) + 1;
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(room), 0, room, 0);
      return { bytes: buffer.subarray(0, bytesRead) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return troubleOf(error);
  }
}

/** `readKeyFile` without waiting, for the start of a process. Never throws. */
export function readKeyFileSync(path: string): KeyReading {
  const reading = readBytesSync(path, mostBytes);
  return 'trouble' in reading ? reading : keyOf(reading.bytes);
}

/** `readBytes` without waiting, for the start of a process. Never throws. */
export function readBytesSync(path: string, most: number): { readonly bytes: Buffer } | { readonly trouble: string } {
  try {
    const descriptor = openSync(path, flags);
    try {
      if (!fstatSync(descriptor).isFile()) return notRegular;
      const buffer = Buffer.alloc(most + 1);
      return { bytes: buffer.subarray(0, readSync(descriptor, buffer, 0, buffer.length, 0)) };
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    return troubleOf(error);
  }
}

const notRegular = { trouble: 'is not a regular file' };

/** The secret that a file or a vault has given. */
export function keyOf(bytes: Buffer): KeyReading {
  if (bytes.length > mostBytes) return { trouble: 'is larger than 16 KiB' };
  const key = bytes.toString('utf8').replace(/(?:\r?\n)+$/, '');
  if (key === '') return { trouble: 'is empty' };
  // Keys are sent in headers, and addresses have no other characters either.
  return /^[\x21-\x7e]+$/.test(key)
    ? { key }
    : { trouble: 'holds a blank, a line break or a character outside ASCII within the text' };
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'does not exist',
  EACCES: 'cannot be read: permission denied',
  EISDIR: 'is a directory',
  ELOOP: 'is a symbolic link to itself',
};

function troubleOf(error: unknown): { readonly trouble: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return { trouble: reasons[code] ?? `cannot be read (${code})` };
}
