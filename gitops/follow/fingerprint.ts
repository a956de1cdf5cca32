// A cheap fingerprint of the configuration directory, to find changes that the system does not report.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Listing, searchDirectory } from '../read/directory-tree.ts';

/** Equal `place` and `files` mean that the file system shows no change. */
export interface DirectoryFingerprint {
  /** Real path, device and inode of the directory and of every directory in it. */
  place: string;
  /** Device, inode, mode, size and times of every YAML file, symbolic links followed. */
  files: string;
  /** The real paths of all directories; none when the directory cannot be read. */
  directories: string[];
  /** The content of the directories. */
  listings: ReadonlyMap<string, Listing>;
}

/** The fingerprint of a directory. Listings of the fingerprint `before` are reused where a directory did not change. Never throws. */
export async function fingerprintDirectory(
  directory: string,
  before?: DirectoryFingerprint,
): Promise<DirectoryFingerprint> {
  try {
    const { files: names, directories, listings } = await searchDirectory(directory, before?.listings);
    const files: string[] = [];
    for (const name of names) {
      const found = await stat(join(directory, name), { bigint: true }).catch((error: unknown) => codeOf(error));
      files.push(
        typeof found === 'string'
          ? `${name} ${found}`
          : `${name} ${found.dev} ${found.ino} ${found.mode} ${found.size} ${found.mtimeNs} ${found.ctimeNs}`,
      );
    }
    return {
      place: directories.map(({ identity }) => identity).join('\n'),
      files: files.join('\n'),
      directories: directories.map(({ real }) => real),
      listings,
    };
  } catch (error) {
    return { place: codeOf(error), files: '', directories: [], listings: new Map() };
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
}
