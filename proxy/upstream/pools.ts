// Connections to the providers: a pool for each origin and way to reach it, kept across reloads while some provider uses it.
import { hostKind } from '../../gitops/check/address-kind.ts';
import { ClientPool } from './client-pool.ts';
import { dialler, type Network, type Reach, systemNetwork } from './dial/dial.ts';
import { Names } from './dial/names.ts';
import { SocketBudget } from './dial/socket-budget.ts';
import type { Connector } from './undici.ts';

/** The properties that two providers must share to share sockets. */
export interface Origin extends Reach {
  /** scheme://host:port */
  readonly origin: string;
}

export interface Pools {
  /** The pool for an origin, made at first use. */
  get(target: Origin): ClientPool;
  /**
   * Changes nothing; throws for what is no URL. The function that it returns lets go of the pools of all other origins: calls in flight on
   * them finish, idle sockets close by their keep-alive timeout.
   */
  prepare(targets: readonly Origin[]): () => void;
  /** An origin is reached in another way now: its next calls use another pool. */
  renewed(target: Origin): void;
  /** Closes the sockets without a call. */
  closeFree(): void;
}

/** `mostSockets`: how many there may be to all origins together. `given` takes the place of parts of the system's network. */
export function createPools(mostSockets: number, given: Partial<Network> = {}): Pools {
  const system = { ...systemNetwork, ...given };
  const names = new Names(system.resolve, system.names);
  const network: Network = { ...system, resolve: (name, done) => names.resolve(name, done) };
  const pools = new Map<string, { readonly pool: ClientPool; readonly name: string | undefined }>();
  /** A provider is the same object from one reload to the next, so a call finds its pool without making a text. */
  let known = new WeakMap<Origin, ClientPool>();
  const closeFree = (): void => {
    for (const { pool } of pools.values()) pool.closeFree();
  };
  const budget = new SocketBudget(mostSockets, closeFree);
  const bounded = (connect: Connector): Connector => budget.bounded(connect);
  const keyOf = ({ origin, connectTimeoutMs, allowsPrivate = false, proxy, authorities }: Origin): string =>
    JSON.stringify([origin, connectTimeoutMs, allowsPrivate, proxy?.origin, proxy?.authorization, authorities?.id]);
  const poolOf = (target: Origin): ClientPool => {
    const key = keyOf(target);
    const pool = pools.get(key)?.pool ?? new ClientPool(target.origin, dialler(target, network, bounded));
    pools.set(key, { pool, name: nameOf(target) });
    known.set(target, pool);
    return pool;
  };
  // Connections are kept for as long as they are used: without this they would outlive a move of their provider.
  setInterval(() => {
    for (const { pool, name } of pools.values()) {
      if (name === undefined || pool.open === 0) continue;
      names.resolve(name, (error, addresses) => {
        if (error === null) pool.compare(new Set(addresses.map(({ address }) => address)));
      });
    }
  }, system.lookMs).unref();
  return {
    get: (target) => known.get(target) ?? poolOf(target),
    prepare(targets) {
      const kept = new Set(targets.map(keyOf));
      const keptNames = new Set(targets.flatMap((target) => nameOf(target) ?? []));
      return () => {
        for (const key of pools.keys()) if (!kept.has(key)) pools.delete(key);
        known = new WeakMap();
        names.keep(keptNames);
      };
    },
    renewed: (target) => void known.delete(target),
    closeFree,
  };
}

/** The name that is resolved for connections to an origin, or to the proxy on the way; undefined: none, but an address. */
function nameOf({ origin, proxy }: Origin): string | undefined {
  const { hostname } = new URL(proxy?.origin ?? origin);
  return hostKind(hostname) === undefined ? hostname : undefined;
}
