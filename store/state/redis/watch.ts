// Follows the position of the store: polls after every notification, and at intervals, because notifications may be lost.
import { singleFlight } from '../../single-flight.ts';
import type { StorePosition } from '../state-store.ts';
import { type ConnectionSettings, connectRedis } from './client.ts';

export interface RedisWatch {
  close(): Promise<void>;
}

/** A server that has fallen silent sends no notices, and nothing else tells. Milliseconds. */
const signOfLifeMs = 1_000;

/** The last notice to a watcher when the store gave no position. */
const failing = 'failing';

/** Calls `onChange` when `position` gives another one than last time, when it begins to fail or works again, and at first. */
export function watchRedis(
  settings: ConnectionSettings & { readonly channel: string; readonly pollMs: number },
  position: () => Promise<StorePosition>,
  onChange: () => void,
): RedisWatch {
  /** Undefined: whatever is found is news. */
  let told: string | undefined;
  let wasConnected = false;
  let isClosed = false;
  const polling = singleFlight(pollNow);
  // A connection of its own, as subscribing takes it over. What is wrong with it shows in the other one.
  const connecting = connectRedis({ ...settings, signOfLifeMs }, () => undefined).then(({ client: subscriber }) => {
    subscriber.on('ready', () => {
      subscriber.subscribe(settings.channel).catch(() => undefined);
      // Behind another connection may be another server.
      if (wasConnected) told = undefined;
      wasConnected = true;
      poll();
    });
    subscriber.on('message', poll);
    return subscriber;
  });
  const timer = setInterval(poll, settings.pollMs);
  poll();
  return {
    async close() {
      isClosed = true;
      clearInterval(timer);
      (await connecting).disconnect();
    },
  };

  function poll(): void {
    void polling.next();
  }

  async function pollNow(): Promise<void> {
    if (isClosed) return;
    const found = await position().then(
      ({ storeId, revision, mark }) => `${storeId} ${revision} ${mark}`,
      () => failing,
    );
    const isNews = found !== told;
    told = found;
    if (isNews && !isClosed) onChange();
  }
}
