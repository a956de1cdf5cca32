// The managed documents as the admin API reads and writes them: never on a store that has lost them.
import type { StateFollower } from '../../schemas/store/follow-state.ts';
import type { StateStore } from '../../schemas/store/state-store.ts';
import { StoreUnavailable } from '../../schemas/store/store-unavailable.ts';
import { oneAtATime } from './one-at-a-time.ts';

/**
 * An emptied store looks like a new one: a write to it would make it so. Until the documents were written back, reading rejects with
 * StoreUnavailable, and a commit that was decided before finds a conflict. So does one that nobody here knows documents of, while a
 * proxy does (`isRemembered`). What was committed is in force here when it resolves. Reads at the same time are shared.
 */
export function guardDocuments(
  store: Pick<StateStore, 'read' | 'commit'>,
  follower: Pick<StateFollower, 'state' | 'refresh'>,
  isRemembered: () => boolean,
): Pick<StateStore, 'read' | 'commit'> {
  const read = oneAtATime(() => store.read());
  return {
    async read() {
      const state = await read();
      if (state.storeId !== undefined) return state;
      if (follower.state().storeId !== undefined) {
        void follower.refresh();
        throw new StoreUnavailable('unreachable', 'the state store was emptied; its documents are being written back');
      }
      if (isRemembered()) throw new StoreUnavailable('unreachable', 'the state store was emptied');
      return state;
    },
    async commit(commit) {
      const result = await store.commit(commit);
      await follower.refresh();
      return result;
    },
  };
}
