// Writes managed documents by compare-and-set, and decides again after a conflict. All writes of operators use it.
import { setTimeout } from 'node:timers/promises';
import type { ManagedKind } from '../../domain/documents/managed-kind.ts';
import { changedList } from '../../domain/documents/order.ts';
import { placeOf } from '../../store/state/lineage.ts';
import { type Change, isSamePosition, type StateStore, type StoredState } from '../../store/state/state-store.ts';
import { refusal } from '../errors.ts';

/** The part of the state store that managed documents need. */
export interface DocumentStore extends Pick<StateStore, 'read' | 'commit'> {
  /** The state in force in this process, to answer with while the store cannot be read; undefined when nothing is in force. */
  inForce?(): StoredState | undefined;
}

/** The part of a state that answers are made of. */
export type KnownState = Pick<StoredState, 'documents' | 'kinds' | 'skipped'>;

/** The decision on a state; without changes nothing is written. */
export interface Decided {
  readonly changes: readonly Change[];
}

/** The stored decision, and a state that has it. */
export interface Committed<Decision> {
  readonly decision: Decision;
  readonly state: KnownState;
  /** The revision of the store after the write. */
  readonly revision: number;
}

export type Committer = <Decision extends Decided>(
  decide: (state: StoredState) => Decision,
) => Promise<Committed<Decision>>;

/** Attempts until a write fails with a conflict. Each conflict means that another control plane has written. */
const mostAttempts = 50;
/** After a conflict each plane waits a random time of at most this long, so that two planes do not conflict again. Milliseconds. */
const longestWaitMs = 20;

/**
 * Commits of one process run one after the other, so that only other control planes cause conflicts. Each decides on the stored state of
 * that moment; the documents of `kinds` must not change until the commit. Rejects with refusals and `StoreUnavailable`.
 */
export function createCommitter(store: DocumentStore, kinds: readonly ManagedKind<unknown>[]): Committer {
  let last: Promise<unknown> = Promise.resolve();
  return (decide) => {
    const turn = last.then(() => commit(store, kinds, decide));
    last = turn.catch(() => undefined);
    return turn;
  };
}

async function commit<Decision extends Decided>(
  store: DocumentStore,
  kinds: readonly ManagedKind<unknown>[],
  decide: (state: StoredState) => Decision,
): Promise<Committed<Decision>> {
  for (let attempt = 0; attempt < mostAttempts; attempt += 1) {
    const state = await store.read();
    const decision = decide(state);
    const { changes } = decision;
    if (changes.length === 0) return { decision, state, revision: state.revision };
    const expected = expectedOf(state, kinds);
    // Of a store that has lost everything, nothing expected would be nothing found.
    const result = await store.commit({ storeId: state.storeId ?? null, expected, changes });
    if (!result.conflict) {
      const { revision, mark } = result;
      const inForce = store.inForce?.();
      // A later one is the work of another control plane, which this answer does not show.
      const isThere = inForce !== undefined && isSamePosition(inForce, { storeId: state.storeId, revision, mark });
      return { decision, state: isThere ? inForce : stateAfter(state, changes, revision), revision };
    }
    await setTimeout(Math.random() * longestWaitMs);
  }
  throw refusal('write_conflict');
}

/** The revisions that must not have changed at the commit. */
export function expectedOf(
  { kinds: revisions }: Pick<StoredState, 'kinds'>,
  kinds: readonly ManagedKind<unknown>[],
): ReadonlyMap<string, number> {
  return new Map(kinds.map(({ kind }) => [kind, revisions.get(kind) ?? 0]));
}

/** The documents after a successful commit of `changes`. */
function stateAfter(state: StoredState, changes: readonly Change[], revision: number): KnownState {
  const kinds = new Map([...state.kinds, ...changes.map(({ kind }) => [kind, revision] as const)]);
  const last = new Map(changes.map((change) => [placeOf(change), change]));
  const written = [...last.values()].filter(({ body }) => body !== undefined);
  const documents = changedList(
    state.documents,
    changes,
    written.map((change) => ({ ...change, revision })),
  );
  return { kinds, documents, skipped: changedList(state.skipped, changes, []) };
}
