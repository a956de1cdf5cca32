// The managed documents as last read, kept on disk: a start without its store goes on with them, and an emptied store gets them back.

import { readFile, rename } from 'node:fs/promises';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { inOrder } from '../../domain/documents/order.ts';
import { differences } from '../../domain/sorted-list.ts';
import { recallCopy } from '../checksummed-file.ts';
import { ChecksummedLog, type RecalledLog, recallLog } from '../checksummed-log.ts';
import { placeOf } from './lineage.ts';
import { type Document, type DocumentKey, mostPast, type PastChange, type StoredState } from './state-store.ts';

/** A line of the copy: what it changes in what those before it say. */
interface Kept {
  storeId: string;
  revision: number;
  kinds: [kind: string, revision: number][];
  documents: Document[];
  /** These are absent in the copy of an older version, which is one line. */
  mark?: string | undefined;
  past?: [revision: number, change: PastChange][];
  deleted?: DocumentKey[];
}

type NamedState = StoredState & { readonly storeId: string };

/** Documents in a line: to write it holds the process up for a millisecond. */
const documentsAtOnce = 200;

/** Writes a state that has a store id. Gives a sentence when that fails; never throws. */
export async function keepState(path: string, state: NamedState): Promise<string | undefined> {
  return sentence(path, await begun(new ChecksummedLog(path), state));
}

function sentence(path: string, reason: string | undefined): string | undefined {
  return reason && `the copy of the managed state could not be written to ${path} (${reason})`;
}

function begun(log: ChecksummedLog, state: NamedState): Promise<string | undefined> {
  return log.begin(1 + Math.ceil(state.documents.length / documentsAtOnce), wholeLines(state));
}

function* wholeLines(state: NamedState): Generator<string, void> {
  yield lineOf(state, { documents: [], past: state.past ?? noPast });
  for (let first = 0; first < state.documents.length; first += documentsAtOnce) {
    yield lineOf(state, { documents: state.documents.slice(first, first + documentsAtOnce), past: noPast });
  }
}

const noPast: ReadonlyMap<number, PastChange> = new Map();

interface Changed {
  readonly documents: readonly Document[];
  readonly past: ReadonlyMap<number, PastChange>;
  readonly deleted?: readonly DocumentKey[];
}

function lineOf({ storeId, revision, mark, kinds }: NamedState, { documents, past, deleted = [] }: Changed): string {
  const place = { storeId, revision, mark, kinds: [...kinds] };
  const kept: Kept = { ...place, documents: [...documents], past: [...past], deleted: [...deleted] };
  return JSON.stringify(kept);
}

/** The line that makes `state` of the copy of `before`; undefined when it is to be written anew. */
function lineSince(before: NamedState, state: NamedState): string | undefined {
  const past = new Map(state.past);
  for (const [revision, change] of before.past ?? noPast) {
    if (revision > state.revision - mostPast && past.get(revision) !== change) return undefined;
    past.delete(revision);
  }
  if (state.storeId !== before.storeId || state.revision < before.revision) return undefined;
  const { gone, come } = differences(before.documents, state.documents, inOrder);
  return lineOf(state, { documents: come, past, deleted: gone.map(({ kind, id }) => ({ kind, id })) });
}

/** Keeps copies in their own time. */
export interface Keeper {
  /** Copies a state that has a store id, unless a newer one comes before its turn. */
  keep(state: StoredState): void;
  /** Another store's state comes next: the copy that lies there is put away first. */
  setAside(): void;
  /** Resolves when the last state is copied, or after a second: a disk may hang. */
  kept(): Promise<void>;
}

/** How long a caller waits for the copy. */
const patienceMs = 1_000;

/** A keeper of the copy in `path`; `warn` gets sentences. */
export function createKeeper(path: string, warn: (problem: string | undefined) => void): Keeper {
  const log = new ChecksummedLog(path);
  let toKeep: NamedState | undefined;
  let inCopy: NamedState | undefined;
  let keeping: Promise<void> | undefined;
  let isReplacing = false;

  /** Writes the newest state and then, if there is a newer one by then, that: no read of the store waits for a disk. */
  async function keepNewest(): Promise<void> {
    // What was put in force is not held up by it.
    await setImmediate();
    for (let state = toKeep; state !== undefined; state = toKeep) {
      toKeep = undefined;
      if (isReplacing) {
        isReplacing = false;
        inCopy = undefined;
        warn(await setAside(path));
      }
      warn(sentence(path, await keep(state)));
    }
    keeping = undefined;
  }

  /** A file that cannot grow any more, or was removed, is written anew. */
  async function keep(state: NamedState): Promise<string | undefined> {
    const line = log.mayGrow && inCopy !== undefined ? lineSince(inCopy, state) : undefined;
    const isAppended = line !== undefined && (await log.append(line)) === undefined;
    const reason = isAppended ? undefined : await begun(log, state);
    inCopy = reason === undefined ? state : undefined;
    return reason;
  }

  return {
    keep(state) {
      const { storeId } = state;
      if (storeId === undefined) return;
      toKeep = { ...state, storeId };
      keeping ??= keepNewest();
    },
    setAside() {
      isReplacing = true;
    },
    async kept() {
      await Promise.race([keeping, setTimeout(patienceMs, undefined, { ref: false })]);
    },
  };
}

/**
 * Puts the copy away that another store's state is about to replace, so that it can be brought back by hand. Gives a sentence about
 * where it lies, or nothing when there is none; never throws.
 */
export async function setAside(path: string): Promise<string | undefined> {
  const aside = `${path}.former`;
  return rename(path, aside).then(
    () => `the copy of the former managed state is kept in ${aside}`,
    () => undefined,
  );
}

/** The copy, nothing when there is none, or a sentence when it cannot be trusted. Never throws. */
export async function recallState(path: string): Promise<{ state?: StoredState; warning?: string }> {
  const { lines, distrust } = await recallLines(path);
  if (distrust !== undefined) return { warning: `the copy of the managed state in ${path} is ignored: ${distrust}` };
  if (lines === undefined) return {};
  const [documents, past] = [new Map<string, Document>(), new Map<number, PastChange>()];
  let last: Kept | undefined;
  for (const line of lines) {
    last = JSON.parse(line) as Kept;
    for (const key of last.deleted ?? []) documents.delete(placeOf(key));
    for (const document of last.documents) documents.set(placeOf(document), document);
    for (const [number, change] of last.past ?? []) past.set(number, change);
  }
  if (last === undefined) return {};
  const { storeId, revision, mark, kinds } = last;
  const sorted = [...documents.values()].sort(inOrder);
  const state = { storeId, revision, mark, kinds: new Map(kinds), documents: sorted, skipped: [] };
  for (const number of past.keys()) if (number <= revision - mostPast) past.delete(number);
  return { state: past.size === 0 ? state : { ...state, past } };
}

/** As `recallLog`; nothing when there is no file. */
async function recallLines(
  path: string,
): Promise<RecalledLog | { readonly lines?: undefined; readonly distrust?: undefined }> {
  try {
    const text = await readFile(path, 'utf8');
    if (!text.startsWith('{')) return recallLog(text);
    // As an older version wrote it.
    const { content, distrust } = await recallCopy(path);
    return content === undefined ? { distrust: distrust ?? 'it is damaged' } : { lines: [content] };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return isMissing ? {} : { distrust: 'it cannot be read' };
  }
}
