// The files of a revision that this process has in force, or that its directory holds.
import { recallLastGood } from '../gitops/follow/last-good.ts';
import { readDirectory, revisionOf, type SourceFile } from '../gitops/read/read.ts';
import { lastGoodFolder } from '../plane/start.ts';

/** Undefined: the directory has changed, and the copy of what is in force could not be written. */
export async function filesInForce(
  directory: string,
  ownFolder: string,
  revision: string,
): Promise<readonly SourceFile[] | undefined> {
  const reading = await readDirectory(directory);
  if (revisionOf(reading.hash) === revision) return reading.files;
  const { lastGood } = await recallLastGood(lastGoodFolder(ownFolder), directory);
  return lastGood !== undefined && revisionOf(lastGood.hash) === revision ? lastGood.files : undefined;
}
