// A flood in a separate thread, so that it does not delay a test that measures other clients.
import { constants, setPriority } from 'node:os';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import * as floods from './floods.ts';
import type { Teardown } from './teardown.ts';

type Floods = typeof floods;

/** The name of a flood, and what its function takes besides the port. */
export type FloodCall = {
  [Name in keyof Floods]: readonly [name: Name, options: Parameters<Floods[Name]>[2]];
}[keyof Floods];

/** Starts it against a port; `stop` ends all of its connections. */
export function startFloodThread(t: Teardown, port: number, call: FloodCall): { stop(): Promise<unknown> } {
  const worker = new Worker(new URL(import.meta.url), { workerData: { port, call }, execArgv: [] });
  const failed = new Promise<never>((_, fail) => worker.once('error', fail));
  const stop = (): Promise<unknown> => Promise.race([worker.terminate(), failed]);
  t.teardown(stop);
  return { stop };
}

if (!isMainThread) {
  // Strangers have machines of their own: here they get what the gateway leaves of this one.
  setPriority(constants.priority.PRIORITY_LOW);
  const { port, call } = workerData as { port: number; call: FloodCall };
  const start = new Map(Object.entries(floods)).get(call[0]) as (t: Teardown, port: number, options: unknown) => void;
  // The connections end with the thread.
  start({ teardown: () => undefined }, port, call[1]);
}
