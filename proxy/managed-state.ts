// The managed state as the proxy follows it: rules and keys go to the publisher; counters that a store has lost are written to it again.
import { join } from 'node:path';
import { type Log, logStateEvent } from '../plane/log-events.ts';
import { type FollowStateOptions, followState, reseededKind, type StateFollower } from '../store/state/follow-state.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Publisher } from './snapshot/publish.ts';

export interface ManagedStateParts extends Pick<FollowStateOptions, 'store'> {
  /** Where the copy lies. */
  readonly ownFolder: string;
  readonly publisher: Pick<Publisher, 'documents'>;
  readonly limiter: Pick<Limiter, 'exportAgain'>;
  readonly log: Log;
}

/** Resolves with the first state in force: the store's, else the copy's, else an empty one. */
export function followManagedState(parts: ManagedStateParts): Promise<StateFollower> {
  const { store, ownFolder, publisher, limiter, log } = parts;
  let lastReseeded: number | undefined;
  return followState({
    store,
    copyPath: join(ownFolder, 'last-good-state.json'),
    apply(state, origin) {
      const reseeded = state.kinds.get(reseededKind);
      if (reseeded !== lastReseeded) limiter.exportAgain();
      lastReseeded = reseeded;
      publisher.documents(state, origin);
    },
    report(event) {
      logStateEvent(log, event);
      // With the documents the counters went.
      if (event.kind === 'emptied' || event.kind === 'replaced') limiter.exportAgain();
    },
  });
}
