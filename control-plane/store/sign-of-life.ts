// Writes beside the documents, twice a second: it finds a store that answers but takes no writes before an operator's write fails.
import type { Log } from '../../plane/log-events.ts';
import { singleFlight } from '../../store/single-flight.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';

export interface SignOfLife {
  /** Writes once more, unless a write is under way or has failed a moment ago; resolves when the outcome is known. Never rejects. */
  beat(): Promise<void>;
  /** Why the last beat was not taken, a sentence without secrets; undefined: it was. */
  trouble(): string | undefined;
  /** Takes the sign away; the store may fail. */
  close(): Promise<void>;
}

/** Beats left out after a write that failed: in an embedded store that is locked, reads wait for as long as a write does. */
const rest = 2;

/**
 * The sign of the control plane `name`, in the place where proxies have their heartbeats: no instance name has its space. A line says
 * that the store begins to refuse writes although it answers, and that it takes them again.
 */
export function createSignOfLife(
  store: Pick<StateStore, 'writeHeartbeat' | 'removeHeartbeat'>,
  name: string,
  nowMs: () => number,
  log: Log,
): SignOfLife {
  const instance = `control-plane ${name}`;
  let lastTrouble: string | undefined;
  let isRefused = false;
  let leftOut = 0;

  async function write(): Promise<void> {
    const trouble = await store.writeHeartbeat({ instance, atMs: Math.floor(nowMs()), body: null }).then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
    );
    lastTrouble = trouble?.message;
    leftOut = trouble === undefined ? 0 : rest;
    const refuses = trouble instanceof StoreUnavailable && ['full', 'read_only'].includes(trouble.reason);
    if (refuses === isRefused || !(refuses || trouble === undefined)) return;
    isRefused = refuses;
    if (refuses) log.error({ err: trouble }, 'the state store takes no writes: what is in force stays in force');
    else log.info('the state store takes writes again');
  }

  const writing = singleFlight(write);
  return {
    async beat() {
      if (writing.isRunning() || leftOut === 0) await writing.join();
      else leftOut -= 1;
    },
    trouble: () => lastTrouble,
    close: () => store.removeHeartbeat(instance).catch(() => undefined),
  };
}
