// What there is to know of a kind of documents that the admin API manages, and how its documents are read and written.

/** As much of a stored document as reading it needs; the body is JSON. */
export interface StoredDocument {
  readonly kind: string;
  readonly id: string;
  readonly body: unknown;
}

/** One row of the registry in `kinds.ts`. */
export interface ManagedKind<Value> {
  /** Its name in the state store; other programs and older versions know it too. */
  readonly kind: string;
  /** What a document is called in a sentence: `rule "provider 60 openai"`. */
  noun(id: string): string;
  /** What follows, in that sentence, when it cannot be read. */
  readonly consequence: string;
  /** What a document says; undefined when it is not what it should be. Never throws, whatever lies in the store. */
  read(id: string, body: unknown): Value | undefined;
  /** The body that `read` reads. */
  write(value: Value): object;
}

/** The documents of one kind. */
export interface Reading<Value> {
  /** In their order. */
  readonly values: readonly Value[];
  /** The ids of those that cannot be read. */
  readonly unreadable: readonly string[];
}

/**
 * Reads the documents of one kind and passes over the others. `skipped`: documents that the store itself could not read or believe; they
 * count as unreadable.
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
