// After a change of the master key, or the first start with seals: stored documents are written again, so that they carry its seal.

import { inOrder } from '../../domain/documents/order.ts';
import { differences } from '../../domain/sorted-list.ts';
import type { Log } from '../../plane/log-events.ts';
import { singleFlight } from '../../store/single-flight.ts';
import type { SealedStore } from '../../store/state/sealed-store.ts';
import type { Document, StateStore, StoredState } from '../../store/state/state-store.ts';

/** One commit takes so many documents or so many characters of them at most: it holds up the store and every reader. */
const mostDocuments = 500;
const mostCharacters = 1_048_576;

export interface Resealing {
  readonly store: Pick<StateStore, 'read' | 'commit'>;
  readonly seals: Pick<SealedStore, 'stopAdopting' | 'awaitedMark'>;
  readonly state: () => StoredState;
  readonly log: Pick<Log, 'warn'>;
}

export interface Resealer {
  /** The master key is another one now. */
  renewed(): void;
  /** Seals nothing more. */
  close(): void;
}

/** Time between two checks. Milliseconds. */
const checkMs = 1_000;

/**
 * Checks every second whether a document in force, as `state` gives it, must be sealed, and seals it. The first check that the store
 * answers is the last that takes over documents without a seal. While a live proxy works with a former master key, nothing is sealed
 * anew, because what was sealed anew would not be in force there.
 */
export function resealOutdated({ store, seals, state, log }: Resealing): Resealer {
  let hasChecked = false;
  let isWaiting = false;
  /** The last documents of which none was outdated. */
  let current: readonly Document[] = [];

  async function check(): Promise<void> {
    const isAwaited = seals.awaitedMark() !== undefined;
    if (isAwaited && !isWaiting) {
      log.warn(
        'documents keep the seal of the previous master key until no live proxy works with it: /admin/status says which proxies do',
      );
    }
    isWaiting = isAwaited;
    if (isAwaited) return;
    const count = await resealDocuments(store, seals).catch(() => undefined);
    hasChecked ||= count !== undefined;
    if (count === undefined || count === 0) return;
    log.warn(
      { documents: count },
      'stored documents were sealed with GATEWAY_MASTER_KEY: GATEWAY_PREVIOUS_MASTER_KEY and GATEWAY_ADOPT_UNSIGNED are not needed any more',
    );
  }

  const checking = singleFlight(check);
  const timer = setInterval(() => {
    const { documents } = state();
    const isSome = differences(current, documents, inOrder).come.some(({ isOutdated }) => isOutdated === true);
    if (!isSome) current = documents;
    if (isSome || !hasChecked) void checking.join();
  }, checkMs);
  return {
    renewed() {
      hasChecked = false;
    },
    close: () => clearInterval(timer),
  };
}

/**
 * Seals every document that is in force without a seal of the master key. Gives how many; undefined when another
 * writer was first: then there is more to do. Rejects with `StoreUnavailable`. Once all are sealed, no document without a seal is taken over.
 */
async function resealDocuments(
  store: Pick<StateStore, 'read' | 'commit'>,
  seals: Pick<SealedStore, 'stopAdopting'>,
): Promise<number | undefined> {
  const { storeId = null, kinds, documents } = await store.read();
  const expected = new Map(documents.map(({ kind }) => [kind, kinds.get(kind) ?? 0]));
  const outdated = documents.filter(({ isOutdated }) => isOutdated === true);
  for (let first = 0; first < outdated.length; ) {
    const portion = portionOf(outdated, first);
    const changes = portion.map(({ kind, id, body }) => ({ kind, id, body }));
    const result = await store.commit({ storeId, expected, changes });
    if (result.conflict) return undefined;
    for (const { kind } of portion) expected.set(kind, result.revision);
    first += portion.length;
  }
  seals.stopAdopting();
  return outdated.length;
}

/** At least one. */
function portionOf(documents: readonly Document[], first: number): readonly Document[] {
  let characters = 0;
  let end = first;
  while (end < documents.length && end - first < mostDocuments && characters < mostCharacters) {
    characters += JSON.stringify(documents[end]?.body).length;
    end += 1;
  }
  return documents.slice(first, end);
}
