// Finds the YAML files of a configuration directory and of the directories in it, within bounds.
import { opendir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isYamlName, kindBeside } from './file-names.ts';

export interface DirectoryTree {
  /** The YAML files of the configuration, sorted: paths relative to the directory, with slashes. */
  files: string[];
  /** Files of tests and policies, which are no part of the configuration; as `files`. */
  beside: string[];
  /** Every directory that was searched, the first one included. */
  directories: { real: string; identity: string }[];
  /** Directories that cannot be searched: path relative to the directory, empty for the directory itself. */
  problems: { name: string; message: string }[];
  /** The content of each directory, by its real path, for the next search. */
  listings: ReadonlyMap<string, Listing>;
}

/** The entries of one directory. */
export interface Listing {
  /** Real path, device, inode and times of the directory when it was listed. */
  state: string;
  /** The number of searches in a row with that state. */
  unchanged: number;
  files: string[];
  beside: string[];
  directories: string[];
  /** Symbolic links to directories. */
  links: string[];
}

/** This many files are read within a second. */
const mostFiles = 1_000;
const mostDirectories = 1_000;
const mostLevels = 16;
/** Other files in the directories cost time at every listing: about 2 ms per thousand. */
const mostEntries = 200_000;
/** Directory entries per read; one read blocks for less than a millisecond. */
const entriesAtOnce = 256;
/**
 * Searches with an unchanged directory until its listing is reused. Times of a file system may count in seconds: a change within the
 * same second as a listing would otherwise never be found.
 */
const unchangedUntilReuse = 6;

const useSeparateDirectory = 'keep the configuration in a separate directory';

/** Whether a directory of this name is searched. File systems keep a "lost+found" that only root may read. */
function isSearched(name: string): boolean {
  return !name.startsWith('.') && name !== 'lost+found';
}

/** A directory to search: path relative to the first one, depth below it, real path of the directory that holds it. */
interface Next {
  name: string;
  level: number;
  parent: string;
  isLink: boolean;
}

/**
 * Searches the directory and all directories in it. Entries whose names begin with a dot are skipped; symbolic links are followed, and
 * each directory is searched once, so that links may lead in a circle. The times of a directory change when a name in it is added,
 * removed or renamed: while they stay the same, its listing in `before` is reused, because listing thousands of other files is slow.
 * Rejects when the directory itself cannot be read.
 */
export async function searchDirectory(
  directory: string,
  before: ReadonlyMap<string, Listing> = new Map(),
): Promise<DirectoryTree> {
  const listings = new Map<string, Listing>();
  const tree: DirectoryTree = { files: [], beside: [], directories: [], problems: [], listings };
  const seen = new Set<string>();
  let entries = 0;
  const first: Next = { name: '', level: 0, parent: '', isLink: true };
  // Links come last, so that the path of a file is its real one where it has both.
  const [waiting, links]: [Next[], Next[]] = [[first], []];
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift() ?? links.shift()) {
    try {
      await search(next);
    } catch (error) {
      if (next.level === 0) throw error;
      const message = explain(error);
      if (message !== undefined) tree.problems.push({ name: next.name, message });
    }
    const excess = excessOf();
    if (excess !== undefined) {
      const problem = { name: '', message: `holds more than ${excess}; ${useSeparateDirectory}` };
      return { ...tree, files: [], beside: [], problems: [problem] };
    }
  }
  tree.files.sort();
  tree.beside.sort();
  return tree;

  async function search({ name, level, parent, isLink }: Next): Promise<void> {
    const path = isLink ? await realpath(join(directory, name)) : join(parent, name.slice(name.lastIndexOf('/') + 1));
    const { dev, ino, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    const identity = `${path} ${dev} ${ino}`;
    if (seen.has(`${dev} ${ino}`)) return;
    seen.add(`${dev} ${ino}`);
    const listing = await listed(path, `${identity} ${mtimeNs} ${ctimeNs}`);
    listings.set(path, listing);
    tree.directories.push({ real: path, identity });
    const below = (entry: string): string => (name === '' ? entry : `${name}/${entry}`);
    for (const file of listing.files) tree.files.push(below(file));
    for (const file of listing.beside) tree.beside.push(below(file));
    if (level === mostLevels && listing.directories.length + listing.links.length > 0) {
      tree.problems.push({
        name,
        message: `holds directories that are nested too deeply: more than ${mostLevels} levels`,
      });
      return;
    }
    for (const entry of listing.directories)
      waiting.push({ name: below(entry), level: level + 1, parent: path, isLink: false });
    for (const entry of listing.links) links.push({ name: below(entry), level: level + 1, parent: path, isLink: true });
  }

  async function listed(path: string, state: string): Promise<Listing> {
    const known = before.get(path);
    const unchanged = known?.state === state ? known.unchanged + 1 : 1;
    if (known !== undefined && unchanged > unchangedUntilReuse) return { ...known, unchanged };
    const listing: Listing = { state, unchanged, files: [], beside: [], directories: [], links: [] };
    for await (const entry of await opendir(path, { bufferSize: entriesAtOnce })) {
      entries += 1;
      if (entries > mostEntries) break;
      if (isYamlName(entry.name)) listing.files.push(entry.name);
      else if (kindBeside(entry.name) !== undefined) listing.beside.push(entry.name);
      else if (!isSearched(entry.name)) continue;
      else if (entry.isDirectory()) listing.directories.push(entry.name);
      else if (entry.isSymbolicLink() && (await leadsToDirectory(join(path, entry.name))))
        listing.links.push(entry.name);
    }
    listing.directories.sort();
    listing.links.sort();
    return listing;
  }

  function excessOf(): string | undefined {
    if (entries > mostEntries) return `${mostEntries} files`;
    if (tree.files.length > mostFiles) return `${mostFiles} YAML files`;
    const directories = tree.directories.length + waiting.length + links.length;
    return directories > mostDirectories ? `${mostDirectories} directories` : undefined;
  }
}

/** The problem of a directory that cannot be searched; undefined when it was removed during the search. */
function explain(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
  return `cannot be read${code === 'EACCES' || code === 'EPERM' ? ': permission denied' : ` (${code})`}`;
}

async function leadsToDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
