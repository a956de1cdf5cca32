// A store without an id: is it new, or has it lost everything? Whoever remembers documents from it can tell, and that are its proxies.
import { heartbeatIntervalMs, heartbeatLifeMs } from '../../store/state/heartbeat-body.ts';

/** What one look at the store and the fleet has found. */
export interface Sight {
  /** `unread`: the store gave no answer, or documents of it are known here. */
  readonly store: 'unread' | 'nameless' | 'named';
  readonly liveProxies: number;
  /** Some live proxy knows documents of a store with an id. */
  readonly isRemembered: boolean;
}

export interface StoreVerdict {
  /** Call it after every look. */
  see(sight: Sight): void;
  /** A store without an id was met between two looks. */
  meet(): void;
  /** The store has lost documents that only proxies know. It stays so until it has them again, or the proxies say that they know none. */
  isLost(): boolean;
  /** Nobody who could know documents of the store was given too little time to say so. */
  isDecided(): boolean;
}

/** `nowMs`: Unix milliseconds. */
export function createVerdict(nowMs: () => number): StoreVerdict {
  let namelessSinceMs: number | undefined;
  let liveProxies = 0;
  let isLost = false;
  return {
    see(sight) {
      ({ liveProxies } = sight);
      if (sight.store !== 'nameless') {
        namelessSinceMs = undefined;
        if (sight.store === 'named') isLost = false;
        return;
      }
      namelessSinceMs ??= nowMs();
      // A proxy that is gone has not forgotten anything.
      isLost = sight.isRemembered || (isLost && liveProxies === 0);
    },
    meet() {
      namelessSinceMs ??= nowMs();
    },
    isLost: () => isLost,
    isDecided() {
      if (isLost || namelessSinceMs === undefined) return true;
      // A proxy that was not heard for so long is not there. Where one is, so are the others soon.
      return nowMs() - namelessSinceMs >= (liveProxies > 0 ? 2 * heartbeatIntervalMs : heartbeatLifeMs);
    },
  };
}
