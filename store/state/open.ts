// Opens the state store a plane is configured for: the one place that knows which engine that is.
import { openRedisStore, type RedisStoreOptions } from './redis/store.ts';
import { type SealedStore, sealDocuments } from './sealed-store.ts';
import type { SealOptions } from './seals.ts';
import { openSqliteStore, type SqliteStoreOptions } from './sqlite/store.ts';
import type { StateStore } from './state-store.ts';

export interface StateStoreOptions extends SqliteStoreOptions, Partial<RedisStoreOptions> {}

/**
 * Redis when there is a `redisUrl`, otherwise a file in `directory`. Throws a TypeError for options that make no sense; what is
 * wrong besides is said by the first operation.
 */
export function openStateStore({ redisUrl, ...options }: StateStoreOptions): StateStore {
  return redisUrl === undefined ? openSqliteStore(options) : openRedisStore({ ...options, redisUrl });
}

/** What a plane's settings say of its store. */
export interface StoreSettings {
  readonly dataDirectory: string;
  /** Redis when there is one. */
  readonly redisUrl: string | undefined;
  readonly redisPrefix: string;
  readonly masterKey: string | undefined;
  readonly previousMasterKey: string | undefined;
}

/** The store of a plane, whose secrets may be renewed while it runs. */
export interface PlaneStore extends SealedStore {
  /** See `RedisStore`. Without Redis it changes nothing. */
  reconnect(redisUrl: string, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

/** The store of a plane with these settings, its documents sealed by the master key. `sealing`: see `SealOptions`. */
export function openPlaneStore(
  settings: StoreSettings,
  sealing: Pick<SealOptions, 'adoptsUnsigned' | 'isInUse'> = {},
): PlaneStore {
  const { dataDirectory: directory, redisUrl, redisPrefix: prefix, masterKey, previousMasterKey } = settings;
  const redis = redisUrl === undefined ? undefined : openRedisStore({ redisUrl, prefix });
  const store = sealDocuments(redis ?? openSqliteStore({ directory }), { ...sealing, masterKey, previousMasterKey });
  return { ...store, reconnect: async (...given) => (await redis?.reconnect(...given)) ?? false };
}
