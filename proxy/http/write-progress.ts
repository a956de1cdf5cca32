// A client that takes no byte of its answer is cut, even while it sends: only bytes that leave count as progress.
import type { Socket } from 'node:net';
import { Polling } from '../pacing/polling.ts';
import { cut } from './cut.ts';

/** Between two polls of the connections. Milliseconds. */
const pollMs = 100;

/** The two counters of libuv that `net` itself measures progress by; node has no public name for what the kernel has taken. */
interface WriteCounters {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
  /** Of a connection with TLS, those of the connection under it. */
  readonly _parent?: WriteCounters;
}

interface Standstill {
  /** Bytes of the connection that the kernel has taken. */
  readonly taken: number;
  readonly sinceMs: number;
}

export interface WriteProgress {
  /** The connections that have a request open. */
  readonly sockets: () => Iterable<Socket>;
  /** How long a client may take nothing. Milliseconds. */
  readonly idleMs: () => number;
  readonly nowMs: () => number;
}

/** Gives what must be called when a request begins: connections are polled while there is one. */
export function watchWriteProgress({ sockets, idleMs, nowMs }: WriteProgress): () => void {
  const standstills = new WeakMap<Socket, Standstill>();
  const polling = new Polling(() => {
    const now = nowMs();
    let isServing = false;
    for (const socket of sockets()) {
      isServing = true;
      if (socket.writableLength === 0) standstills.delete(socket);
      else {
        const taken = takenOf(socket);
        const before = standstills.get(socket);
        if (before?.taken !== taken) standstills.set(socket, { taken, sinceMs: now });
        else if (now - before.sinceMs >= idleMs()) cut(socket, 'unread');
      }
    }
    return isServing;
  }, pollMs);
  return () => polling.start();
}

/** Bytes the kernel has taken: those handed to libuv, without those that wait there. */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as Socket & { readonly _handle?: WriteCounters | null };
  const { _parent: counters = handle } = handle ?? {};
  return counters ? counters.bytesWritten - counters.writeQueueSize : 0;
}
