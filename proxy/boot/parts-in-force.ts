// The parts of a proxy that keep to the config in force, in the order of their commits.
import type { PartInForce } from '../../plane/put-in-force.ts';
import type { Ledgers } from '../budgets/ledgers.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { Discovery } from '../discovery/discovery.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Prober } from '../probes/prober.ts';
import type { ProxyServer } from '../server.ts';
import type { Current } from '../snapshot/current.ts';
import type { Publication } from '../snapshot/publish.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { ProviderKeys } from '../upstream/api-keys.ts';
import type { Origin, Pools } from '../upstream/pools.ts';
import type { Lifecycle } from './lifecycle.ts';

export interface PublishedParts {
  readonly cache: Pick<ResponseCache, 'prepare'>;
  readonly pools: Pick<Pools, 'prepare'>;
  /** The proxy asks it whatever the config says. */
  readonly controlPlane: Origin;
  readonly providerKeys: Pick<ProviderKeys, 'keep'>;
  readonly discovery: Pick<Discovery, 'keep'>;
  readonly server: Pick<ProxyServer, 'prepare'>;
  readonly observed: Pick<Metrics, 'keep'>;
  readonly targets: Pick<TargetStates, 'keep'>;
  readonly probes: Pick<Prober, 'keep'>;
  readonly limiter: Pick<Limiter, 'prepare'>;
  readonly ledgers: Pick<Ledgers, 'keep'>;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  /** Connects to the limits of the fleet once there are some. */
  readonly limitLink: { follow(isShared: boolean): void };
  readonly current: Pick<Current, 'swap'>;
  readonly lifecycle: Pick<Lifecycle, 'isEnforcing'>;
}

/** Requests see the snapshot last: all that serves them is ready then. */
export function partsInForce(parts: PublishedParts): PartInForce<Publication>[] {
  const { cache, pools, controlPlane, providerKeys, discovery, server, observed, targets, limiter } = parts;
  const { current, lifecycle } = parts;
  return [
    { name: 'response cache', prepare: ({ snapshot }) => cache.prepare(snapshot.cache) },
    {
      name: 'connections to providers',
      prepare({ snapshot: { upstreams, guardrails } }) {
        return pools.prepare([...upstreams, ...guardrails.flatMap(({ hook = [] }) => hook), controlPlane]);
      },
    },
    { name: 'listener', prepare: ({ snapshot }) => server.prepare(snapshot) },
    { name: 'rate limits', prepare: ({ rules, enforcement }) => limiter.prepare(rules, enforcement) },
    {
      name: 'budgets',
      prepare: (next) => () => parts.ledgers.keep(next.budgets, next.enforcement, Math.floor(parts.nowMs())),
    },
    { name: 'limits of the fleet', prepare: (next) => () => parts.limitLink.follow(next.enforcement.isShared) },
    // The commits of these set values and fill maps; nothing in them can fail.
    { name: 'keys of providers', prepare: (next) => () => providerKeys.keep(next.snapshot.upstreams) },
    {
      name: 'discovery of models',
      prepare: (next) => () => discovery.keep(next.snapshot.upstreams, next.snapshot.revision),
    },
    { name: 'metrics', prepare: (next) => () => observed.keep(next.snapshot) },
    { name: 'targets', prepare: (next) => () => targets.keep(next.snapshot.routes.targets, next.drains) },
    { name: 'probes', prepare: (next) => () => parts.probes.keep(next.snapshot.upstreams) },
    { name: 'snapshot', prepare: (next) => () => current.swap(next.snapshot) },
    {
      name: 'heartbeat',
      prepare: (next) => () => {
        lifecycle.isEnforcing = next.enforcement.isEnforced;
      },
    },
  ];
}
