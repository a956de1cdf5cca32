// Compares the checked configuration with another directory or with a commit, for `check-config --diff`.
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AssembledConfig } from '../assemble/assembled.ts';
import type { LoadContext } from '../assemble/load-context.ts';
import { firstLoadBytes, load } from '../assemble/load-off-thread.ts';
import type { ConfigChange } from '../diff/config-change.ts';
import { diffConfigs } from '../diff/diff.ts';
import { formatProblem, sortProblems } from '../read/problem.ts';
import { type Reading, readDirectory } from '../read/read.ts';
import { defaultConfig } from '../read/validate.ts';
import { type CommitReading, readAtCommit } from './git-tree.ts';

export interface Comparison {
  /** As given: a directory or a git ref. */
  against: string;
  changes: ConfigChange[];
  /** Why there is nothing to compare; then there are no changes. */
  problem?: string;
}

/**
 * The configuration that `--diff` names: a directory when there is one of this name, otherwise a git ref. `problem`: it is neither, or
 * git failed. `from` is the directory that relative paths begin at.
 */
export async function readAgainst(
  against: string,
  { from, directory }: { from: string; directory: string },
  environment: LoadContext['environment'],
): Promise<CommitReading> {
  const path = resolve(from, against);
  const isDirectory = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isDirectory
    ? { reading: await readDirectory(path, against) }
    : await readAtCommit(directory, against, environment);
}

/** The changes from `reading` to `config`, which is absent when the checked configuration has problems. */
export async function compare(
  against: string,
  reading: Reading,
  { config, context }: { config: AssembledConfig | undefined; context: LoadContext },
): Promise<Comparison> {
  const cannot = (problem: string): Comparison => ({ against, changes: [], problem });
  if (config === undefined) return cannot('nothing is compared before all problems are corrected');
  // No file yet, for example before the first commit: everything is new.
  const isEmpty = reading.files.length === 0;
  const before = isEmpty
    ? { config: defaultConfig(), problems: [] }
    : await load(reading.files, context, firstLoadBytes);
  const [first] = isEmpty ? [] : sortProblems([...reading.problems, ...before.problems]);
  if (first !== undefined || before.config === undefined)
    return cannot(
      `${against} has problems itself, so there is nothing to compare${first === undefined ? '' : `; the first: ${formatProblem(first)}`}`,
    );
  return { against, changes: diffConfigs(before.config, config) };
}
