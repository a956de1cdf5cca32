// The end of the process: the first signal drains, a second one ends it at once.
import type { Logger } from 'pino';
import type { ProxyServer } from './server.ts';

export interface ShutdownParts {
  readonly log: Pick<Logger, 'info'>;
  /** How long open requests may take to finish. Milliseconds. */
  readonly graceMs: () => number;
  readonly server: Pick<ProxyServer, 'drain' | 'openRequests'>;
  /** Draining begins. */
  readonly onDraining: () => void;
  /** Writes everything down and closes what is open. */
  readonly close: () => Promise<void>;
}

/** Ends the process on SIGTERM and SIGINT, with status 0. */
export function stopOnSignals({ log, graceMs, server, onDraining, close }: ShutdownParts): void {
  let isDraining = false;
  let leaving: Promise<void> | undefined;

  function leave(): Promise<void> {
    leaving ??= close().then(() => {
      log.info('stopped');
      process.exit(0);
    });
    return leaving;
  }

  async function stop(signal: string): Promise<void> {
    if (isDraining) return leave();
    isDraining = true;
    onDraining();
    log.info({ signal, open_requests: server.openRequests(), grace_ms: graceMs() }, 'draining');
    await server.drain(graceMs());
    await leave();
  }
  for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, (name: string) => void stop(name));
}
