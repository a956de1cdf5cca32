// A renewed address of Redis: the state store moves to it first, and once it works there, all else that keeps something in Redis.
import type { RedisUrl } from '../store/state/redis/address.ts';

/**
 * A part with a connection to Redis. `reconnect` resolves to whether the address is in use; it calls `onTrouble` each
 * time that the address does not work yet.
 */
export interface Reconnecting {
  reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

/** One that moves the first, then the others; only trouble of the first is told, because they all go to the same server. */
export function reconnectInTurn(first: Reconnecting, ...others: readonly Reconnecting[]): Reconnecting['reconnect'] {
  return async (redisUrl, onTrouble) => {
    const isInUse = await first.reconnect(redisUrl, onTrouble);
    if (isInUse) for (const other of others) await other.reconnect(redisUrl, () => undefined);
    return isInUse;
  };
}
