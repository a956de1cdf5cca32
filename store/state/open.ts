// Opens the state store a plane is configured for: the one place that knows which engine that is.
import { openRedisStore, type RedisStoreOptions } from './redis/store.ts';
import { type SealedStore, sealDocuments } from './sealed-store.ts';
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

/** The store of a plane with these settings, its documents sealed by the master key. `adoptsUnsigned`: see `sealDocuments`. */
export function openPlaneStore(settings: StoreSettings, adoptsUnsigned = false): SealedStore {
  const { dataDirectory: directory, redisUrl, redisPrefix: prefix, masterKey, previousMasterKey } = settings;
  const store = openStateStore({ directory, prefix, ...(redisUrl === undefined ? {} : { redisUrl }) });
  return sealDocuments(store, { masterKey, previousMasterKey, adoptsUnsigned });
}
