// The managed documents as last read, kept on disk: a start without its store goes on with them, and an emptied store gets them back.
import { rename } from 'node:fs/promises';
import { keepCopy, recallCopy } from '../kept-copy.ts';
import type { Document, StoredState } from './state-store.ts';

interface Kept {
  storeId: string;
  revision: number;
  kinds: [kind: string, revision: number][];
  documents: Document[];
}

/** Writes a state that has a store id. Gives a sentence when that fails; never throws. */
export async function keepState(
  path: string,
  state: StoredState & { readonly storeId: string },
): Promise<string | undefined> {
  const { storeId, revision, kinds, documents } = state;
  const kept: Kept = { storeId, revision, kinds: [...kinds], documents: [...documents] };
  const reason = await keepCopy(path, JSON.stringify(kept));
  return reason && `the copy of the managed state could not be written to ${path} (${reason})`;
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
  const { storeId, revision, kinds, documents }: Kept = JSON.parse(content);
  return { state: { storeId, revision, kinds: new Map(kinds), documents, skipped: [] } };
}
