// What is kept of a revision beside its files: its commit, how many changes it brought, and why it was rejected.
import type { ChangeCounts, ConfigCommit, RevisionFacts } from '../../domain/records/config-revision.ts';
import type { LoadContext } from '../../gitops/assemble/load-context.ts';
import { diffReadings } from '../../gitops/diff/diff-readings.ts';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import type { RevisionStore, RevisionToKeep } from '../../store/records/kept-revisions.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { mayHoldSecret } from '../secrets-in-files.ts';
import { filesOf } from './pack-files.ts';

/** Sentences that are kept of a rejection, and their characters. */
const [mostProblems, longestProblem] = [5, 500];

export interface FactParts {
  readonly store: Pick<RevisionStore, 'revisions' | 'revisionFiles' | 'packedFiles'>;
  /** What configurations are loaded with, to compare them. */
  readonly context: LoadContext;
  /** Those that are known: files that hold one are not kept. */
  readonly secrets: () => readonly string[];
  /** The name of this control plane. */
  readonly instance: string;
}

/** `commit`: of the directory. Rejects with `StoreUnavailable`. */
export async function factsOf(
  parts: FactParts,
  event: ConfigEvent,
  outcome: RevisionToKeep['outcome'],
  commit: Promise<ConfigCommit | undefined>,
): Promise<RevisionFacts> {
  const { kind, revision, problems, files } = event;
  const isOfDirectory = kind === 'applied' || kind === 'rejected';
  const changes = outcome === 'applied' ? await countChanges(parts, event) : undefined;
  const lack =
    files === undefined ? 'unreadable' : (await mayHoldSecret(files, parts.secrets())) ? 'may_hold_secret' : undefined;
  return {
    instance: parts.instance,
    ...(isOfDirectory ? await commit : await earlierCommit(parts.store, revision)),
    ...(changes === undefined ? {} : { changes }),
    ...(outcome === 'rejected' ? problemsOf(problems.map(formatProblem)) : {}),
    ...(lack === undefined ? {} : { without_files: lack }),
  };
}

/** The directory is of another commit than a content that stands in its place. */
async function earlierCommit(store: FactParts['store'], revision: string): Promise<Partial<ConfigCommit>> {
  const known = await store.revisions();
  const facts = known.find((each) => each.revision === revision && each.facts.commit !== undefined)?.facts;
  if (facts?.commit === undefined) return {};
  const { commit, author, authored_ms, subject } = facts;
  const optional = Object.entries({ author, authored_ms, subject }).filter(([, value]) => value !== undefined);
  return { commit, ...Object.fromEntries(optional) };
}

function problemsOf(sentences: readonly string[]): Partial<RevisionFacts> {
  const first = sentences.slice(0, mostProblems).map((each) => withoutKeys(each.slice(0, longestProblem)));
  return { problems: first, problem_count: sentences.length };
}

/** A start does not know what was in force before: then the files that were kept last say it. */
async function countChanges(
  { store, context }: FactParts,
  { changes, files, revision }: ConfigEvent,
): Promise<ChangeCounts | undefined> {
  if (changes !== undefined) return countsOf(changes);
  const former = (await store.revisions()).find(({ outcome }) => outcome === 'applied');
  if (former === undefined || files === undefined || former.revision === revision) return undefined;
  const before = await filesOf(store, former.revision).catch((error: unknown) => {
    if (error instanceof StoreUnavailable) throw error;
    return undefined;
  });
  if (before === undefined) return undefined;
  const found = await diffReadings(before, { files: [...files], problems: [], hash: '' }, context);
  return found === undefined ? undefined : countsOf(found.changes);
}

function countsOf(changes: NonNullable<ConfigEvent['changes']>): ChangeCounts {
  const counts: Partial<Record<keyof ChangeCounts, number>> = {};
  for (const { change } of changes) counts[change] = (counts[change] ?? 0) + 1;
  return counts;
}
