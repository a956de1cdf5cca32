// Room that the state store has taken in advance: when its disk is full, this file goes, and a revocation can still be written.
import { closeSync, fstatSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { diskRoom, hasRoom } from '../../disk-room.ts';
import { ownFileMode } from '../../own-files.ts';

/** A few thousand changes. */
const wantedBytes = 8 * 1024 * 1024;
const portion = Buffer.alloc(1024 * 1024);

/** Where it lies in the gateway's data directory. */
export function ballastPath(directory: string): string {
  return join(directory, 'state.reserve');
}

/** Takes the room unless it is taken, or the disk has none to spare. Never throws: without it the store works as long as its disk has room. */
export function takeBallast(directory: string): void {
  const path = ballastPath(directory);
  if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= wantedBytes) return;
  if (diskRoom(directory).freeBytes < 2 * wantedBytes) return;
  try {
    const file = openSync(path, 'a', ownFileMode);
    try {
      // Bytes that are written, because a hole takes no room.
      for (let size = fstatSync(file).size; size < wantedBytes; size += portion.length) writeSync(file, portion);
    } finally {
      closeSync(file);
    }
  } catch {
    releaseBallast(directory);
  }
}

/** Gives the room back. Whether the full disk has room now, no matter which process has given it back. */
export function hasRoomAgain(directory: string): boolean {
  return releaseBallast(directory) || hasRoom(directory);
}

/** Gives the room back. Whether there was any. */
export function releaseBallast(directory: string): boolean {
  const path = ballastPath(directory);
  try {
    if ((statSync(path, { throwIfNoEntry: false })?.size ?? 0) === 0) return false;
    rmSync(path);
    return true;
  } catch {
    return false;
  }
}
