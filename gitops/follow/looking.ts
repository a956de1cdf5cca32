// Looks at files again and again, because no event tells that one was replaced.
import { setTimeout } from 'node:timers/promises';
import { lookMs } from './followed-secret.ts';

export interface Looking {
  /** No look is taken from now on; one under way must change nothing. */
  readonly isClosed: boolean;
  /** Resolves when the last look is over. */
  close(): Promise<void>;
}

/** Calls `look` every `lookMs` until it is closed; `failed` is told why one has failed. */
export function keepLooking(look: () => Promise<void>, failed: (error: unknown) => void): Looking {
  const closing = new AbortController();
  const looking = lookAgain();

  async function lookAgain(): Promise<void> {
    for (;;) {
      await setTimeout(lookMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (closing.signal.aborted) return;
      await look().catch(failed);
    }
  }

  return {
    get isClosed() {
      return closing.signal.aborted;
    },
    async close() {
      closing.abort();
      await looking;
    },
  };
}
