// The differences between the files in force and those on disk, entry by entry, also while some of those hold mistakes.
import type { LoadContext } from '../assemble/load-context.ts';
import { load, reloadBytes } from '../assemble/load-off-thread.ts';
import { parseFile } from '../read/parse.ts';
import type { Problem } from '../read/problem.ts';
import type { Reading, SourceFile } from '../read/read.ts';
import type { ConfigChange } from './config-change.ts';
import { diffConfigs } from './diff.ts';

export interface ReadingDifference {
  readonly changes: readonly ConfigChange[];
  /** What holds mistakes, and is compared as it is in force: files by name, or `<file>: <section>`. */
  readonly setAside: readonly string[];
}

/** More rules that may differ than these are one change: they are compared in the thread that serves requests. */
const mostCompared = 1_000;
/** What is set aside may make a mistake elsewhere, where something refers to it. */
const mostRounds = 3;

/** Undefined: they cannot be compared, even without what holds mistakes. */
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
  for (let round = 0; round < mostRounds; round += 1) {
    const loaded = await load(files, context, reloadBytes);
    problems = [...problems, ...loaded.problems];
    if (problems.length === 0 && loaded.config !== undefined)
      return { changes: diffConfigs(old, loaded.config, mostCompared), setAside: [...setAside].sort() };
    files = replaced(files, before, problems, setAside);
    problems = [];
  }
  return undefined;
}

/** The files, what holds mistakes as it was before; one that was not there before is left out. Adds what that is to `setAside`. */
function replaced(
  files: readonly SourceFile[],
  before: readonly SourceFile[],
  problems: readonly Problem[],
  setAside: Set<string>,
): SourceFile[] {
  const kept = new Map(files.map((file) => [file.name, file]));
  const former = new Map(before.map((file) => [file.name, file]));
  const names = new Map([...before, ...files].map(({ path, name }) => [path, name]));
  for (const [path, own] of Map.groupBy(problems, ({ file }) => file)) {
    const name = names.get(path);
    if (name === undefined) continue;
    const sections = new Set(own.map((problem) => /^\w+/.exec(problem.path)?.[0] ?? ''));
    const patched = withSections(kept.get(name), former.get(name), sections);
    if (patched === undefined) setAside.add(name);
    else for (const section of sections) setAside.add(`${name}: ${section}`);
    const next = patched ?? former.get(name);
    if (next === undefined) kept.delete(name);
    else kept.set(name, next);
  }
  return [...kept.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A file with these sections as they were before; undefined: it cannot be read, or a mistake is in none of its sections. */
function withSections(
  file: SourceFile | undefined,
  former: SourceFile | undefined,
  sections: ReadonlySet<string>,
): SourceFile | undefined {
  const value = file && parseFile(file).parsed?.value;
  if (file === undefined || value === undefined || [...sections].some((section) => !Object.hasOwn(value, section)))
    return undefined;
  const old = (former && parseFile(former).parsed?.value) ?? {};
  const entries = Object.entries({ ...value, ...Object.fromEntries([...sections].map((name) => [name, old[name]])) });
  // JSON is YAML.
  return { ...file, bytes: Buffer.from(JSON.stringify(Object.fromEntries(entries))) };
}
