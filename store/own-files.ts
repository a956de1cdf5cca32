// The gateway's own files and directories can be read by its user alone: they hold rules, rights and hashes of keys.
import { chmodSync, closeSync, mkdirSync, openSync, statSync } from 'node:fs';

/** The mode of directories and of files; a loose umask changes neither. */
export const ownDirectoryMode = 0o700;
export const ownFileMode = 0o600;

/**
 * Makes a directory, with those above it that are missing, and closes it to others when it is there already and ours. Never throws:
 * what cannot be made or closed is told by the first write to it.
 */
export function ownDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: ownDirectoryMode });
    closeToOthers(path);
  } catch {
    // A read-only disk, for example; a gateway with Redis works without any.
  }
}

/** Makes an empty file, or takes the one that is there, and closes it to others. Throws errors of the file system. */
export function ownFile(path: string): void {
  closeSync(openSync(path, 'a', ownFileMode));
  closeToOthers(path);
}

/** Only the owner may change a mode; what belongs to another user is their affair. */
function closeToOthers(path: string): void {
  const { uid, mode } = statSync(path);
  if (uid === process.getuid?.() && (mode & 0o077) !== 0) chmodSync(path, mode & 0o7700);
}
