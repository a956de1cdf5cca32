// Opens the response cache a proxy is configured for. The choice of the engine is made only here.

import type { RedisUrl } from '../state/redis/address.ts';
import type { AnswerCache } from './answer-cache.ts';
import { openMemoryCache } from './memory.ts';
import { openRedisCache, type RedisCache } from './redis.ts';

export interface CacheStores {
  /** `engine` undefined: Redis where there is one. Without one it is memory, whatever is asked for. */
  open(engine: 'memory' | 'redis' | undefined, mostBytes: number): AnswerCache;
  /** The address of Redis may be renewed while the process runs; see `RedisStore`. Without Redis that changes nothing. */
  reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

export function cacheStores(settings: {
  readonly redisUrl: RedisUrl | undefined;
  readonly redisPrefix: string;
  /** How many processes share the memory of one proxy. */
  readonly workers: number;
}): CacheStores {
  const { redisPrefix: prefix, workers } = settings;
  let { redisUrl } = settings;
  let opened: RedisCache | undefined;
  return {
    open(engine, mostBytes) {
      if (redisUrl === undefined || engine === 'memory') return openMemoryCache(mostBytes, workers);
      opened = openRedisCache({ redisUrl, prefix, mostBytes });
      return opened;
    },
    async reconnect(url, onTrouble) {
      if (redisUrl === undefined) return false;
      redisUrl = url;
      return (await opened?.reconnect(url, onTrouble)) ?? true;
    },
  };
}
