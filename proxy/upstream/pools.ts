// Connection pools to the providers: one per origin and connect timeout, kept across reloads while some provider uses it.
import { SocketBudget } from './socket-budget.ts';
import { Pool } from './undici.ts';

/** What decides whether two providers may share sockets. */
export interface Origin {
  /** scheme://host:port */
  readonly origin: string;
  readonly connectTimeoutMs: number;
}

export interface Pools {
  /** The pool for an origin, made at first use. */
  get(target: Origin): Pool;
  /** Lets go of the pools of all other origins. Calls in flight on them finish; idle sockets close by their keep-alive timeout. */
  keep(targets: readonly Origin[]): void;
}

/** `mostSockets`: how many there may be to all origins together. */
export function createPools(mostSockets: number): Pools {
  const pools = new Map<string, Pool>();
  // A pool cannot close its idle sockets alone: it ends with its last call, and the next call makes another one.
  const budget = new SocketBudget(mostSockets, () => {
    for (const [key, pool] of pools) {
      if (pool.stats.free === 0) continue;
      pools.delete(key);
      void pool.close();
    }
  });
  const keyOf = ({ origin, connectTimeoutMs }: Origin): string => `${origin} ${connectTimeoutMs}`;
  return {
    get(target) {
      const key = keyOf(target);
      let pool = pools.get(key);
      if (pool === undefined) {
        // Deadlines are ours (upstream/deadlines.ts): undici's own tick too coarsely, so they are off.
        pool = new Pool(target.origin, {
          connect: budget.connector(target.connectTimeoutMs),
          headersTimeout: 0,
          bodyTimeout: 0,
          pipelining: 1,
        });
        pools.set(key, pool);
      }
      return pool;
    },
    keep(targets) {
      const kept = new Set(targets.map(keyOf));
      for (const key of pools.keys()) if (!kept.has(key)) pools.delete(key);
    },
  };
}
