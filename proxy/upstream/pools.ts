// Connections to the providers: a pool per origin and connect timeout, kept across reloads while some provider uses it.
import { ClientPool } from './client-pool.ts';
import { SocketBudget } from './socket-budget.ts';

/** What decides whether two providers may share sockets. */
export interface Origin {
  /** scheme://host:port */
  readonly origin: string;
  readonly connectTimeoutMs: number;
}

export interface Pools {
  /** The pool for an origin, made at first use. */
  get(target: Origin): ClientPool;
  /** Lets go of the pools of all other origins. Calls in flight on them finish; idle sockets close by their keep-alive timeout. */
  keep(targets: readonly Origin[]): void;
  /** Closes the sockets without a call. */
  closeFree(): void;
}

/** `mostSockets`: how many there may be to all origins together. */
export function createPools(mostSockets: number): Pools {
  const pools = new Map<string, ClientPool>();
  /** A provider is the same object from one reload to the next, so a call finds its pool without making a text. */
  let known = new WeakMap<Origin, ClientPool>();
  const closeFree = (): void => {
    for (const pool of pools.values()) pool.closeFree();
  };
  const budget = new SocketBudget(mostSockets, closeFree);
  const keyOf = ({ origin, connectTimeoutMs }: Origin): string => `${origin} ${connectTimeoutMs}`;
  const poolOf = (target: Origin): ClientPool => {
    const key = keyOf(target);
    const pool = pools.get(key) ?? new ClientPool(target.origin, budget.connector(target.connectTimeoutMs));
    pools.set(key, pool);
    known.set(target, pool);
    return pool;
  };
  return {
    get: (target) => known.get(target) ?? poolOf(target),
    keep(targets) {
      const kept = new Set(targets.map(keyOf));
      for (const key of pools.keys()) if (!kept.has(key)) pools.delete(key);
      known = new WeakMap();
    },
    closeFree,
  };
}
