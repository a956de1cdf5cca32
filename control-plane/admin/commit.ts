// From a decision to the store: compare-and-set, again when somebody else was first. The one way managed documents are written.
import { setTimeout } from 'node:timers/promises';
import type { ManagedKind } from '../../schemas/documents/managed-kind.ts';
import type { Change, StateStore, StoredState } from '../../store/state/state-store.ts';
import { refusal } from '../errors.ts';

/** As much of the state store as managed documents need. */
export type DocumentStore = Pick<StateStore, 'read' | 'commit'>;

/** What was decided on a state; no changes: it was so already. */
export interface Decided {
  readonly changes: readonly Change[];
}

/** What was stored, and on what it was decided. */
export interface Committed<Decision> {
  readonly decision: Decision;
  readonly state: StoredState;
  /** The revision of the store with it. */
  readonly revision: number;
}

export type Committer = <Decision extends Decided>(
  decide: (state: StoredState) => Decision,
) => Promise<Committed<Decision>>;

/** Somebody else may be first again and again; each time they got something done. */
const mostAttempts = 50;
/** Two planes that write in step would meet again and again: each waits a random while of at most so many milliseconds. */
const longestWaitMs = 20;

/**
 * Commits go one after the other, so that only other control planes can be first. Each decides on what is in the store at that
 * moment, relying on the documents of these kinds. Rejects with refusals and `StoreUnavailable`.
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
    if (!result.conflict) return { decision, state, revision: result.revision };
    await setTimeout(Math.random() * longestWaitMs);
  }
  throw refusal('write_conflict');
}

/** The revisions that a commit relies on. */
export function expectedOf(
  { kinds: revisions }: Pick<StoredState, 'kinds'>,
  kinds: readonly ManagedKind<unknown>[],
): ReadonlyMap<string, number> {
  return new Map(kinds.map(({ kind }) => [kind, revisions.get(kind) ?? 0]));
}
