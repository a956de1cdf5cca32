// The differences between the files in force and those on disk, entry by entry, also while some of those hold mistakes.
import type { LoadContext } from '../assemble/load-context.ts';
import { load, reloadBytes } from '../assemble/load-off-thread.ts';
import type { Problem } from '../read/problem.ts';
import type { Reading, SourceFile } from '../read/read.ts';
import type { ConfigChange } from './config-change.ts';
import { diffConfigs } from './diff.ts';

export interface ReadingDifference {
  readonly changes: readonly ConfigChange[];
  /** Names of files with mistakes: they are compared as they are in force. */
  readonly setAside: readonly string[];
}

/** More rules that may differ than these are one change: they are compared in the thread that serves requests. */
const mostCompared = 1_000;

/** Undefined: they cannot be compared, even without the files that hold mistakes. */
export async function diffReadings(
  before: readonly SourceFile[],
  after: Reading,
  context: LoadContext,
): Promise<ReadingDifference | undefined> {
  const { config: old } = await load(before, context, reloadBytes);
  if (old === undefined) return undefined;
  const setAside = new Set<string>();
  let files: readonly SourceFile[] = after.files;
  let { problems } = after;
  // A file without its mistakes may make one in another file: what that one refers to is gone.
  for (let left = 2; left >= 0; left -= 1) {
    const loaded = await load(files, context, reloadBytes);
    problems = [...problems, ...loaded.problems];
    if (problems.length === 0 && loaded.config !== undefined)
      return { changes: diffConfigs(old, loaded.config, mostCompared), setAside: [...setAside].sort() };
    for (const name of namesOf(problems, [...files, ...before])) setAside.add(name);
    files = replaced(files, before, setAside);
    problems = [];
  }
  return undefined;
}

function namesOf(problems: readonly Problem[], files: readonly SourceFile[]): string[] {
  const names = new Map(files.map(({ path, name }) => [path, name]));
  return problems.flatMap(({ file }) => names.get(file) ?? []);
}

/** The files, those that are set aside as they were before; one that was not there before is left out. */
function replaced(
  files: readonly SourceFile[],
  before: readonly SourceFile[],
  setAside: ReadonlySet<string>,
): SourceFile[] {
  const kept = files.filter(({ name }) => !setAside.has(name));
  const former = before.filter(({ name }) => setAside.has(name));
  return [...kept, ...former].sort((a, b) => (a.name < b.name ? -1 : 1));
}
