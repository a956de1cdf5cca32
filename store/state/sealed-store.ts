// A state store whose documents carry seals, made at every commit and checked at every reading: write access to the store is not enough to be an admin.
import { setImmediate } from 'node:timers/promises';
import { isSealed, sealKey, sealOf } from './seal.ts';
import {
  bodyText,
  type Change,
  type Document,
  type DocumentKey,
  type SkippedDocument,
  type StateStore,
  type StoredState,
} from './state-store.ts';

export interface SealOptions {
  /** Undefined: nothing is sealed, and every document is taken as it is. */
  readonly masterKey: string | undefined;
  /** Documents sealed by it are in force too, and should be sealed anew. */
  readonly previousMasterKey?: string | undefined;
  /** Documents without any seal are in force too, until `stopAdopting`, and should be sealed. Default false. */
  readonly adoptsUnsigned?: boolean;
}

export interface SealedStore extends StateStore {
  /** A state that was kept elsewhere, with the seals it had: those that are not good are skipped. */
  open(state: StoredState): Promise<StoredState>;
  /** The document that `read` gives after a commit of this change led to `revision`. */
  asRead(change: Change, revision: number): Document;
  stopAdopting(): void;
}

/** The member of a stored body that holds the seal: versions that know nothing of it pass it over. */
const member = 'seal';
/** Documents checked at once: they hold the process up for a few milliseconds. */
const checkedAtOnce = 200;

/** What was found good, to be compared instead of computed again: the text, because the body may have been changed under its revision. */
interface Checked {
  readonly text: string;
  readonly seal: string;
  readonly isOutdated: boolean;
}

/** The documents of what `read` gives are plain: seals stand beside their bodies. Those without a good one are in `skipped`. */
export function sealDocuments(store: StateStore, options: SealOptions): SealedStore {
  const seals = createSeals(options);
  return {
    open: (state) => seals.open(state),
    asRead({ kind, id, body }, revision) {
      const stored = JSON.parse(bodyText(seals.seal({ kind, id }, body))) as unknown;
      return unwrapped({ kind, id, revision, body: stored });
    },
    stopAdopting: () => seals.stopAdopting(),
    read: async () => seals.open(await store.read()),
    revision: () => store.revision(),
    commit: async (commit) => store.commit({ ...commit, changes: commit.changes.map(sealedChange) }),
    warnings: (...given) => store.warnings(...given),
    initialise: () => store.initialise(),
    reseed: (state) => store.reseed({ ...state, documents: state.documents.map(resealed) }),
    watch: (...given) => store.watch(...given),
    loadCounters: (...given) => store.loadCounters(...given),
    writeCounters: (...given) => store.writeCounters(...given),
    writeHeartbeat: (...given) => store.writeHeartbeat(...given),
    heartbeats: (...given) => store.heartbeats(...given),
    removeHeartbeat: (...given) => store.removeHeartbeat(...given),
    uses: store.uses,
    close: () => store.close(),
  };

  function sealedChange({ kind, id, body }: Change): Change {
    return body === undefined ? { kind, id, body } : { kind, id, body: seals.seal({ kind, id }, body) };
  }

  /** Without a key, with the seal it had. */
  function resealed({ kind, id, revision, body, seal }: Document): Document {
    const isKept = options.masterKey === undefined && seal !== undefined && isObject(body);
    return { kind, id, revision, body: isKept ? { ...body, [member]: seal } : seals.seal({ kind, id }, body) };
  }
}

interface Seals {
  /** The body with its seal; without a master key as it is. */
  seal(key: DocumentKey, body: unknown): unknown;
  /** See `SealedStore`. */
  open(state: StoredState): Promise<StoredState>;
  stopAdopting(): void;
}

function createSeals({ masterKey, previousMasterKey, adoptsUnsigned = false }: SealOptions): Seals {
  const current = masterKey === undefined ? undefined : sealKey(masterKey);
  const previous = previousMasterKey === undefined ? undefined : sealKey(previousMasterKey);
  let adopts = adoptsUnsigned;
  let checked: ReadonlyMap<string, Checked> = new Map();

  function seal(key: DocumentKey, body: unknown): unknown {
    if (current === undefined) return body;
    if (!isObject(body)) throw new TypeError('the body of a document that is sealed must be an object');
    // What JSON leaves out is not sealed either.
    const { [member]: _, ...plain } = JSON.parse(bodyText(body)) as Record<string, unknown>;
    return { ...plain, [member]: sealOf(current, key, plain) };
  }

  /** Whether the document should be sealed anew; undefined when its seal is not good. */
  function needsSeal(document: Document, known: Checked | undefined, text: string): boolean | undefined {
    const { body, seal: given } = document;
    if (current === undefined) return false;
    if (given === undefined) return adopts ? true : undefined;
    if (known?.text === text && known.seal === given) return known.isOutdated;
    try {
      if (isSealed(current, document, body, given)) return false;
      return previous !== undefined && isSealed(previous, document, body, given) ? true : undefined;
    } catch (error) {
      // Nested too deep.
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  async function open(state: StoredState): Promise<StoredState> {
    const documents: Document[] = [];
    const skipped: SkippedDocument[] = [...state.skipped];
    const found = new Map<string, Checked>();
    let number = 0;
    for (const stored of state.documents) {
      number += 1;
      if (number % checkedAtOnce === 0) await setImmediate();
      const document = unwrapped(stored);
      const { kind, id, body, seal: given } = document;
      const place = JSON.stringify([kind, id]);
      const text = textOf(body);
      const isOutdated = text === undefined ? undefined : needsSeal(document, checked.get(place), text);
      if (text === undefined || isOutdated === undefined) {
        skipped.push({ kind, id, isUnsealed: true });
        continue;
      }
      documents.push(isOutdated ? { ...document, isOutdated } : document);
      if (given !== undefined) found.set(place, { text, seal: given, isOutdated });
    }
    checked = found;
    return { ...state, documents, skipped };
  }

  return {
    seal,
    open,
    stopAdopting() {
      adopts = false;
    },
  };
}

/** The seal beside the body, whether it came inside it, as it lies in a store, or beside it, as it lies in a copy. */
function unwrapped({ kind, id, revision, body, seal }: Document): Document {
  if (seal !== undefined) return { kind, id, revision, body, seal };
  if (!isObject(body) || typeof body[member] !== 'string') return { kind, id, revision, body };
  const { [member]: inside, ...plain } = body;
  return { kind, id, revision, body: plain, seal: inside };
}

/** Undefined for what is nested so deep that nothing of ours can have written it. */
function textOf(body: unknown): string | undefined {
  try {
    return JSON.stringify(body);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function isObject(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}
