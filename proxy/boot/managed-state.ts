// The managed state as the proxy follows it: rules and keys go to the publisher; what a store has lost of this proxy's own is written to it again.
import { join } from 'node:path';
import type { KeyUses } from '../../plane/access/key-uses.ts';
import type { ConfigPins } from '../../plane/config-pins.ts';
import type { ConfigRollouts } from '../../plane/config-rollouts.ts';
import { type Log, logStateEvent } from '../../plane/log-events.ts';
import { followState } from '../../store/state/follow-state.ts';
import { reseededKind } from '../../store/state/merge-states.ts';
import type { FollowStateOptions, StateFollower } from '../../store/state/state-follower.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Publisher } from '../snapshot/publish.ts';

export interface ManagedStateParts extends Pick<FollowStateOptions, 'store'> {
  /** Where the copy lies. */
  readonly ownFolder: string;
  readonly publisher: Pick<Publisher, 'documents'>;
  readonly pins: Pick<ConfigPins, 'documents'>;
  readonly rollouts: Pick<ConfigRollouts, 'documents'>;
  readonly limiter: Pick<Limiter, 'exportAgain'>;
  readonly keyUses: Pick<KeyUses, 'writeAgain'>;
  /** See `createKeyPathWarnings`. */
  readonly warnOfKeyPaths: (documents: StoredState['documents']) => void;
  readonly log: Log;
}

/** Resolves with the first state in force: the store's, else the copy's, else an empty one. */
export function followManagedState(parts: ManagedStateParts): Promise<StateFollower> {
  const { store, ownFolder, publisher, pins, rollouts, limiter, keyUses, warnOfKeyPaths, log } = parts;
  let lastReseeded: number | undefined;
  const writeAgain = (): void => {
    limiter.exportAgain();
    keyUses.writeAgain();
  };
  return followState({
    store,
    copyPath: join(ownFolder, 'last-good-state.json'),
    apply(state, origin) {
      const reseeded = state.kinds.get(reseededKind);
      if (reseeded !== lastReseeded) writeAgain();
      lastReseeded = reseeded;
      publisher.documents(state, origin);
      pins.documents(state.documents);
      rollouts.documents(state.documents);
      warnOfKeyPaths(state.documents);
    },
    report(event) {
      logStateEvent(log, event);
      // With the documents went the counters and the uses of keys.
      if (['emptied', 'behind', 'replaced'].includes(event.kind)) writeAgain();
    },
  });
}
