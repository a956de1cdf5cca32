// Polls the heartbeats of the proxies twice a second, and the state with what they say: the store may be behind one of them.
import type { Log } from '../plane/log-events.ts';
import { singleFlight } from '../store/single-flight.ts';
import { heartbeatIntervalMs } from '../store/state/heartbeat-body.ts';
import type { StateFollower } from '../store/state/state-follower.ts';
import type { Degradation } from './degradation.ts';
import { createSharingWarnings, type Fleet } from './fleet.ts';
import type { SignOfLife } from './store/sign-of-life.ts';

export interface FleetWatchParts {
  readonly fleet: Fleet;
  /** Looks as often as the heartbeats are read. */
  readonly degradation: Degradation;
  readonly signOfLife: SignOfLife;
  readonly stateFollower: Pick<StateFollower, 'refresh'>;
  readonly log: Log;
}

export interface FleetWatch {
  /** Stops polling. */
  close(): void;
}

/** Resolves after the first poll. A failed poll is tried again; the follower of the state reports the failure. */
export async function watchFleet({
  fleet,
  degradation,
  signOfLife,
  stateFollower,
  log,
}: FleetWatchParts): Promise<FleetWatch> {
  const warnOfSharing = createSharingWarnings(log);

  async function poll(): Promise<void> {
    await Promise.all([fleet.refresh().catch(() => undefined), signOfLife.beat()]);
    await stateFollower.refresh();
    warnOfSharing(fleet.proxies());
    degradation.look();
  }

  const polling = singleFlight(poll);
  await polling.join();
  const timer = setInterval(() => void polling.join(), heartbeatIntervalMs);
  return { close: () => clearInterval(timer) };
}
