// The counts of the response cache, summed over the heartbeats of all live proxies. Pure.
import { timestamp } from '../../../domain/timestamp.ts';
import type { Cache } from '../../../schemas/types.ts';
import type { CacheFacts } from '../../../store/state/heartbeat-counts.ts';
import type { ProxyView } from '../../fleet.ts';

export interface CacheSources {
  /** As declared. */
  readonly settings: Cache;
  /** Of the state store: where that is Redis, answers lie there, unless the configuration says otherwise. */
  readonly storeEngine: 'sqlite' | 'redis';
  /** Sorted by instance. */
  readonly proxies: readonly Pick<ProxyView, 'instance' | 'isLive' | 'body'>[];
  /** Unix milliseconds. */
  readonly nowMs: number;
}

interface Counts {
  hits: number;
  misses: number;
  bypasses: number;
}

/** The body of `schemas/admin/cache.schema.json`. */
export function cacheListing({ settings, storeEngine, proxies, nowMs }: CacheSources): object {
  const engine = settings.engine ?? (storeEngine === 'redis' ? 'redis' : 'memory');
  const said = proxies.flatMap(({ instance, isLive, body }) =>
    isLive && body.cache !== undefined ? [{ instance, startedMs: body.started_at_ms, facts: body.cache }] : [],
  );
  const sum = (of: (facts: CacheFacts) => number): number => said.reduce((total, { facts }) => total + of(facts), 0);
  // The content of Redis is the same for all proxies.
  const held = (of: (facts: CacheFacts) => number): number =>
    engine === 'redis' ? Math.max(0, ...said.map(({ facts }) => of(facts))) : sum(of);
  return {
    server_time: timestamp(nowMs),
    settings: { ...settings, engine },
    entries: held(({ entries }) => entries),
    bytes: held(({ bytes }) => bytes),
    evicted: sum(({ evicted }) => evicted),
    dropped: sum(({ dropped }) => dropped),
    ...totalOf(said.map(({ facts }) => countsOf(facts))),
    saved_tokens: sum(({ saved_tokens }) => saved_tokens),
    saved_cost: sum(({ saved_nano_dollars }) => saved_nano_dollars) / 1e9,
    endpoints: endpointsOf(said.map(({ facts }) => facts)),
    proxies: said.map(({ instance, startedMs, facts }) => ({
      instance,
      started_at: timestamp(startedMs),
      ...countsOf(facts),
      entries: facts.entries,
      bytes: facts.bytes,
    })),
  };
}

function countsOf({ requests }: CacheFacts): Counts {
  return totalOf(requests.map(([, hits, misses, bypasses]) => ({ hits, misses, bypasses })));
}

function totalOf(counts: readonly Counts[]): Counts {
  const total = { hits: 0, misses: 0, bypasses: 0 };
  for (const { hits, misses, bypasses } of counts) {
    total.hits += hits;
    total.misses += misses;
    total.bypasses += bypasses;
  }
  return total;
}

function endpointsOf(all: readonly CacheFacts[]): object[] {
  const rows = Map.groupBy(
    all.flatMap(({ requests }) => requests),
    ([endpoint]) => endpoint,
  );
  return [...rows]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([endpoint, counts]) => ({
      endpoint,
      ...totalOf(counts.map(([, hits, misses, bypasses]) => ({ hits, misses, bypasses }))),
    }));
}
