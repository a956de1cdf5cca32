// What a provider says of its models → the ids that can be used. Pure.
import { isModelId } from '../../schemas/formats/model-id.ts';

/** The most models of one provider. */
const mostModels = 10_000;

export interface ModelList {
  /** Sorted, each once. */
  readonly ids: readonly string[];
  /** How many entries are left out: those that are no id as `models` may have it, and those beyond 10,000. */
  readonly skipped: number;
}

export function usableModels(said: readonly unknown[]): ModelList {
  const ids = new Set<string>();
  let skipped = 0;
  for (const id of said) {
    if (!isModelId(id)) skipped += 1;
    else if (ids.size < mostModels) ids.add(id);
    else if (!ids.has(id)) skipped += 1;
  }
  return { ids: [...ids].sort(), skipped };
}
