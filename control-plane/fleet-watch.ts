// Polls the heartbeats of the proxies twice a second. It refreshes the state when the store fails, is back, or has no id.
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
  readonly stateFollower: Pick<StateFollower, 'status' | 'refresh'>;
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
    const refreshed = fleet.refresh().then(
      () => true,
      () => false,
    );
    const [answers] = await Promise.all([refreshed, signOfLife.beat()]);
    const { isUp, storeId } = stateFollower.status();
    if (answers !== isUp || (answers && storeId === undefined)) await stateFollower.refresh();
    warnOfSharing(fleet.proxies());
    degradation.look();
  }

  const polling = singleFlight(poll);
  await polling.join();
  const timer = setInterval(() => void polling.join(), heartbeatIntervalMs);
  return { close: () => clearInterval(timer) };
}
