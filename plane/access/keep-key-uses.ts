// Writes the hours of key uses to the store: each key once an hour at most, so that the value outlives the process.
import { managedKeys } from '../../domain/documents/kinds.ts';
import { singleFlight } from '../../store/single-flight.ts';
import type { DocumentUses } from '../../store/state/state-store.ts';
import type { KeyUses } from './key-uses.ts';

/** How often it is looked for uses to write. Milliseconds. */
const intervalMs = 1_000;
/** Uses of one write. */
const usesPerWrite = 500;

export interface KeptKeyUses {
  /** The last write; the store may fail. */
  close(): Promise<void>;
}

/** While the store fails, uses stay in memory and are written later; other writes tell of the failure. */
export function keepKeyUses(keyUses: KeyUses, store: Pick<DocumentUses, 'note'>): KeptKeyUses {
  async function write(): Promise<void> {
    for (let isMore = true; isMore; ) {
      const uses = keyUses.unwritten(usesPerWrite);
      if (uses.length === 0) return;
      await store.note(managedKeys.kind, uses);
      keyUses.written(uses);
      isMore = uses.length === usesPerWrite;
    }
  }

  const writing = singleFlight(() => write().catch(() => undefined));
  const timer = setInterval(() => void writing.join(), intervalMs);
  return {
    close() {
      clearInterval(timer);
      return writing.next();
    },
  };
}
