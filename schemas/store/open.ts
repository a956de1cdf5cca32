// Opens the state store a plane is configured for: the one place that knows which engine that is.
import { openRedisStore, type RedisStoreOptions } from './redis-store.ts';
import { openSqliteStore, type SqliteStoreOptions } from './sqlite-store.ts';
import type { StateStore } from './state-store.ts';

export interface StateStoreOptions extends SqliteStoreOptions, Partial<RedisStoreOptions> {}

/**
 * Redis when there is a `redisUrl`, otherwise a file in `directory`. Throws a TypeError for options that make no sense; what is
 * wrong besides is said by the first operation.
 */
export function openStateStore({ redisUrl, ...options }: StateStoreOptions): StateStore {
  return redisUrl === undefined ? openSqliteStore(options) : openRedisStore({ ...options, redisUrl });
}
