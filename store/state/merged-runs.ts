// Sorted lists that were read in portions, put together without holding the process up.
import { setImmediate } from 'node:timers/promises';
import { inOrder, type Named } from '../../domain/documents/order.ts';

/** Entries moved at once: about a millisecond. */
const movedAtOnce = 5_000;

/** One sorted list of several. Of two entries with the same name the one of the later list counts. */
export async function mergedRuns<Entry extends Named>(runs: readonly (readonly Entry[])[]): Promise<readonly Entry[]> {
  let left = runs;
  let moved = 0;
  while (left.length > 1) {
    const merged: (readonly Entry[])[] = [];
    for (let at = 0; at < left.length; at += 2) {
      const list: Entry[] = [];
      for (const entry of mergedPair(left[at] ?? [], left[at + 1] ?? [])) {
        list.push(entry);
        moved += 1;
        if (moved % movedAtOnce === 0) await setImmediate();
      }
      merged.push(list);
    }
    left = merged;
  }
  return left[0] ?? [];
}

function* mergedPair<Entry extends Named>(one: readonly Entry[], other: readonly Entry[]): Generator<Entry> {
  let at = 0;
  for (const entry of other) {
    for (let next = one[at]; next !== undefined; next = one[at]) {
      const order = inOrder(next, entry);
      if (order > 0) break;
      at += 1;
      if (order < 0) yield next;
    }
    yield entry;
  }
  for (; at < one.length; at += 1) yield one[at] as Entry;
}
