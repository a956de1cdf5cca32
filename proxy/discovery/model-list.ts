// Reads the usable ids in a provider's list of models. Pure.
import { isModelId } from '../../schemas/formats/model-id.ts';
import type { Slices } from '../pacing/slices.ts';

/** The most models of one provider. */
const mostModels = 10_000;
/** Looked at in one step. */
const stepEntries = 20_000;

export interface ModelList {
  /** Sorted, each once. */
  readonly ids: readonly string[];
  /** How many entries are left out: those that are no id as `models` may have it, and those beyond 10,000. */
  readonly skipped: number;
}

export function* usableModels(said: readonly unknown[]): Slices<ModelList> {
  const ids = new Set<string>();
  let skipped = 0;
  for (const [index, id] of said.entries()) {
    if (index % stepEntries === stepEntries - 1) yield;
    if (!isModelId(id)) skipped += 1;
    else if (ids.size < mostModels) ids.add(id);
    else if (!ids.has(id)) skipped += 1;
  }
  return { ids: [...ids].sort(), skipped };
}
