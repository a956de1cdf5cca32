// Opens the state store a plane is configured for. The choice of the engine is made only here.
import type { KeptOptions } from './kept-items.ts';
import type { RedisUrl } from './redis/address.ts';
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

/** The settings of a plane's store. */
export interface StoreSettings {
  readonly dataDirectory: string;
  /** Redis when there is one. */
  readonly redisUrl: RedisUrl | undefined;
  readonly redisPrefix: string;
  /** Replicas that must have a commit before it counts as done; default 0. */
  readonly redisWaitReplicas?: number;
  readonly masterKey: string | undefined;
  readonly previousMasterKey: string | undefined;
}

/** The store of a plane, whose secrets may be renewed while it runs. */
export interface PlaneStore extends SealedStore {
  /** See `RedisStore`. Without Redis it changes nothing. */
  reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

/** The further parts that a plane gives its store; see `SealOptions`, and `KeptOptions` for the clock. */
export interface PlaneParts extends Pick<SealOptions, 'adoptsUnsigned' | 'isInUse'>, Pick<KeptOptions, 'nowMs'> {}

/** The store of a plane with these settings, its documents and kept items sealed by the master key. */
export function openPlaneStore(settings: StoreSettings, { nowMs, ...sealing }: PlaneParts = {}): PlaneStore {
  const { dataDirectory: directory, redisUrl, redisPrefix: prefix, masterKey, previousMasterKey } = settings;
  const waitReplicas = settings.redisWaitReplicas ?? 0;
  const redis = redisUrl === undefined ? undefined : openRedisStore({ redisUrl, prefix, waitReplicas, nowMs });
  const store = sealDocuments(redis ?? openSqliteStore({ directory, nowMs }), {
    ...sealing,
    masterKey,
    previousMasterKey,
  });
  return { ...store, reconnect: async (...given) => (await redis?.reconnect(...given)) ?? false };
}
