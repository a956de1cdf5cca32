// The managed documents as last read, kept on disk: a start without its store goes on with them, and an emptied store gets them back.
import { rename } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { keepCopy, recallCopy } from '../checksummed-file.ts';
import type { Document, PastChange, StoredState } from './state-store.ts';

interface Kept {
  storeId: string;
  revision: number;
  kinds: [kind: string, revision: number][];
  documents: Document[];
  /** These two are absent in the copy of an older version. */
  mark?: string | undefined;
  past?: [revision: number, change: PastChange][];
}

/** Writes a state that has a store id. Gives a sentence when that fails; never throws. */
export async function keepState(
  path: string,
  state: StoredState & { readonly storeId: string },
): Promise<string | undefined> {
  const { storeId, revision, mark, kinds, documents, past = [] } = state;
  const kept: Kept = { storeId, revision, mark, kinds: [...kinds], documents: [...documents], past: [...past] };
  const reason = await keepCopy(path, JSON.stringify(kept));
  return reason && `the copy of the managed state could not be written to ${path} (${reason})`;
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
  let toKeep: (StoredState & { storeId: string }) | undefined;
  let keeping: Promise<void> | undefined;
  let isReplacing = false;

  /** Writes the newest state and then, if there is a newer one by then, that: no read of the store waits for a disk. */
  async function keepNewest(): Promise<void> {
    for (let state = toKeep; state !== undefined; state = toKeep) {
      toKeep = undefined;
      if (isReplacing) {
        isReplacing = false;
        warn(await setAside(path));
      }
      warn(await keepState(path, state));
    }
    keeping = undefined;
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
  const { content, distrust } = await recallCopy(path);
  if (distrust !== undefined) return { warning: `the copy of the managed state in ${path} is ignored: ${distrust}` };
  if (content === undefined) return {};
  const { storeId, revision, mark, kinds, documents, past = [] }: Kept = JSON.parse(content);
  const state = { storeId, revision, mark, kinds: new Map(kinds), documents, skipped: [] };
  return { state: past.length === 0 ? state : { ...state, past: new Map(past) } };
}
