// Looks at the proxies and the store twice a second, and decides with what both say whether the store is new or has lost its documents.
import type { Log } from '../plane/log-events.ts';
import { singleFlight } from '../store/single-flight.ts';
import type { StateFollower } from '../store/state/follow-state.ts';
import { heartbeatIntervalMs } from '../store/state/heartbeat-body.ts';
import type { StateStore } from '../store/state/state-store.ts';
import { createSharingWarnings, type Fleet } from './fleet.ts';
import type { SignOfLife } from './store/sign-of-life.ts';
import type { StoreVerdict } from './store/verdict.ts';

export interface FleetWatchParts {
  readonly fleet: Fleet;
  readonly signOfLife: SignOfLife;
  readonly store: Pick<StateStore, 'initialise'>;
  readonly stateFollower: Pick<StateFollower, 'status' | 'refresh'>;
  readonly verdict: StoreVerdict;
  /** Where the copy of the managed state lies. */
  readonly ownFolder: string;
  readonly log: Log;
}

export interface FleetWatch {
  /** Looks no more. */
  close(): void;
}

/** Resolves after the first look. What fails is reported by the follower of the state, and tried again. */
export async function watchFleet(parts: FleetWatchParts): Promise<FleetWatch> {
  const { fleet, signOfLife, stateFollower, log } = parts;
  const warnOfSharing = createSharingWarnings(log);

  async function look(): Promise<void> {
    const looked = fleet.look().then(
      () => true,
      () => false,
    );
    const [answers] = await Promise.all([looked, signOfLife.beat()]);
    if (answers !== stateFollower.status().isUp) await stateFollower.refresh();
    warnOfSharing(fleet.proxies());
    await judgeStore(parts, answers);
  }

  const looking = singleFlight(look);
  await looking.join();
  const timer = setInterval(() => void looking.join(), heartbeatIntervalMs);
  return { close: () => clearInterval(timer) };
}

/** A store with an id can be told from one that was emptied: a new one gets it, one that has lost everything does not. */
async function judgeStore(parts: FleetWatchParts, answers: boolean): Promise<void> {
  const { fleet, store, stateFollower, verdict, ownFolder, log } = parts;
  const { source, storeId, isUp } = stateFollower.status();
  const isNameless = answers && isUp && source === 'store' && storeId === undefined;
  const wasLost = verdict.isLost();
  verdict.see({
    store: storeId === undefined ? (isNameless ? 'nameless' : 'unread') : 'named',
    liveProxies: fleet.proxies().filter(({ isLive }) => isLive).length,
    isRemembered: fleet.isStoreRemembered(),
  });
  if (verdict.isLost() && !wasLost) {
    log.error(
      `the state store is empty, but proxies know rules and keys from it, so it is neither read nor written: put its data back; or copy a proxy's last-good-state.json into ${ownFolder} and restart the control plane; or, to begin with none, remove that file of every proxy and restart them`,
    );
  }
  if (isNameless && verdict.isDecided() && !verdict.isLost()) await store.initialise().catch(() => undefined);
}
