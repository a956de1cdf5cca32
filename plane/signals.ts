// The signals of a process: SIGHUP reads the configuration again, SIGTERM and SIGINT end it.
import type { Logger } from 'pino';

/** Where signals come from: the process itself, or the parent of a worker. */
export interface SignalSource {
  on(name: NodeJS.Signals, listener: (name: NodeJS.Signals) => void): unknown;
}

/** From now on SIGHUP calls `reload`. */
export function reloadOnHangUp(reload: () => unknown, signals: SignalSource = process): void {
  signals.on('SIGHUP', () => void reload());
}

export interface Stopping {
  readonly log: Pick<Logger, 'info'>;
  /** Default: the process itself. */
  readonly signals?: SignalSource;
  /** The log lines of the first signal and of the end. */
  readonly messages: readonly [begin: string, end: string];
  /** Facts about open requests for the first line. */
  readonly facts?: () => object;
  /** Takes no new requests; resolves when open ones were answered or cut. Called at the first signal. */
  readonly drain: () => Promise<unknown>;
  /** Saves state and closes connections. Called once, after draining. */
  readonly close: () => Promise<unknown>;
  /** A second signal does not wait for open requests: `close` still closes, `exit` ends the process at once. */
  readonly atSecond: 'close' | 'exit';
  /** The process ends at most this long after the first signal. Milliseconds; absent: it waits for `drain` and `close`. */
  readonly mostMs?: number;
}

/** Ends the process on SIGTERM and SIGINT, with status 0. */
export function stopOnSignals(stopping: Stopping): void {
  const { log, messages, facts, drain, close, atSecond, mostMs, signals = process } = stopping;
  let isDraining = false;
  let leaving: Promise<void> | undefined;

  function leave(): Promise<void> {
    leaving ??= close().then(() => {
      log.info(messages[1]);
      process.exit(0);
    });
    return leaving;
  }

  async function stop(signal: string): Promise<void> {
    if (isDraining) return atSecond === 'exit' ? process.exit(0) : leave();
    isDraining = true;
    log.info({ signal, ...facts?.() }, messages[0]);
    if (mostMs !== undefined) setTimeout(() => process.exit(0), mostMs).unref();
    await drain();
    await leave();
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) signals.on(signal, (name) => void stop(name));
}
