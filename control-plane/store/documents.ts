// The managed documents as the admin API reads and writes them: never on a store that has lost them.
import { setTimeout } from 'node:timers/promises';
import { singleFlight } from '../../store/single-flight.ts';
import type { StateFollower, StateStatus } from '../../store/state/follow-state.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import type { StoreVerdict } from './verdict.ts';

/** How often it is asked whether it is known by now what an empty store is. */
const verdictPollMs = 50;

/** What a commit rejects with that may have been done all the same. */
export class WriteInDoubt extends StoreUnavailable {}

/**
 * An emptied store looks like a new one: a write to it would make it so. Until the documents were written back, reading rejects with
 * StoreUnavailable, and a commit that was decided before finds a conflict. A store that nobody here knows documents of is read only
 * once it is decided that no proxy does either. What was committed is in force here when it resolves, and as a rule copied. The
 * documents in force are what is read, as long as the store says that it stands where they do: however many there are, reading costs
 * one look at the revision. Reads at the same time are shared.
 */
export function guardDocuments(
  store: Pick<StateStore, 'read' | 'revision'>,
  follower: Pick<StateFollower, 'state' | 'status' | 'refresh' | 'commit' | 'kept'>,
  verdict: Pick<StoreVerdict, 'meet' | 'isLost' | 'isDecided'>,
): Pick<StateStore, 'read' | 'commit'> {
  const reading = singleFlight(async () => {
    const mark = await store.revision();
    const { storeId, revision } = follower.state();
    const isSame = mark.storeId === storeId && mark.revision === revision;
    if (!isSame || !isSound(follower.status())) await follower.refresh();
    // What the follower could not find out, the store itself must say, or why it cannot.
    return isSound(follower.status()) ? follower.state() : store.read();
  });
  return {
    async read() {
      const state = await reading.next();
      if (state.storeId !== undefined) return state;
      if (follower.state().storeId !== undefined) {
        void follower.refresh();
        throw new StoreUnavailable('unreachable', 'the state store was emptied; its documents are being written back');
      }
      verdict.meet();
      while (!verdict.isDecided()) await setTimeout(verdictPollMs);
      if (verdict.isLost()) throw new StoreUnavailable('unreachable', 'the state store was emptied');
      return state;
    },
    async commit(commit) {
      const result = await follower.commit(commit).catch((error: unknown) => {
        throw inDoubt(error);
      });
      await follower.kept();
      return result;
    },
  };
}

/** Whether what is in force is what the store said when it was asked last. */
function isSound({ source, isUp, isEmptied }: StateStatus): boolean {
  return source === 'store' && isUp && !isEmptied;
}

/** Only a store that gave no answer may have done what it was asked. */
function inDoubt(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable) || !['timeout', 'unreachable', 'garbled'].includes(error.reason))
    return error;
  return new WriteInDoubt(error.reason, error.message, error.cause);
}
