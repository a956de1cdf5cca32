// A state after changes, worked out instead of read again: only what was changed is new. Pure.
import { changedList, inOrder } from '../../domain/documents/order.ts';
import { changesOf } from './changes.ts';
import { pastAfter, placeOf } from './lineage.ts';
import type { Change, Commit, CommitResult, Document, StateChanges, StoredState } from './state-store.ts';

/**
 * `before` after a commit that was decided on it; undefined when something else has changed too. `asRead` gives a document as the
 * store gives it after a change that led to this revision.
 */
export function stateAfter(
  before: StoredState,
  { storeId, changes }: Commit,
  { revision, mark, conflict }: CommitResult,
  asRead: (change: Change, revision: number) => Document,
): StoredState | undefined {
  if (conflict === true || storeId === null) return undefined;
  if (storeId !== before.storeId || revision !== before.revision + 1) return undefined;
  const last = new Map(changes.map((change) => [placeOf(change), change]));
  const documents = [...last.values()].flatMap((change) => (change.body === undefined ? [] : asRead(change, revision)));
  const deleted = changes.filter(({ body }) => body === undefined).map(({ kind, id }) => ({ kind, id }));
  const past = { marks: mark === undefined ? [] : [mark], deleted };
  const found = { documents, skipped: [] };
  const changed = changesOf({ storeId, revision, mark }, [{ revision, past, names: changes }], found);
  return changedState(before, mark === undefined ? { ...changed, past: new Map() } : changed);
}

/** `state` after what has changed since it was read. */
export function changedState(state: StoredState, changes: StateChanges): StoredState {
  const { storeId, revision, mark, kinds, documents, deleted, skipped, past } = changes;
  const gone = [...deleted, ...skipped];
  return {
    ...state,
    storeId,
    revision,
    mark,
    kinds: new Map([...state.kinds, ...kinds]),
    documents: changedList(state.documents, gone, documents),
    skipped: changedList(state.skipped, [...deleted, ...documents], skipped.toSorted(inOrder)),
    ...(past.size === 0 ? {} : { past: pastAfter(state.past, revision, past) }),
  };
}
