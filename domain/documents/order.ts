// Stored documents are sorted by kind, then by id: so one is found among many, and a changed list is made and compared, by what changed.

import { changedOrder, firstNot } from '../sorted-list.ts';

/** The name of a document. */
export interface Named {
  readonly kind: string;
  readonly id: string;
}

/** For `sort`, as a state store gives them. */
export function inOrder(one: Named, other: Named): number {
  if (one.kind !== other.kind) return one.kind < other.kind ? -1 : 1;
  return byId(one, other);
}

/** For `sort`, within a kind. */
export function byId(one: Pick<Named, 'id'>, other: Pick<Named, 'id'>): number {
  return one.id < other.id ? -1 : Number(one.id > other.id);
}

/** The place of the first entry of a sorted list that does not come before `key`. */
export function placeIn(sorted: readonly Named[], key: Named): number {
  return firstNot((at) => inOrder(sorted[at] as Named, key) < 0, 0, sorted.length);
}

/** The entry with this name; undefined: there is none. */
export function entryIn<Entry extends Named>(sorted: readonly Entry[], key: Named): Entry | undefined {
  const found = sorted[placeIn(sorted, key)];
  return found !== undefined && inOrder(found, key) === 0 ? found : undefined;
}

/** The places of the entries of a kind: from the first on, up to the one behind the last. */
export function placesOf(sorted: readonly Named[], kind: string): readonly [from: number, to: number] {
  // No text comes between a text and itself with one more character that is the lowest.
  return [placeIn(sorted, { kind, id: '' }), placeIn(sorted, { kind: `${kind}\0`, id: '' })];
}

/** A sorted list without the entries of the names in `gone`, and with those of `come`, each in the place of one of its name. */
export function changedList<Entry extends Named>(
  sorted: readonly Entry[],
  gone: readonly Named[],
  come: readonly Entry[],
): readonly Entry[] {
  return changedOrder<Entry, Named>(sorted, [...gone, ...come], come, inOrder);
}
