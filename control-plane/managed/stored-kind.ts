// The documents of one kind in a state: each is found, and read, when it is asked for. So a decision costs what it looks at.

import type { ManagedKind } from '../../domain/documents/managed-kind.ts';
import { entryIn, inOrder, type Named, placesOf } from '../../domain/documents/order.ts';
import { differences } from '../../domain/sorted-list.ts';
import type { Document, StoredState } from '../../store/state/state-store.ts';

/** A state of the documents; both lists are sorted by kind, then id. */
export type KindState = Pick<StoredState, 'documents'> & Partial<Pick<StoredState, 'skipped'>>;

export interface StoredKind<Value> {
  /** How many documents there are, readable or not. */
  readonly count: number;
  /** Whether there is a document with this id, readable or not. */
  readonly has: (id: string) => boolean;
  /** The document with this id; undefined: there is none, or it cannot be read. */
  readonly get: (id: string) => Value | undefined;
  /** Whether there is a document with this id that cannot be read. */
  readonly isUnreadable: (id: string) => boolean;
  /** The ids of all documents, readable or not. */
  readonly ids: () => string[];
  /** All that can be read, by id. */
  readonly all: () => ReadonlyMap<string, Value>;
  /** The same as a list. */
  readonly values: () => readonly Value[];
}

export function storedKind<Value>(
  managed: Pick<ManagedKind<Value>, 'kind' | 'read'>,
  { documents, skipped = [] }: KindState,
): StoredKind<Value> {
  const { kind } = managed;
  const [from, to] = placesOf(documents, kind);
  const [skippedFrom, skippedTo] = placesOf(skipped, kind);
  const get = (id: string): Value | undefined => {
    const document = entryIn(documents, { kind, id });
    return document && managed.read(id, document.body);
  };
  const has = (id: string): boolean => entryIn<Named>(documents, { kind, id }) !== undefined || isSkipped(id);
  const isSkipped = (id: string): boolean => entryIn<Named>(skipped, { kind, id }) !== undefined;
  return {
    count: to - from + skippedTo - skippedFrom,
    has,
    get,
    isUnreadable: (id) => isSkipped(id) || (has(id) && get(id) === undefined),
    ids: () => [...documents.slice(from, to), ...skipped.slice(skippedFrom, skippedTo)].map(({ id }) => id),
    all,
    values: () => [...all().values()],
  };

  function all(): ReadonlyMap<string, Value> {
    const found = new Map<string, Value>();
    for (const { id, body } of documents.slice(from, to)) {
      const value = managed.read(id, body);
      if (value !== undefined) found.set(id, value);
    }
    return found;
  }
}

/** What differs of a kind between two states. */
export interface KindChanges<Value> {
  /** Of the state before, what is not there any more, or not the same. */
  readonly gone: readonly Value[];
  readonly come: readonly Value[];
}

/** Only documents that differ are read, those that cannot be read are left out. */
export function changesOf<Value>(
  managed: Pick<ManagedKind<Value>, 'kind' | 'read'>,
  before: readonly Document[],
  after: readonly Document[],
): KindChanges<Value> {
  const { gone, come } = differences(before, after, inOrder);
  const read = (documents: readonly Document[]): Value[] => {
    const own = documents.filter(({ kind }) => kind === managed.kind);
    return own.flatMap(({ id, body }) => managed.read(id, body) ?? []);
  };
  return { gone: read(gone), come: read(come) };
}

/** The kinds of which some document differs. */
export function changedKinds(before: readonly Document[], after: readonly Document[]): ReadonlySet<string> {
  const { gone, come } = differences(before, after, inOrder);
  return new Set([...gone, ...come].map(({ kind }) => kind));
}
