// Decides what a reset of the cache changes in the store. Pure.
import { type CacheReset, everyAnswer, mostCacheResets } from '../../../domain/cache/cache-reset.ts';
import { managedCacheResets } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import type { Change } from '../../../store/state/state-store.ts';

/** Raises the epoch of these answers; of all answers, where there are too many resets to remember one more. */
export function resetCache(stored: readonly CacheReset[], id: string): Change[] {
  const epochs = new Map(stored.map((reset) => [reset.id, reset.epoch]));
  const isKnown = epochs.has(id);
  const raised = id === everyAnswer || (!isKnown && epochs.size >= mostCacheResets) ? everyAnswer : id;
  const others = raised === everyAnswer ? [...epochs.keys()].filter((other) => other !== everyAnswer) : [];
  const epoch = (epochs.get(raised) ?? 0) + 1;
  return [
    ...others.map((other) => removed(managedCacheResets, other)),
    written(managedCacheResets, raised, { id: raised, epoch }),
  ];
}
