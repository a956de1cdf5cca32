// Kept items in a file of this machine, with a thread of its own.
import { setImmediate } from 'node:timers/promises';
import { type KeptEngine, mostKeptAtOnce } from '../kept-items.ts';
import type { KeptOperation, KeyInput, PutInput, SweepInput } from './kept-messages.ts';
import { SqliteThread } from './thread.ts';

export interface SqliteKeptOptions {
  readonly directory: string;
  /** Deadline of every operation. */
  readonly timeoutMs: number;
  readonly nowMs: () => number;
}

/** Between two times that expired items are looked for, besides every put: their bytes do not lie there for much longer. */
const sweepMs = 60_000;

/** Starts the thread. */
export function sqliteKept({ directory, timeoutMs, nowMs }: SqliteKeptOptions): KeptEngine {
  const program = new URL('kept-worker.ts', import.meta.url);
  const thread = new SqliteThread<KeptOperation>({
    directory,
    timeoutMs,
    pollMs: sweepMs,
    program,
    mostWaiting: mostKeptAtOnce,
  });
  const timer = setInterval(() => void sweep().catch(() => undefined), sweepMs).unref();

  /** A portion at a time, so that others come in between. */
  async function sweep(): Promise<void> {
    while ((await thread.ask('sweep', { nowMs: Math.floor(nowMs()) } satisfies SweepInput)) === 'true')
      await setImmediate();
  }

  return {
    async put({ key, bytes, expiresAtMs, limits }, now) {
      await thread.exchange('put', { key, expiresAtMs, limits, nowMs: now } satisfies PutInput, bytes);
    },
    async get(key, now) {
      const { bytes } = await thread.exchange('get', { key, nowMs: now } satisfies KeyInput);
      return bytes === undefined ? undefined : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    async remove(key, now) {
      return (await thread.ask('remove', { key, nowMs: now } satisfies KeyInput)) === 'true';
    },
    async close() {
      clearInterval(timer);
      await thread.close();
    },
  };
}
