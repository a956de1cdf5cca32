// Compares the configuration on disk with the one in force in this control plane: the files that differ, and where.

import { timestamp } from '../../../domain/timestamp.ts';
import { diffFiles, type FileDifference } from '../../../gitops/diff/diff-files.ts';
import { diffReadings } from '../../../gitops/diff/diff-readings.ts';
import type { FollowStatus } from '../../../gitops/follow/config-status.ts';
import { recallLastGood } from '../../../gitops/follow/last-good.ts';
import { formatProblem, type Problem } from '../../../gitops/read/problem.ts';
import { type Reading, readDirectory, revisionOf, type SourceFile } from '../../../gitops/read/read.ts';
import type { PlaneSettings } from '../../../plane/environment.ts';
import { lastGoodFolder } from '../../../plane/start.ts';
import type { Variables } from '../../../schemas/variables.ts';

export interface DifferenceParts {
  readonly settings: Pick<PlaneSettings, 'configDirectory' | 'entitlements'> & { readonly variables: Variables };
  /** Where this process keeps the copy of the files in force. */
  readonly ownFolder: string;
  readonly status: () => Pick<FollowStatus, 'revision' | 'source' | 'problems' | 'lastSuccessMs'> | undefined;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** More values than these are not listed. */
const mostValues = 500;

/** The body of `schemas/admin/config-differences.schema.json`. Reads the directory. */
export async function describeDifferences({ settings, ownFolder, status, nowMs }: DifferenceParts): Promise<object> {
  const directory = settings.configDirectory;
  const { revision = '', source = 'directory', problems = [], lastSuccessMs = 0 } = status() ?? {};
  const reading = await readDirectory(directory);
  const onDisk = revisionOf(reading.hash);
  const isSame = onDisk === revision;
  const { lastGood } = isSame ? {} : await recallLastGood(lastGoodFolder(ownFolder), directory);
  const isKnown = lastGood !== undefined && revisionOf(lastGood.hash) === revision;
  return {
    server_time: timestamp(nowMs()),
    directory,
    config_revision: revision,
    config_source: source,
    applied_at: lastSuccessMs === 0 ? null : timestamp(lastSuccessMs),
    disk_revision: onDisk,
    same: isSame,
    problems: problems.map(describeProblem),
    ...(isSame
      ? { files: [], complete: true, changes: [], set_aside: [] }
      : isKnown
        ? {
            ...listed(diffFiles(lastGood.files, reading.files)),
            ...(await changesBetween(lastGood.files, reading, settings)),
          }
        : {}),
  };
}

/** What would be said of the change if it were put in force, as in the log and by check-config --diff. */
export async function changesBetween(
  before: readonly SourceFile[],
  reading: Reading,
  { variables: environment, entitlements }: DifferenceParts['settings'],
): Promise<object> {
  const found = await diffReadings(before, reading, { environment, variables: 'keep', entitlements });
  if (found === undefined) return {};
  const changes = found.changes.slice(0, mostValues);
  return {
    changes: changes.map(({ kind, name, change, effect, words }) => ({ kind, name, change, effect, words })),
    set_aside: found.setAside,
  };
}

/** At most `mostValues` values of all files together. */
export function listed(files: readonly FileDifference[]): { files: object[]; complete: boolean } {
  let left = mostValues;
  let isComplete = true;
  const shown = files.map(({ values, ...file }) => {
    if (values === undefined) return file;
    const some = values.slice(0, left);
    left -= some.length;
    if (some.length < values.length) isComplete = false;
    return { ...file, values: some };
  });
  return { files: shown, complete: isComplete };
}

function describeProblem(problem: Problem): object {
  const { file, line, column, path, message } = problem;
  return {
    file,
    ...(line === 0 ? {} : { line, column }),
    ...(path === '' ? {} : { path }),
    message,
    text: formatProblem(problem),
  };
}
