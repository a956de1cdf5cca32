// Whether a store goes on from a state that was seen before. A store that went back is behind it, whatever number it has reached since.
import { type DocumentKey, mostPast, type PastChange, type StoredState, type StorePosition } from './state-store.ts';

type Past = ReadonlyMap<number, PastChange>;

const noPast: Past = new Map();

/** The map key of a document; both texts are free. */
export function placeOf({ kind, id }: DocumentKey): string {
  return `${kind}\n${id}`;
}

/**
 * Whether `state` is what `seen` was or came of it. Both are of the same store. By numbers and marks; beyond the changes that the
 * store remembers there is no proof, and then it does.
 */
export function includes({ revision, mark, past = noPast }: StoredState, seen: StorePosition): boolean {
  if (revision < seen.revision) return false;
  if (seen.mark === undefined) return true;
  if (revision === seen.revision) return mark === undefined || mark === seen.mark;
  const known = past.get(seen.revision);
  if (known !== undefined) return known.marks.includes(seen.mark);
  return firstOf(past) > seen.revision;
}

/**
 * Whether `state` goes on from the whole state `seen`. What the marks cannot say any more the documents say: none goes back to an
 * earlier revision, none comes back after it was deleted, and none is gone without a change of its kind.
 */
export function goesOnFrom(state: StoredState, seen: StoredState): boolean {
  if (!includes(state, seen)) return false;
  if (seen.mark !== undefined && state.past?.has(seen.revision) === true) return true;
  const written = new Map(state.documents.map((document) => [placeOf(document), document.revision]));
  for (const key of state.skipped) written.set(placeOf(key), Number.POSITIVE_INFINITY);
  const isKept = seen.documents.every(({ kind, id, revision }) => {
    const now = written.get(placeOf({ kind, id })) ?? state.kinds.get(kind) ?? 0;
    return now >= revision;
  });
  return (
    isKept && [...deletionsOf(seen.past)].every(([place, revision]) => (written.get(place) ?? revision) >= revision)
  );
}

/** The last revision that both have come through; 0: none is known, as of a store that was emptied. */
export function commonRevision(seen: StoredState, stored: StoredState): number {
  if (stored.storeId !== seen.storeId) return 0;
  const [ours, theirs] = [seen.past ?? noPast, stored.past ?? noPast];
  let common = 0;
  for (const [revision, { marks }] of ours) {
    const isShared = theirs.get(revision)?.marks.some((mark) => marks.includes(mark)) === true;
    if (isShared && revision > common) common = revision;
  }
  if (common > 0) return common;
  // Nothing of what one remembers is remembered by the other: the store is an old state, and not one that went on by itself.
  const isOlder = stored.revision < seen.revision && stored.revision < firstOf(ours);
  return isOlder ? stored.revision : 0;
}

/** The deletions among changes: place of the document → the revision of the last one. */
export function deletionsOf(past: Past = noPast): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const [revision, { deleted }] of past) {
    for (const key of deleted) found.set(placeOf(key), Math.max(revision, found.get(placeOf(key)) ?? 0));
  }
  return found;
}

/** The past after more changes, as of `revision`. */
export function pastAfter(past: Past = noPast, revision: number, changes: Past): Past {
  return newest(new Map([...past, ...changes]), revision);
}

/** The past of two lines of changes together, as of `revision`. */
export function joinedPast(one: Past = noPast, other: Past = noPast, revision: number): Past {
  const joined = new Map(one);
  for (const [number, { marks, deleted }] of other) {
    const known = joined.get(number);
    joined.set(number, {
      marks: [...new Set([...(known?.marks ?? []), ...marks])],
      deleted: [...(known?.deleted ?? []), ...deleted.filter((key) => !known?.deleted.some(isSameAs(key)))],
    });
  }
  return newest(joined, revision);
}

function isSameAs(key: DocumentKey): (other: DocumentKey) => boolean {
  return (other) => placeOf(other) === placeOf(key);
}

function newest(past: Past, revision: number): Past {
  const kept = [...past].filter(([number]) => number > revision - mostPast);
  return new Map(kept.sort(([a], [b]) => a - b));
}

/** The lowest revision that is remembered; Infinity: none. */
function firstOf(past: Past): number {
  let first = Number.POSITIVE_INFINITY;
  for (const revision of past.keys()) first = Math.min(first, revision);
  return first;
}
