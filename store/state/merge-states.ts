// The state that is written back into a store that went back: the state in force here, with the changes that the store got since it went back.
import { budgetResets, managedCacheResets, managedKeys, resets } from '../../domain/documents/kinds.ts';
import { commonRevision, deletionsOf, joinedPast, placeOf } from './lineage.ts';
import { type Document, newMark, type StoredState } from './state-store.ts';

/** A kind whose revision is raised whenever a store was given its documents back: counters were lost then. */
export const reseededKind = 'store_reseeded';

/**
 * `seen`, the state in force, and `stored`, what the store says, as one state with the id of `seen`. Both changed since the last revision
 * that they have in common: what only one changed counts, what both changed counts as the store says it, because that is later. But a
 * key that either has revoked or deleted stays so, and no reset goes back. Every kind counts as changed.
 */
export function mergedStates(seen: StoredState, stored: StoredState): StoredState {
  const common = commonRevision(seen, stored);
  const revision = Math.max(seen.revision, stored.revision) + 1;
  const [ours, theirs] = [byPlace(seen), byPlace(stored)];
  const [goneHere, goneThere] = [deletionsOf(seen.past), deletionsOf(stored.past)];
  const documents: Document[] = [];
  for (const [place, own] of ours) {
    const other = theirs.get(place);
    if (other !== undefined) documents.push(other.revision > common ? chosen(own, other, common > 0) : own);
    // The store has deleted it after it went back, when it was there then, or when it says so.
    else if (own.revision > common && (goneThere.get(place) ?? 0) <= common) documents.push(own);
  }
  for (const [place, other] of theirs) {
    if (ours.has(place) || other.revision <= common) continue;
    const goneAt = goneHere.get(place) ?? 0;
    const isGone = common === 0 ? goneAt >= other.revision : other.kind === managedKeys.kind && goneAt > common;
    if (!isGone) documents.push(other);
  }
  const kinds = new Set([...seen.kinds.keys(), ...stored.kinds.keys(), reseededKind]);
  const [mark, joined] = [newMark(), joinedPast(seen.past, stored.past, revision)];
  return {
    storeId: seen.storeId,
    revision,
    mark,
    kinds: new Map([...kinds].map((kind) => [kind, revision])),
    documents,
    skipped: [],
    past: new Map([...joined, [revision, { marks: [mark], deleted: [] }]]),
  };
}

/** Of two documents that were changed apart. The later is the store's if it went on from what both know, unless the other one withholds more. */
function chosen(own: Document, other: Document, isLater: boolean): Document {
  if (isStricter(own, other)) return own;
  return isLater || other.revision >= own.revision || isStricter(other, own) ? other : own;
}

function isStricter(own: Document, other: Document): boolean {
  const { kind, id } = own;
  if (kind === managedKeys.kind) {
    return managedKeys.read(id, own.body)?.enabled === false && managedKeys.read(id, other.body)?.enabled !== false;
  }
  const [before, after] = [stepOf(own), stepOf(other)];
  return before !== undefined && (after === undefined || before > after);
}

/** The one of two resets that has come further. */
export function furtherReset(own: Document, other: Document): Document {
  return isStricter(own, other) ? own : other;
}

/** How far a reset has come: an epoch, or a moment; undefined: it is no reset. */
function stepOf({ kind, id, body }: Document): number | undefined {
  if (kind === resets.kind) return resets.read(id, body)?.epoch;
  if (kind === managedCacheResets.kind) return managedCacheResets.read(id, body)?.epoch;
  return kind === budgetResets.kind ? budgetResets.read(id, body)?.atMs : undefined;
}

function byPlace({ documents }: StoredState): ReadonlyMap<string, Document> {
  return new Map(documents.map((document) => [placeOf(document), document]));
}
