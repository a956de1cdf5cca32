// The files that stand beside the configuration of a directory, and those among them that look like a part of it.
import { join } from 'node:path';
import { searchDirectory } from './directory-tree.ts';
import { type BesideKind, kindBeside } from './file-names.ts';
import { type Problem, problemOfFile } from './problem.ts';
import { readRegular, type SourceFile } from './read.ts';
import { defaultConfig } from './validate.ts';

const meaning: Readonly<Record<BesideKind, string>> = { test: 'holds tests', policy: 'holds policies' };
/** A start reads no more than this of such files. */
const mostLookedAt = 100;

export interface BesideReading {
  /** Sorted by path. */
  readonly files: readonly SourceFile[];
  /** One for each file that cannot be read. */
  readonly problems: readonly Problem[];
}

/** The paths of the files of one kind within the directory, sorted; none when the directory cannot be read. Never throws. */
export async function namesBeside(directory: string, kind?: BesideKind): Promise<readonly string[]> {
  const { beside } = await searchDirectory(directory).catch(() => ({ beside: [] }));
  return kind === undefined
    ? beside
    : beside.filter((name) => kindBeside(name.slice(name.lastIndexOf('/') + 1)) === kind);
}

/** Reads the files of these names. `shown` stands for the directory in paths for messages. Never throws. */
export async function readBeside(
  directory: string,
  names: readonly string[],
  shown = directory,
): Promise<BesideReading> {
  const files: SourceFile[] = [];
  const problems: Problem[] = [];
  for (const name of names) {
    const [path, bytes] = [join(shown, name), await readRegular(join(directory, name))];
    if (typeof bytes === 'string') problems.push(problemOfFile(path, bytes));
    else if (bytes !== undefined) files.push({ name, path, bytes });
  }
  return { files, problems };
}

/**
 * A warning for each file beside the configuration that has keys of a configuration and none of a test or policy: earlier versions read it as
 * a part of the configuration. Never throws.
 */
export async function warnOfMisnamed(directory: string, shown = directory): Promise<readonly Problem[]> {
  const names = await namesBeside(directory);
  const { files } = await readBeside(directory, names.slice(0, mostLookedAt), shown);
  return files.flatMap(({ name, path, bytes }) => {
    const kind = kindBeside(name.slice(name.lastIndexOf('/') + 1));
    const keys = keysOf(bytes);
    const key = [...keys].find((each) => sections.has(each));
    if (kind === undefined || key === undefined || keys.has(ownKeys[kind])) return [];
    return [
      problemOfFile(
        path,
        `is no part of the configuration, because a file of this name ${meaning[kind]}; it has the key ${key} of a configuration: rename the file if it belongs to it`,
      ),
    ];
  });
}

const ownKeys: Readonly<Record<BesideKind, string>> = { test: 'tests', policy: 'policies' };
const sections: ReadonlySet<string> = new Set(Object.keys(defaultConfig()));

/** The keys that begin a line, or the text: a parser would take seconds for a large file. */
function keysOf(bytes: Uint8Array): ReadonlySet<string> {
  const text = Buffer.from(bytes).toString('utf8');
  return new Set([...text.matchAll(/^(?:\{\s*)?["']?([a-z_]+)["']?[ \t]*:/gm)].map(([, key = '']) => key));
}
