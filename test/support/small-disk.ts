// A disk that a test can fill.
import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type Teardown, temporaryDirectory } from './teardown.ts';

/** A disk of so many mebibytes; undefined: this user may not mount one. */
export function smallDisk(t: Teardown, mebibytes: number): string | undefined {
  const directory = temporaryDirectory(t, 'gateway-disk');
  execFileSync('mkdir', ['-p', directory]);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'tmpfs', directory]).status !== 0)
    return undefined;
  t.teardown(() => void spawnSync('umount', ['-l', directory]));
  return directory;
}

/** Writes a file until not one block is left, or on where it was filled before; what is returned removes it. */
export function fillUp(directory: string): () => void {
  const path = join(directory, 'something-else');
  const file = openSync(path, 'a');
  for (let size = 1024 * 1024; size >= 512; size /= 2) {
    try {
      for (;;) writeSync(file, Buffer.alloc(size, 1));
    } catch {
      // A smaller piece may still fit.
    }
  }
  closeSync(file);
  return () => rmSync(path);
}
