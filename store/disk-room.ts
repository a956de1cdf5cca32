// The free room on the disk of a directory for data that may wait or go: records and stored responses leave a reserve to rules, keys and counters.
import { statfsSync } from 'node:fs';

/** The reserve for the state store, in bytes; on a small disk a tenth of it. */
const reserveBytes = 256 * 1024 * 1024;
/** At least so many bytes: more than the state store has taken in advance, so that what it gives back is no room for records. */
const leastReserveBytes = 12 * 1024 * 1024;

export interface DiskRoom {
  /** How much less the disk may have before the reserve is touched, in bytes; 0: it is touched. */
  readonly freeBytes: number;
  readonly reserveBytes: number;
}

/** Endless where the system does not say. */
export function diskRoom(directory: string): DiskRoom {
  try {
    const { bsize, blocks, bavail } = statfsSync(directory);
    const reserve = Math.min(reserveBytes, Math.max(leastReserveBytes, Math.floor((bsize * blocks) / 10)));
    return { freeBytes: Math.max(0, bsize * bavail - reserve), reserveBytes: reserve };
  } catch {
    return { freeBytes: Number.MAX_SAFE_INTEGER, reserveBytes };
  }
}

/** Whether anything can be written there, the reserve included. */
export function hasRoom(directory: string): boolean {
  try {
    return statfsSync(directory).bavail > 0;
  } catch {
    return false;
  }
}

/** Why nothing more is written there; undefined: it has room. */
export function noRoom(directory: string): string | undefined {
  const { freeBytes, reserveBytes: kept } = diskRoom(directory);
  if (freeBytes > 0) return undefined;
  return `the disk has less than ${Math.ceil(kept / 1024 / 1024)} MiB left, which are kept for rules, keys and counters`;
}
