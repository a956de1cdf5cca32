// Reads the managed documents for an answer; while the store cannot be read, the documents in force in this process.
import type { StoredState } from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import type { DocumentStore } from './commit.ts';

/** A state to answer with. */
export interface Known {
  readonly state: StoredState;
  /** The store cannot be read: the state is the one in force here, and another plane may have changed it since. */
  readonly isStale: boolean;
}

/** Rejects with `StoreUnavailable` when the store cannot be read and nothing of it is in force. */
export async function readStored(store: Pick<DocumentStore, 'read' | 'inForce'>): Promise<Known> {
  return store.read().then(
    (state) => ({ state, isStale: false }),
    (error: unknown) => {
      const state = error instanceof StoreUnavailable ? store.inForce?.() : undefined;
      if (state === undefined) throw error;
      return { state, isStale: true };
    },
  );
}

/** The result of `ask`; undefined when the store does not answer. Rejects with any other error. */
export async function unlessUnavailable<Answer>(ask: Promise<Answer>): Promise<Answer | undefined> {
  return ask.catch((error: unknown) => {
    if (error instanceof StoreUnavailable) return undefined;
    throw error;
  });
}

/** The header that marks an answer that was not read from the store. */
export function staleHeader(isStale: boolean): Record<string, string> {
  return isStale ? { 'x-gateway-stale': 'true' } : {};
}
