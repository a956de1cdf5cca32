// Opens the response cache, and says when it does not lie where the configuration wants it.
import type { Log } from '../../plane/log-events.ts';
import { reconnectInTurn } from '../../plane/reconnect-in-turn.ts';
import { cacheStores } from '../../store/cache/open.ts';
import { neighbourStores } from '../../store/cache/semantic/open.ts';
import type { RedisUrl } from '../../store/state/redis/address.ts';
import { ResponseCache, type ResponseCacheOptions } from '../cache/response-cache.ts';
import { SemanticLayer } from '../cache/semantic-layer.ts';

export interface OpenCache {
  readonly cache: ResponseCache;
  readonly reconnect: (redisUrl: RedisUrl, onTrouble: (trouble: Error) => void) => Promise<boolean>;
}

export interface OpenCacheSettings extends Pick<ResponseCacheOptions, 'captures' | 'nowMs'> {
  readonly redisUrl: RedisUrl | undefined;
  readonly redisPrefix: string;
  readonly databaseUrl: string | undefined;
  /** How many processes share the memory of one proxy. */
  readonly workers: number;
}

export function openCache(settings: OpenCacheSettings, log: Log): OpenCache {
  const { redisUrl, captures, nowMs } = settings;
  const stores = cacheStores(settings);
  const open: ResponseCacheOptions['open'] = (engine, mostBytes) => {
    if (engine === 'redis' && redisUrl === undefined)
      log.warn('cache.engine is redis, but there is no REDIS_URL: answers are kept in memory');
    return stores.open(engine, mostBytes);
  };
  const neighbours = neighbourStores(settings);
  const semantic = new SemanticLayer({
    demand(engine) {
      const missing = neighbours.missing(engine);
      if (missing !== undefined) throw new Error(`cache.semantic.engine is ${engine}, but ${missing}`);
    },
    open: (wanted) => neighbours.open(wanted),
    nowMs,
    warn: (sentence) => log.warn(sentence),
  });
  const cache = new ResponseCache({ open, semantic, captures, nowMs });
  return { cache, reconnect: reconnectInTurn(stores, neighbours) };
}
