// Calls of the state store for its tests: one document at a time, by id.
import type { Commit, CommitResult, StateStore } from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';

export async function change(store: StateStore, id: string, body: unknown = id): Promise<void> {
  await commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'rule', id, body }] });
}

type Writable = Pick<StateStore, 'commit' | 'revision'>;

/** The id that each store had at the last commit. */
const knownIds = new WeakMap<Writable, string | null>();

/** A commit to the store as it is, whatever id it has: the id is asked for only when it is another one than at the last commit. */
export async function commitAnyhow(store: Writable, commit: Omit<Commit, 'storeId'>): Promise<CommitResult> {
  for (;;) {
    const storeId = knownIds.get(store) ?? null;
    const result = await store.commit({ ...commit, storeId });
    if (!result.conflict) {
      // It has been given an id. A store that was closed meanwhile needs none.
      if (storeId === null) knownIds.set(store, (await store.revision().catch(() => undefined))?.storeId ?? null);
      return result;
    }
    const { storeId: found = null } = await store.revision();
    if (found === storeId) return result;
    knownIds.set(store, found);
  }
}

export async function ids(store: StateStore): Promise<string[]> {
  return (await store.read()).documents.map(({ id }) => id);
}

/** Why the store was not there for it. Throws when it was, and when it was something else. */
export async function refusal(asked: Promise<unknown>): Promise<StoreUnavailable> {
  const error: unknown = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof StoreUnavailable)) throw new Error('it was not refused', { cause: error });
  return error;
}

/** Whether it succeeds. */
export function worked(work: () => Promise<unknown>): Promise<boolean> {
  return work().then(
    () => true,
    () => false,
  );
}
