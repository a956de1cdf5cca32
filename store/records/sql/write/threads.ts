// Keeps threads, and facets of threads, in step with new entries.
import type { Insertion, Statements } from '../database.ts';
import { type Extent, extend, mergeExtent, type NewEntry } from './new-entry.ts';

const extentColumns = { n: 'BIGINT', first_ms: 'BIGINT', last_ms: 'BIGINT', last_uid: 'TEXT' } as const;

const threads: Insertion = {
  table: 'thread',
  columns: { key: 'TEXT', ...extentColumns },
  tail: `ON CONFLICT (key) ${mergeExtent('thread')} RETURNING id, key`,
};

const facets: Insertion = {
  table: 'facet',
  columns: { thread: 'BIGINT', combo: 'BIGINT', ...extentColumns },
  tail: `ON CONFLICT (thread, combo) ${mergeExtent('facet')}`,
};

/** The numbers of sessions, by their keys. */
export async function extendThreads(
  statements: Statements,
  extents: ReadonlyMap<string, Extent>,
): Promise<ReadonlyMap<string, number>> {
  if (extents.size === 0) return new Map();
  const rows = [...extents].map(([key, extent]) => [key, ...rowOf(extent)]);
  const stored = await statements.insert(threads, rows);
  return new Map(stored.map(({ id, key }) => [String(key), Number(id)]));
}

export async function extendFacets(statements: Statements, entries: readonly NewEntry[]): Promise<void> {
  const extents = new Map<string, Extent>();
  const members = new Map<string, readonly [thread: number, combo: number]>();
  for (const { thread, combo, startedMs, uid } of entries) {
    if (thread < 0) continue;
    const key = `${thread} ${combo}`;
    members.set(key, [thread, combo]);
    extend(extents, key, startedMs, uid);
  }
  const rows = [...extents].map(([key, extent]) => [...(members.get(key) ?? []), ...rowOf(extent)]);
  if (rows.length > 0) await statements.insert(facets, rows);
}

function rowOf({ n, firstMs, lastMs, lastUid }: Extent): [number, number, number, string] {
  return [n, firstMs, lastMs, lastUid];
}
