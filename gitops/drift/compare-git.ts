// Reads what git says of a directory, and finds the commits whose configuration runs instead of it.
import { loadFiles } from '../assemble/load.ts';
import type { LoadContext } from '../assemble/load-context.ts';
import { loadParsers } from '../assemble/load-parsers.ts';
import { gitOf, readAtCommit } from '../cli/git-tree.ts';
import { diffConfigs } from '../diff/diff.ts';
import { type Reading, readDirectory, revisionOf } from '../read/read.ts';
import type { OtherRevision } from './report/report.ts';

/** So many commits that changed the directory are looked at. */
const mostCommits = 30;
/** So many changes are told. */
const mostChanges = 50;

/** The files of the directory as they lie there, or at `ref`. A text: why they cannot be read, without a full stop. */
export async function readWanted(
  directory: string,
  ref: string | undefined,
  environment: LoadContext['environment'],
): Promise<Reading | string> {
  if (ref === undefined) {
    const reading = await readDirectory(directory);
    return reading.files.length > 0 ? reading : (reading.problems[0]?.message ?? `${directory} has no files`);
  }
  const { reading, problem } = await readAtCommit(directory, ref, environment);
  if (reading === undefined) return `${JSON.stringify(ref)} ${problem}`;
  return reading.files.length > 0 ? reading : `${directory} has no files at ${ref}`;
}

/** What is known of each of `revisions`, which are not that of `wanted`. Outside of a repository, nothing is. */
export async function findRevisions(
  { directory, ref = 'HEAD' }: { readonly directory: string; readonly ref?: string | undefined },
  { wanted, revisions }: { readonly wanted: Reading; readonly revisions: ReadonlySet<string> },
  context: LoadContext,
): Promise<OtherRevision[]> {
  const found = new Map<string, OtherRevision>();
  const git = gitOf(context.environment);
  const log = await git(directory, ['log', `--max-count=${mostCommits}`, '--format=%H', ref, '--', '.']).catch(
    () => '',
  );
  const commits = log.split('\n').filter((line) => line !== '');
  for (const [behind, commit] of commits.entries()) {
    if (found.size === revisions.size) break;
    const { reading } = await readAtCommit(directory, commit, context.environment);
    const revision = reading === undefined ? '' : revisionOf(reading.hash);
    if (reading === undefined || !revisions.has(revision) || found.has(revision)) continue;
    const changes = await changesBetween(reading, wanted, context);
    found.set(revision, { revision, commit, behind, ...(changes === undefined ? {} : { changes }) });
  }
  return [...revisions].map((revision) => found.get(revision) ?? { revision });
}

/** A sentence for each; undefined: one of the two cannot be used. */
async function changesBetween(before: Reading, after: Reading, context: LoadContext): Promise<string[] | undefined> {
  await loadParsers([...before.files, ...after.files]);
  const [old, present] = [before, after].map(({ files }) => loadFiles(files, context).config);
  if (old === undefined || present === undefined) return undefined;
  const changes = diffConfigs(old, present);
  const more = changes.length - mostChanges;
  const said = changes.slice(0, mostChanges).map(({ words }) => words);
  return more > 0 ? [...said, `and ${more} more`] : said;
}
