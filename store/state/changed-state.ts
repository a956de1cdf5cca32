// A state after a commit, worked out instead of read again: only what was changed is new. Pure.
import { pastAfter, placeOf } from './lineage.ts';
import type { Change, Commit, CommitResult, Document, DocumentKey, StoredState, StorePosition } from './state-store.ts';

/** The change of a document by a commit; undefined: it was deleted. */
interface Changed extends DocumentKey {
  readonly document: Document | undefined;
}

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
  const changed = changes.map((change): Changed => {
    const { kind, id, body } = change;
    return { kind, id, document: body === undefined ? undefined : asRead(change, revision) };
  });
  return changedState(before, changed, { storeId, revision, mark });
}

/** `state` after these changes in this order, which led to `position`. */
function changedState(state: StoredState, changes: readonly Changed[], position: StorePosition): StoredState {
  const { revision, mark } = position;
  const kinds = new Map(state.kinds);
  const last = new Map<string, Changed>();
  for (const change of changes) {
    kinds.set(change.kind, revision);
    last.set(placeOf(change), change);
  }
  const isKept = (key: DocumentKey): boolean => !last.has(placeOf(key));
  const written = [...last.values()].flatMap(({ document }) => document ?? []);
  const documents = [...state.documents.filter(isKept), ...written].sort(inOrder);
  const after = { ...state, ...position, kinds, documents, skipped: state.skipped.filter(isKept) };
  if (mark === undefined) return after;
  const deleted = changes.filter(({ document }) => document === undefined).map(({ kind, id }) => ({ kind, id }));
  return { ...after, past: pastAfter(state.past, revision, { marks: [mark], deleted }) };
}

/** As a store gives them: by kind, then by id. */
function inOrder(one: DocumentKey, other: DocumentKey): number {
  if (one.kind !== other.kind) return one.kind < other.kind ? -1 : 1;
  return one.id < other.id ? -1 : Number(one.id > other.id);
}
