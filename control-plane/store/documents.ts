// The managed documents as the admin API reads and writes them. It refuses on a store that has lost them.
import { setTimeout } from 'node:timers/promises';
import { entryIn } from '../../domain/documents/order.ts';
import { singleFlight } from '../../store/single-flight.ts';
import { hasLost, isEmptied } from '../../store/state/custody.ts';
import { heartbeatLifeMs } from '../../store/state/heartbeat-body.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import type { StateStatus } from '../../store/state/state-status.ts';
import {
  type Commit,
  type DocumentKey,
  isSamePosition,
  type StateStore,
  type StoredState,
} from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';

/** How often it is asked whether the standing of a store without an id is known by now, in milliseconds, and how many times. */
const standingPollMs = 50;
const mostPolls = (2 * heartbeatLifeMs) / standingPollMs;

/** The error of a commit that may have been done all the same. */
export class WriteInDoubt extends StoreUnavailable {}

/**
 * A store that drops keys by itself gets no new documents. Reads and writes as the table in `custody.ts` says: of a store that has lost its documents, reading rejects with StoreUnavailable;
 * of one that may have lost them, it waits until that is known. A commit that was decided on documents that are gone since then finds
 * a conflict. What was committed is in force here when it resolves, and as a rule copied. The documents in force are what is read, as
 * long as the store says that it stands where they do: however many there are, reading costs one look at the revision. Reads at the
 * same time are shared. `inForce` gives what this process has in force also while the store cannot be read; undefined when it has nothing,
 * or when proxies know more.
 */
export function guardDocuments(
  store: Pick<StateStore, 'read' | 'revision'>,
  follower: Pick<StateFollower, 'state' | 'status' | 'refresh' | 'commit' | 'kept'>,
): Pick<StateStore, 'read' | 'commit'> & { inForce(): StoredState | undefined } {
  const reading = singleFlight(async () => {
    const position = await store.revision();
    if (!isSamePosition(position, follower.state()) || !isSound(follower.status())) await follower.refresh();
    // The store itself answers for a follower that is not sound, or gives the reason why it cannot.
    return isSound(follower.status()) ? follower.state() : store.read();
  });
  return {
    async read() {
      for (let poll = 0; poll < mostPolls; poll += 1) {
        const state = await reading.next();
        const { standing } = follower.status();
        if (standing === 'behind')
          throw new StoreUnavailable('unreachable', 'the state store went back to an older state');
        if (state.storeId !== undefined || standing === 'new') return state;
        if (isEmptied(standing)) throw new StoreUnavailable('unreachable', 'the state store was emptied');
        await setTimeout(standingPollMs);
      }
      throw new StoreUnavailable('timeout', 'whether the state store is new or was emptied could not be found out');
    },
    inForce() {
      const { source, standing } = follower.status();
      return source === 'nothing' || standing === 'lost' ? undefined : follower.state();
    },
    async commit(commit) {
      if (follower.status().evicts !== undefined && addsTo(follower.state(), commit)) {
        throw new StoreUnavailable('evicts', 'the state store may drop keys by itself, so it gets no new documents');
      }
      const result = await follower.commit(commit).catch((error: unknown) => {
        throw inDoubt(error);
      });
      await follower.kept();
      return result;
    },
  };
}

/** Whether a document is new. What is there may be changed and removed in any store: a key can be revoked. */
function addsTo({ documents }: StoredState, { changes }: Commit): boolean {
  return changes.some((change) => change.body !== undefined && entryIn<DocumentKey>(documents, change) === undefined);
}

/** Whether what is in force is what the store said when it was asked last. */
function isSound({ source, isUp, standing }: StateStatus): boolean {
  return source === 'store' && isUp && !hasLost(standing);
}

/** Only a store that gave no answer may have done what it was asked. */
function inDoubt(error: unknown): unknown {
  if (
    !(error instanceof StoreUnavailable) ||
    !['timeout', 'unreachable', 'garbled', 'unreplicated'].includes(error.reason)
  )
    return error;
  return new WriteInDoubt(error.reason, error.message, error.cause);
}
