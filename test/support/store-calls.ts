// The state store as its own tests use it: one document at a time, by id.
import type { StateStore } from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';

export async function change(store: StateStore, id: string, body: unknown = id): Promise<void> {
  await store.commit({ expected: new Map(), changes: [{ kind: 'rule', id, body }] });
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
