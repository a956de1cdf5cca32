// The end of the server: it takes no new connections, open requests finish within a grace, the rest is cut, and all are settled.
import { Server as NetServer, type Server } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import type { Pipelining } from './pipelining.ts';

/** The open parts of the server. */
export interface OpenParts {
  readonly server: Server & { closeIdleConnections(): void; closeAllConnections(): void };
  /** Handshakes. */
  readonly secure: { drain(): void };
  readonly pipelining: Pick<Pipelining, 'drain' | 'flushing'>;
  /** Sessions over WebSocket. */
  readonly upgrades: { drain(): void; end(): void };
  /** Model requests that have begun and are not settled. */
  readonly unsettled: () => number;
}

export interface Draining {
  /** Closes the listener and resolves when every open request was answered, or after `graceMs`, when the rest is cut. */
  drain(graceMs: number): Promise<void>;
  /** Cuts what is open; resolves when it is settled, so that what it cost is charged and recorded, within a second in any case. */
  cut(): Promise<void>;
}

/** Between two searches for idle connections. Milliseconds. */
const sweepMs = 100;
/** Between two looks at what is not settled, and how many there are. */
const lookMs = 5;
const mostLooks = 200;

export function createDraining({ server, secure, pipelining, upgrades, unsettled }: OpenParts): Draining {
  function end(): void {
    server.closeAllConnections();
    upgrades.end();
  }

  return {
    async drain(graceMs) {
      pipelining.drain();
      upgrades.drain();
      // http's own close would stop the timeout checks, and count answers that are not read yet as idle.
      const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()));
      const sweepIdle = (): void => {
        secure.drain();
        if (!pipelining.flushing()) server.closeIdleConnections();
      };
      sweepIdle();
      const sweep = setInterval(sweepIdle, sweepMs);
      const grace = setTimeout(end, graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(grace);
    },
    async cut() {
      end();
      // A request is settled when its connection has told it that it is closed, and its provider is let go.
      for (let look = 0; look < mostLooks && unsettled() > 0; look += 1) await pause(lookMs);
    },
  };
}
