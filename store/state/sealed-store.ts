// A state store whose documents carry seals, made at every commit and checked at every reading: write access to the store is not enough to be an admin.
import { setImmediate } from 'node:timers/promises';
import { readDocument } from '../../domain/documents/kinds.ts';
import { prepareReading } from '../../domain/documents/prepare-reading.ts';
import { sealItems } from './sealed-items.ts';
import { isObject, type MasterKeys, type SealOptions, Seals, withSeal } from './seals.ts';
import { bodyText, type Change, type Document, type StateStore, type StoredState } from './state-store.ts';

/** Documents read at once: they hold the process up for some milliseconds. */
const readAtOnce = 200;

export interface SealedStore extends StateStore {
  /** A state that was kept elsewhere, with the seals it had: those that are not good are skipped. */
  open(state: StoredState): Promise<StoredState>;
  /** The document that `read` gives after a commit of this change led to `revision`. */
  asRead(change: Change, revision: number): Document;
  /** From now on documents count only with the seal of a key of the settings. Call it when every document is sealed. */
  stopAdopting(): void;
  /**
   * Other master keys from now on. Documents with the seal of the key before stay in force until all are sealed anew. Read again
   * afterwards: documents may be in force that were not, and should be sealed that had their seal.
   */
  renewKeys(keys: MasterKeys): void;
  /** Names the master key; see `sealMark`. Undefined without one. */
  keyMark(): string | undefined;
  /** The mark of a former key that a live proxy works with: documents are sealed with it, and not anew. */
  awaitedMark(): string | undefined;
}

/** The documents of what `read` gives are plain: seals stand beside their bodies. Those without a good one are in `skipped`. */
export function sealDocuments(store: StateStore, options: SealOptions): SealedStore {
  const seals = new Seals(options);
  /** Bodies as they were committed: which key seals may change at any time. */
  const committed = new WeakMap<Change, unknown>();
  return {
    open: opened,
    asRead(change, revision) {
      const { kind, id, body } = change;
      const sealed = committed.get(change) ?? seals.seal({ kind, id }, body);
      return seals.asRead({ kind, id, revision, body: JSON.parse(bodyText(sealed)) as unknown });
    },
    stopAdopting: () => seals.settle(),
    renewKeys: (keys) => seals.renew(keys),
    keyMark: () => seals.mark,
    awaitedMark: () => seals.awaited,
    read: async () => opened(await store.read()),
    revision: () => store.revision(),
    async changesSince(seen) {
      if (seals.isChanging) return undefined;
      const changes = await store.changesSince(seen);
      return changes && readable(await seals.openEach(changes));
    },
    commit: async (commit) => store.commit({ ...commit, changes: commit.changes.map(sealedChange) }),
    inspect: () => store.inspect(),
    initialise: () => store.initialise(),
    rewrite: (state, over) => store.rewrite({ ...state, documents: state.documents.map(resealed) }, over),
    watch: (...given) => store.watch(...given),
    loadCounters: (...given) => store.loadCounters(...given),
    writeCounters: (...given) => store.writeCounters(...given),
    writeHeartbeat: (...given) => store.writeHeartbeat(...given),
    heartbeats: (...given) => store.heartbeats(...given),
    removeHeartbeat: (...given) => store.removeHeartbeat(...given),
    uses: store.uses,
    turns: store.turns,
    kept: sealItems(store.kept, () => seals.itemKeys),
    limits: store.limits,
    close: () => store.close(),
  };

  async function opened(state: StoredState): Promise<StoredState> {
    return readable(await seals.open(state));
  }

  /** Documents are read here in portions: whoever reads them afterwards finds that it is done. */
  async function readable<Some extends Pick<StoredState, 'documents'>>(some: Some): Promise<Some> {
    await prepareReading(some.documents);
    for (let first = 0; first < some.documents.length; first += readAtOnce) {
      if (first > 0) await setImmediate();
      for (const document of some.documents.slice(first, first + readAtOnce)) readDocument(document);
    }
    return some;
  }

  function sealedChange(change: Change): Change {
    const { kind, id, body } = change;
    if (body === undefined) return { kind, id, body };
    const sealed = seals.seal({ kind, id }, body);
    committed.set(change, sealed);
    return { kind, id, body: sealed };
  }

  /** Without a key, with the seal it had. */
  function resealed({ kind, id, revision, body, seal }: Document): Document {
    const isKept = seals.mark === undefined && seal !== undefined && isObject(body);
    return { kind, id, revision, body: isKept ? withSeal(body, seal) : seals.seal({ kind, id }, body) };
  }
}
