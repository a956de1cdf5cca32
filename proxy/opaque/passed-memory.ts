// Gives the memory of bytes that have passed back early. Each read of a socket takes 64 KiB that are free at once, but V8, which sees only a
// small object, collects them 64 MiB later.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** Bytes that may pass between two collections, over all requests. */
const betweenBytes = 8 * 1024 * 1024;

let passedBytes = 0;
let collect: ((options: { readonly type: 'minor' }) => void) | undefined;

/** Notes bytes that have passed. Every 8 MiB the young objects are collected, which takes less than a millisecond. */
export function notePassed(bytes: number): void {
  passedBytes += bytes;
  if (passedBytes < betweenBytes) return;
  passedBytes = 0;
  collect ??= collector();
  collect({ type: 'minor' });
}

/** V8 shows its collector to contexts that are made after this flag was set, and to no other. */
function collector(): NonNullable<typeof collect> {
  setFlagsFromString('--expose-gc');
  const shown: unknown = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return typeof shown === 'function' ? (shown as NonNullable<typeof collect>) : () => undefined;
}
