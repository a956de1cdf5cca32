// A client that takes nothing of its answer is cut, whatever it sends meanwhile: what counts is that bytes leave, not that any come.
import type { Socket } from 'node:net';
import { cut } from './cut.ts';

/** How often connections are looked at. Milliseconds. */
const lookMs = 100;

/** The two counters of libuv that `net` itself measures progress by; node has no public name for what the kernel has taken. */
interface WriteCounters {
  readonly bytesWritten: number;
  readonly writeQueueSize: number;
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

/** Looks at all connections again and again, until the process ends. */
export function watchWriteProgress({ sockets, idleMs, nowMs }: WriteProgress): void {
  const standstills = new WeakMap<Socket, Standstill>();
  const look = (): void => {
    const now = nowMs();
    for (const socket of sockets()) {
      if (socket.writableLength === 0) standstills.delete(socket);
      else {
        const taken = takenOf(socket);
        const before = standstills.get(socket);
        if (before?.taken !== taken) standstills.set(socket, { taken, sinceMs: now });
        else if (now - before.sinceMs >= idleMs()) cut(socket, 'unread');
      }
    }
  };
  setInterval(look, lookMs).unref();
}

/** Bytes the kernel has taken: those handed to libuv, without those that wait there. */
function takenOf(socket: Socket): number {
  const { _handle: counters } = socket as Socket & { readonly _handle?: WriteCounters | null };
  return counters ? counters.bytesWritten - counters.writeQueueSize : 0;
}
