// Opens the semantic cache that is configured. The engines and what each needs are known only here.
import { getLoadablePath } from 'sqlite-vec';
import type { RedisUrl } from '../../state/redis/address.ts';
import { openEmbeddedNeighbours } from './embedded.ts';
import type { Neighbours } from './neighbours.ts';
import { openPostgresNeighbours } from './postgres.ts';
import { openRedisNeighbours, type RedisNeighbours } from './redis.ts';

export type NeighbourEngine = 'embedded' | 'postgres' | 'redis';

export interface NeighbourSettings {
  readonly engine: NeighbourEngine;
  readonly mostEntries: number;
}

export interface NeighbourStores {
  /** A missing part of an engine in this process, as a sentence; undefined: none that shows without asking a server. */
  missing(engine: NeighbourEngine): string | undefined;
  open(settings: NeighbourSettings): Neighbours;
  /** The address of Redis may be renewed while the process runs; see `RedisStore`. Without Redis that changes nothing. */
  reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

/** Deadline of a question. Milliseconds. */
const timeoutMs = 1_000;

export function neighbourStores(settings: {
  readonly databaseUrl: string | undefined;
  readonly redisUrl: RedisUrl | undefined;
  readonly redisPrefix: string;
  /** How many processes share the memory of one proxy. */
  readonly workers: number;
}): NeighbourStores {
  const { databaseUrl, redisPrefix: prefix, workers } = settings;
  let { redisUrl } = settings;
  let opened: RedisNeighbours | undefined;
  return {
    missing(engine) {
      if (engine === 'embedded') return missingExtension();
      if (engine === 'redis') return redisUrl === undefined ? 'there is no REDIS_URL' : undefined;
      return databaseUrl === undefined ? 'there is no DATABASE_URL' : undefined;
    },
    open({ engine, mostEntries }) {
      if (engine === 'embedded') return openEmbeddedNeighbours({ mostEntries, processes: workers, timeoutMs });
      if (engine === 'redis') {
        if (redisUrl === undefined) throw new Error('there is no REDIS_URL');
        opened = openRedisNeighbours({ redisUrl, prefix, mostEntries, timeoutMs });
        return opened;
      }
      if (databaseUrl === undefined) throw new Error('there is no DATABASE_URL');
      return openPostgresNeighbours({ databaseUrl, mostEntries, timeoutMs });
    },
    async reconnect(url, onTrouble) {
      if (redisUrl === undefined) return false;
      redisUrl = url;
      return (await opened?.reconnect(url, onTrouble)) ?? true;
    },
  };
}

/** Why it cannot be loaded on this machine, as a sentence; undefined: it can. `find` gives its path, or throws. */
export function missingExtension(find: () => string = getLoadablePath): string | undefined {
  try {
    find();
    return undefined;
  } catch (error) {
    const [reason] = String(error instanceof Error ? error.message : error).split('\n');
    return `the extension sqlite-vec is not installed for ${process.platform} on ${process.arch} (${reason})`;
  }
}
