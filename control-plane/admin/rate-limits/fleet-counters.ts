// Adds up the counters of all live proxies for the listing.
import {
  heartbeatLifeMs,
  type LimitScope,
  type LimitStoreState,
  readHeartbeatBody,
} from '../../../store/state/heartbeat-body.ts';
import type { Heartbeat } from '../../../store/state/state-store.ts';

export interface LiveCounters {
  /** The counters of a rule in this epoch, summed over all live proxies. */
  of(key: string, epoch: number): Used;
  /** Requests in flight under a rule, on each live proxy that has some; a reset does not touch them. */
  inFlight(key: string): readonly number[];
  /** How often a rule has refused on all live proxies, since each of them has started. */
  refused(key: string): number;
  /** What each live proxy has counted itself of a rule in this epoch. Proxies without any are left out. */
  parts(key: string, epoch: number): readonly ProxyPart[];
  /** Where the live proxies hold their caps; those are left out that do not say it. */
  readonly scopes: readonly ProxyScope[];
}

export interface ProxyPart {
  readonly instance: string;
  readonly requestsUsed: number;
  readonly tokensUsed: number;
  /** What its open requests have set aside. */
  readonly tokensReserved: number;
  readonly inFlight: number;
}

export interface ProxyScope {
  readonly scope: LimitScope;
  readonly store: LimitStoreState;
}

export interface Used {
  readonly requestsUsed: number;
  readonly tokensUsed: number;
  /** What open requests have set aside. */
  readonly tokensReserved: number;
  /** When the current usage began on the earliest proxy, in Unix milliseconds; Infinity without usage. */
  readonly startMs: number;
  /** When all usage will have left the window on every proxy, in Unix milliseconds; -Infinity without usage. */
  readonly endMs: number;
}

const unused: Used = {
  requestsUsed: 0,
  tokensUsed: 0,
  tokensReserved: 0,
  startMs: Number.POSITIVE_INFINITY,
  endMs: Number.NEGATIVE_INFINITY,
};

/** Of one rule in one epoch. */
interface Counted {
  readonly use: Used;
  readonly parts: readonly ProxyPart[];
}

/** Reads the heartbeats and adds up their counters. Rejects with `StoreUnavailable`. */
export async function readLiveCounters(
  fleet: { refresh(): Promise<void>; heartbeats(): readonly Heartbeat[] },
  nowMs: () => number,
): Promise<LiveCounters> {
  await fleet.refresh();
  return liveCounters(fleet.heartbeats(), nowMs());
}

/** Adds up the counters of the live heartbeats; skips a heartbeat with an unreadable body. */
export function liveCounters(heartbeats: readonly Heartbeat[], nowMs: number): LiveCounters {
  /** By rule key and epoch. */
  const used = new Map<string, Map<number, Counted>>();
  const flying = new Map<string, number[]>();
  const refusals = new Map<string, number>();
  const scopes: ProxyScope[] = [];
  for (const { instance, atMs, body } of heartbeats) {
    if (nowMs - atMs >= heartbeatLifeMs) continue;
    const {
      counters = [],
      windows = [],
      refused = [],
      limit_scope: scope,
      limit_store: store = 'up',
    } = readHeartbeatBody(body) ?? {};
    if (scope !== undefined) scopes.push({ scope, store });
    for (const [key, count] of refused) refusals.set(key, (refusals.get(key) ?? 0) + count);
    for (const [index, [key, epoch, requestsUsed, tokensUsed, inFlight, tokensReserved = 0]] of counters.entries()) {
      const epochs = used.get(key) ?? new Map<number, Counted>();
      used.set(key, epochs);
      const { use: before, parts } = epochs.get(epoch) ?? { use: unused, parts: [] };
      const use = {
        requestsUsed: before.requestsUsed + requestsUsed,
        tokensUsed: before.tokensUsed + tokensUsed,
        tokensReserved: before.tokensReserved + tokensReserved,
        startMs: Math.min(before.startMs, windows[index]?.[0] ?? unused.startMs),
        endMs: Math.max(before.endMs, windows[index]?.[1] ?? unused.endMs),
      };
      epochs.set(epoch, { use, parts: [...parts, { instance, requestsUsed, tokensUsed, tokensReserved, inFlight }] });
      if (inFlight > 0) flying.set(key, [...(flying.get(key) ?? []), inFlight]);
    }
  }
  return {
    of: (key, epoch) => used.get(key)?.get(epoch)?.use ?? unused,
    inFlight: (key) => flying.get(key) ?? [],
    refused: (key) => refusals.get(key) ?? 0,
    parts: (key, epoch) => used.get(key)?.get(epoch)?.parts ?? [],
    scopes,
  };
}
