// Looks at the proxies and the store twice a second: an outage shows here first, and a store without an id is judged by what proxies say.
import type { Log } from '../plane/log-events.ts';
import { singleFlight } from '../store/single-flight.ts';
import type { StateFollower } from '../store/state/follow-state.ts';
import { heartbeatIntervalMs } from '../store/state/heartbeat-body.ts';
import { createSharingWarnings, type Fleet } from './fleet.ts';
import type { SignOfLife } from './store/sign-of-life.ts';

export interface FleetWatchParts {
  readonly fleet: Fleet;
  readonly signOfLife: SignOfLife;
  readonly stateFollower: Pick<StateFollower, 'status' | 'refresh'>;
  readonly log: Log;
}

export interface FleetWatch {
  /** Looks no more. */
  close(): void;
}

/** Resolves after the first look. What fails is reported by the follower of the state, and tried again. */
export async function watchFleet({ fleet, signOfLife, stateFollower, log }: FleetWatchParts): Promise<FleetWatch> {
  const warnOfSharing = createSharingWarnings(log);

  async function look(): Promise<void> {
    const looked = fleet.look().then(
      () => true,
      () => false,
    );
    const [answers] = await Promise.all([looked, signOfLife.beat()]);
    const { isUp, storeId } = stateFollower.status();
    if (answers !== isUp || (answers && storeId === undefined)) await stateFollower.refresh();
    warnOfSharing(fleet.proxies());
  }

  const looking = singleFlight(look);
  await looking.join();
  const timer = setInterval(() => void looking.join(), heartbeatIntervalMs);
  return { close: () => clearInterval(timer) };
}
