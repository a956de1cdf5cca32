// The state that a deliberate restore puts into the store: an older one, in force as another store, with the resets of now.
import { randomUUID } from 'node:crypto';
import { budgetResets, configRollouts, managedCacheResets, resets } from '../../domain/documents/kinds.ts';
import { placeOf } from './lineage.ts';
import { furtherReset, reseededKind } from './merge-states.ts';
import { type Document, newMark, type StoredState } from './state-store.ts';

const resetKinds: ReadonlySet<string> = new Set([resets, budgetResets, managedCacheResets].map(({ kind }) => kind));

/**
 * The documents of `source`, under a new id, so that every process takes them over instead of writing back what it has in force. Resets
 * of `current` that have come further stay: counters and answers of before a reset never count again. The rollout of the
 * configuration is never that of the source: an older one holds older files, which all proxies would put in force. Without one, the
 * control plane begins with the revision in force.
 */
export function restoredState(current: StoredState, source: StoredState): StoredState {
  const revision = Math.max(current.revision, source.revision) + 1;
  const mark = newMark();
  const documents = new Map(
    source.documents.flatMap((document) =>
      document.kind === configRollouts.kind ? [] : [[placeOf(document), document]],
    ),
  );
  for (const own of current.documents) {
    if (own.kind === configRollouts.kind && source !== current) documents.set(placeOf(own), own);
    if (!resetKinds.has(own.kind)) continue;
    const other = documents.get(placeOf(own));
    documents.set(placeOf(own), other === undefined ? own : furtherReset(own, other));
  }
  const kinds = new Set([...current.kinds.keys(), ...source.kinds.keys(), reseededKind]);
  return {
    storeId: randomUUID(),
    revision,
    mark,
    kinds: new Map([...kinds].map((kind) => [kind, revision])),
    documents: [...documents.values()].map((document) => ({ ...document, revision })),
    skipped: [],
    past: new Map([[revision, { marks: [mark], deleted: [] }]]),
  };
}

/** The effect of a restore on a document. */
export interface Difference {
  readonly effect: 'added' | 'changed' | 'removed';
  readonly before: Document | undefined;
  readonly after: Document | undefined;
}

/** Sorted by kind, then id. */
export function differences(current: StoredState, restored: StoredState): Difference[] {
  const before = new Map(current.documents.map((document) => [placeOf(document), document]));
  const after = new Map(restored.documents.map((document) => [placeOf(document), document]));
  const found: Difference[] = [];
  for (const place of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const [old, now] = [before.get(place), after.get(place)];
    if (old === undefined) found.push({ effect: 'added', before: old, after: now });
    else if (now === undefined) found.push({ effect: 'removed', before: old, after: now });
    else if (JSON.stringify(old.body) !== JSON.stringify(now.body))
      found.push({ effect: 'changed', before: old, after: now });
  }
  return found;
}
