// Removes records after their retention, in small portions: a store of millions must still answer pages meanwhile.
import { setTimeout } from 'node:timers/promises';
import type { Log } from '../../plane/log-events.ts';
import type { RecordStore, Retention } from '../../store/records/record-store.ts';

/** At the start, then once in this time. Milliseconds. */
const everyMs = 600_000;
/** Records of one portion, and the pause behind it in milliseconds. */
const portion = 2_000;
const pauseMs = 50;

export interface Pruning {
  close(): Promise<void>;
}

/** `retention` is asked each time: the configuration may change, and time goes on. */
export function pruneRecords(store: Pick<RecordStore, 'prune'>, retention: () => Retention, log: Log): Pruning {
  const closing = new AbortController();
  const pause = (ms: number): Promise<void> =>
    setTimeout(ms, undefined, { signal: closing.signal, ref: false }).catch(() => undefined);

  async function pass(): Promise<void> {
    let removed = 0;
    for (let count = portion; count > 0 && !closing.signal.aborted; ) {
      count = await store.prune(retention(), portion);
      removed += count;
      await pause(pauseMs);
    }
    if (removed > 0) log.info({ records: removed }, 'records were removed: they have been kept for their time');
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await pass().catch((error: unknown) =>
        log.warn({ err: error }, 'old records could not be removed; tried again later'),
      );
      await pause(everyMs);
    }
  }

  const running = run();
  return {
    close() {
      closing.abort();
      return running;
    },
  };
}
