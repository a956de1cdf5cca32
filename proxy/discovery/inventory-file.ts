// The inventories on disk, for a start while providers are away.

import { isModelId } from '../../schemas/formats/model-id.ts';
import { keepCopy, recallCopy } from '../../store/checksummed-file.ts';

/** The models that a provider reported. */
export interface Inventory {
  /** Sorted, each once; before the filters. */
  readonly ids: readonly string[];
  /** When it last said so: Unix milliseconds, whole. */
  readonly atMs: number;
}

/** Inventories by what they belong to (source.ts). */
export type KeptInventories = ReadonlyMap<string, Inventory>;

/** Replaces the copy. Gives a sentence when that fails; never throws. */
export async function keepInventories(path: string, inventories: KeptInventories): Promise<string | undefined> {
  const rows = [...inventories].map(([source, { ids, atMs }]) => [source, atMs, ids]);
  const reason = await keepCopy(path, JSON.stringify(rows));
  return (
    reason && `the models of providers could not be written to ${path} (${reason}); a restart depends on the providers`
  );
}

/** The copy; nothing, and a sentence, when it cannot be trusted. Never throws. */
export async function recallInventories(path: string): Promise<{ inventories: KeptInventories; warning?: string }> {
  const { content, distrust } = await recallCopy(path);
  const inventories = new Map<string, Inventory>();
  const warning = `the copy of the models of providers in ${path} is ignored: ${distrust ?? 'it is damaged'}`;
  if (distrust !== undefined) return { inventories, warning };
  if (content === undefined) return { inventories };
  const rows: unknown = JSON.parse(content);
  if (!Array.isArray(rows)) return { inventories, warning };
  for (const row of rows) {
    const [source, atMs, ids] = Array.isArray(row) ? (row as unknown[]) : [];
    if (typeof source !== 'string' || !Number.isSafeInteger(atMs) || !Array.isArray(ids)) continue;
    inventories.set(source, { atMs: atMs as number, ids: ids.filter(isModelId) });
  }
  return { inventories };
}
