// The files of a configuration as one text: a line of JSON with names and lengths, then the bytes of all files, gzip, base64.
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { SourceFile } from './read.ts';

const [packed, unpacked] = [promisify(gzip), promisify(gunzip)];

/** As much as a directory may hold, and the line of names. */
const mostBytes = 80 * 1_048_576;

/** The bytes as they are: variables unexpanded. */
export async function packFiles(files: readonly Pick<SourceFile, 'name' | 'bytes'>[]): Promise<string> {
  const names = JSON.stringify(files.map(({ name, bytes }) => [name, bytes.length]));
  const whole = Buffer.concat([Buffer.from(`${names}\n`), ...files.map(({ bytes }) => bytes)]);
  return (await packed(whole, { level: 9 })).toString('base64');
}

/**
 * The inverse of `packFiles`; undefined for a text that it has not made. Messages name a file as `<at>:<name>`. Reads at most 80 MiB, and
 * never rejects.
 */
export async function unpackFiles(text: string, at: string): Promise<SourceFile[] | undefined> {
  try {
    const whole = await unpacked(Buffer.from(text, 'base64'), { maxOutputLength: mostBytes });
    const end = whole.indexOf('\n');
    const names: [name: string, length: number][] = JSON.parse(whole.subarray(0, end).toString());
    let next = end + 1;
    const files = names.map(([name, length]) => {
      const bytes = whole.subarray(next, next + length);
      next += length;
      return { name, path: `${at}:${name}`, bytes };
    });
    return end > 0 && next === whole.length ? files : undefined;
  } catch {
    return undefined;
  }
}
