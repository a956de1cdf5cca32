// The description of one kind of managed documents, and how its documents are read and written.
import { joined, sameParts } from '../sorted-list.ts';
import { byId, placesOf } from './order.ts';

/** The part of a stored document that reading needs; the body is JSON. */
export interface StoredDocument {
  readonly kind: string;
  readonly id: string;
  readonly body: unknown;
}

/** One row of the registry in `kinds.ts`. */
export interface ManagedKind<Value> {
  /** Its name in the state store. Older versions use it too, so it never changes. */
  readonly kind: string;
  /** The name of a document in a sentence: `rule "provider 60 openai"`. */
  noun(id: string): string;
  /** The end of that sentence when the document cannot be read. */
  readonly consequence: string;
  /** The value of a document; undefined when the document is invalid. Never throws, for any stored body. */
  read(id: string, body: unknown): Value | undefined;
  /** The inverse of `read`. */
  write(value: Value): object;
}

/** `read`, once for each body: a body is never changed, and most documents are the same at the next read. */
export function readOnce<Value>(read: ManagedKind<Value>['read']): ManagedKind<Value>['read'] {
  const before = new WeakMap<object, { readonly id: string; readonly value: Value | undefined }>();
  return (id, body) => {
    if (typeof body !== 'object' || body === null) return read(id, body);
    const known = before.get(body);
    if (known?.id === id) return known.value;
    const value = read(id, body);
    before.set(body, { id, value });
    return value;
  };
}

/** The documents of one kind. */
export interface Reading<Value> {
  /** In stored order. */
  readonly values: readonly Value[];
  /** The ids of documents that cannot be read. */
  readonly unreadable: readonly string[];
}

/**
 * Reads the documents of one kind. `skipped`: documents that the store could not read or whose seal is wrong; they count as unreadable.
 */
export function readKind<Value>(
  managed: Pick<ManagedKind<Value>, 'kind' | 'read'>,
  documents: Iterable<StoredDocument>,
  skipped: Iterable<Pick<StoredDocument, 'kind' | 'id'>> = [],
): Reading<Value> {
  const values: Value[] = [];
  const unreadable: string[] = [];
  for (const { kind, id, body } of documents) {
    if (kind !== managed.kind) continue;
    const value = managed.read(id, body);
    if (value === undefined) unreadable.push(id);
    else values.push(value);
  }
  for (const { kind, id } of skipped) if (kind === managed.kind) unreadable.push(id);
  return { values, unreadable };
}

/** The documents of one kind, and their values, at the same places: undefined where one cannot be read. */
export interface KindReading<Value> extends Reading<Value> {
  readonly documents: readonly StoredDocument[];
  readonly read: readonly (Value | undefined)[];
}

/**
 * Reads the documents of one kind among sorted ones. Documents that are the same objects as in `before` are not read again; when all are,
 * the result is `before`.
 */
export function readAgain<Value>(
  managed: ManagedKind<Value>,
  all: readonly StoredDocument[],
  before: KindReading<Value> = noDocuments,
): KindReading<Value> {
  const documents = all.slice(...placesOf(all, managed.kind));
  const parts = sameParts(before.documents, documents, byId);
  if (parts[0]?.count === documents.length && documents.length === before.documents.length) return before;
  const lists: (readonly (Value | undefined)[])[] = [];
  let next = 0;
  for (const { at, place, count } of parts) {
    lists.push(documents.slice(next, place).map(({ id, body }) => managed.read(id, body)));
    lists.push(before.read.slice(at, at + count));
    next = place + count;
  }
  const read = joined(lists);
  if (!read.includes(undefined)) return { documents, read, values: read as readonly Value[], unreadable: [] };
  const unreadable = documents.filter((_, index) => read[index] === undefined).map(({ id }) => id);
  return { documents, read, values: read.filter((value) => value !== undefined), unreadable };
}

const noDocuments: KindReading<never> = { documents: [], read: [], values: [], unreadable: [] };

/** The change that stores a value. */
export function written<Value>(managed: ManagedKind<Value>, id: string, value: Value): StoredDocument {
  return { kind: managed.kind, id, body: managed.write(value) };
}

/** The change that removes a document. */
export function removed({ kind }: Pick<ManagedKind<unknown>, 'kind'>, id: string): StoredDocument {
  return { kind, id, body: undefined };
}
