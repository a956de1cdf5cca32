// The one pointer to the snapshot in force.
import type { Snapshot } from './snapshot.ts';

export interface Current {
  /** Throws when nothing was published yet. */
  get(): Snapshot;
  /** From now on new requests see `next`; those under way keep theirs. */
  swap(next: Snapshot): void;
}

export function createCurrent(): Current {
  let current: Snapshot | undefined;
  return {
    get() {
      if (current === undefined) throw new Error('no config was published yet');
      return current;
    },
    swap(next) {
      current = next;
    },
  };
}
