// The end of the process at a signal: open requests are served or cut, then what is known of them is written, then what it is written to closes.
import type { Log } from '../../plane/log-events.ts';
import { type SignalSource, stopOnSignals } from '../../plane/signals.ts';
import type { FileLock } from '../../store/file-lock.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import type { OpenRecords } from '../records/open-records.ts';
import type { ProxyServer } from '../server.ts';
import type { Lifecycle } from './lifecycle.ts';

export interface EndingParts {
  readonly log: Log;
  readonly signals: SignalSource;
  readonly server: Pick<ProxyServer, 'openRequests' | 'drain' | 'cut'>;
  /** Copies of requests, which no client waits for. */
  readonly mirrors: { end(): Promise<void> };
  readonly lifecycle: Lifecycle;
  readonly graceMs: () => number;
  readonly kept: { settled(): Promise<unknown> };
  readonly cache: { close(): Promise<void> };
  readonly recording: Pick<OpenRecords, 'close'>;
  readonly telemetry: { close(): Promise<void> };
  readonly stateFollower: Pick<StateFollower, 'end' | 'kept'>;
  readonly store: { close(): Promise<void> };
  readonly lock: FileLock | undefined;
}

/** The first signal waits for open requests as long as the configuration lets it, the second one cuts them. */
export function endOnSignals({ log, signals, server, mirrors, lifecycle, graceMs, ...parts }: EndingParts): void {
  const { kept, cache, recording, telemetry, stateFollower, store, lock } = parts;
  stopOnSignals({
    log,
    signals,
    messages: ['draining', 'stopped'],
    atSecond: 'close',
    facts: () => ({ open_requests: server.openRequests(), grace_ms: graceMs() }),
    drain() {
      lifecycle.phase = 'draining';
      return server.drain(graceMs());
    },
    async close() {
      // Counters and the journal take what the requests have cost that were cut.
      await server.cut();
      await mirrors.end();
      await Promise.all([lifecycle.close(), kept.settled(), cache.close(), recording.close(), telemetry.close()]);
      stateFollower.end();
      await Promise.all([store.close(), stateFollower.kept()]);
      lock?.release();
    },
  });
}
