// Listens on a port and never accepts: a worker thread sleeps in its listening callback, with a full backlog.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

interface BlockedPort {
  blockedPort?: number;
  /** 0 until the worker listens, then 1. */
  state?: Int32Array<SharedArrayBuffer>;
}

/** Blocks a free port of 127.0.0.1: from now on a connect to it hangs. Gives the function that frees the port again. */
export async function blockPort(port: number): Promise<() => Promise<void>> {
  const state = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL(import.meta.url), {
    workerData: { blockedPort: port, state } satisfies BlockedPort,
  });
  const failed = once(worker, 'error').then(([error]) => Promise.reject(error));
  await Promise.race([Atomics.waitAsync(state, 0, 0).value, failed]);
  const fillers: Socket[] = [];
  do fillers.push(connect(port, '127.0.0.1'));
  while (fillers.length < 16 && (await connects(fillers.at(-1))));
  return async () => {
    for (const filler of fillers) filler.destroy();
    await worker.terminate();
  };
}

/** Whether it connects within 100 ms; on loopback one that does not never will. */
function connects(socket: Socket | undefined): Promise<boolean> {
  return new Promise((done) => {
    socket?.on('error', () => done(false));
    socket?.once('connect', () => done(true));
    setTimeout(done, 100, false);
  });
}

const { blockedPort, state }: BlockedPort = (isMainThread ? undefined : workerData) ?? {};
if (blockedPort !== undefined && state !== undefined) {
  createServer().listen({ port: blockedPort, host: '127.0.0.1', backlog: 1 }, () => {
    Atomics.store(state, 0, 1);
    Atomics.notify(state, 0);
    Atomics.wait(state, 0, 1);
  });
}
