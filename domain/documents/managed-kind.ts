// The description of one kind of managed documents, and how its documents are read and written.

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

/** The change that stores a value. */
export function written<Value>(managed: ManagedKind<Value>, id: string, value: Value): StoredDocument {
  return { kind: managed.kind, id, body: managed.write(value) };
}

/** The change that removes a document. */
export function removed({ kind }: Pick<ManagedKind<unknown>, 'kind'>, id: string): StoredDocument {
  return { kind, id, body: undefined };
}
