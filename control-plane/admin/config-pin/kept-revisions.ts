// The revisions that can be pinned: those that the record store keeps, and the one in force here.
import type { FollowStatus } from '../../../gitops/follow/config-status.ts';
import type { SourceFile } from '../../../gitops/read/read.ts';
import type { RevisionStore } from '../../../store/records/kept-revisions.ts';
import { filesOf } from '../../revisions/pack-files.ts';
import type { PinnableRevisions } from './pins.ts';

/**
 * `status`: of this control plane. `inForce`: the files of what is in force here, if it is of this revision; they are there without the store.
 * `secrets`: those that are known.
 */
export function pinnableRevisions(
  store: Pick<RevisionStore, 'revisions' | 'revisionFiles' | 'packedFiles'>,
  status: () => Pick<FollowStatus, 'revision' | 'given'> | undefined,
  {
    inForce,
    secrets,
  }: {
    readonly inForce: (revision: string) => Promise<readonly SourceFile[] | undefined>;
    readonly secrets: () => readonly string[];
  },
): PinnableRevisions {
  return {
    async previous() {
      const { revision: current, given } = status() ?? {};
      // Before what is pinned was what it is pinned against.
      if (given !== undefined) return given.revision;
      const before = (await store.revisions()).find(
        ({ outcome, revision, files }) => outcome === 'applied' && revision !== current && files !== undefined,
      );
      return before?.revision;
    },
    filesOf: async (revision) => (await inForce(revision)) ?? filesOf(store, revision),
    secrets,
  };
}
