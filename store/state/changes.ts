// What has changed since a revision, made of the changes that a store remembers. Pure.
import { inOrder } from '../../domain/documents/order.ts';
import { placeOf } from './lineage.ts';
import type { Document, DocumentKey, PastChange, SkippedDocument, StateChanges, StorePosition } from './state-store.ts';

/** A change, and all documents that it wrote or deleted. */
export interface NamedChange {
  readonly revision: number;
  readonly past: PastChange;
  readonly names: readonly DocumentKey[];
}

/** What lies in the store now under the names of changes. */
export interface FoundDocuments {
  readonly documents: readonly Document[];
  readonly skipped: readonly SkippedDocument[];
}

/** `changes` in the order in which they led to `position`; what they name and is not found is deleted. */
export function changesOf(
  position: StorePosition & { readonly storeId: string },
  changes: readonly NamedChange[],
  { documents, skipped }: FoundDocuments,
): StateChanges {
  const kinds = new Map<string, number>();
  const deleted = new Map<string, DocumentKey>();
  for (const { revision, names } of changes) {
    for (const key of names) {
      kinds.set(key.kind, revision);
      deleted.set(placeOf(key), key);
    }
  }
  for (const key of [...documents, ...skipped]) deleted.delete(placeOf(key));
  return {
    ...position,
    kinds,
    documents: documents.toSorted(inOrder),
    deleted: [...deleted.values()],
    skipped,
    past: new Map(changes.map(({ revision, past }) => [revision, past])),
  };
}
