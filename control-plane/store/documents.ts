// The managed documents as the admin API reads and writes them: never on a store that has lost them.
import type { StateFollower } from '../../schemas/store/follow-state.ts';
import type { StateStore } from '../../schemas/store/state-store.ts';
import { StoreUnavailable } from '../../schemas/store/store-unavailable.ts';

/**
 * An emptied store looks like a new one: a write to it would make it so. Until the documents were written back, reading rejects with
 * StoreUnavailable, and a commit that was decided before finds a conflict. What was committed is in force here when it resolves.
 */
export function guardDocuments(
  store: Pick<StateStore, 'read' | 'commit'>,
  follower: Pick<StateFollower, 'state' | 'refresh'>,
): Pick<StateStore, 'read' | 'commit'> {
  return {
    async read() {
      const state = await store.read();
      if (state.storeId !== undefined || follower.state().storeId === undefined) return state;
      void follower.refresh();
      throw new StoreUnavailable('unreachable', 'the state store was emptied; its documents are being written back');
    },
    async commit(commit) {
      const result = await store.commit(commit);
      await follower.refresh();
      return result;
    },
  };
}
