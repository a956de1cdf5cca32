// A fleet of real proxies on one Redis, with the caps of the measurement, its faults, and what its metrics say of their cost.
import { setTimeout as pause } from 'node:timers/promises';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, readMetric } from '../support/gateway.ts';
import { startProcess } from '../support/process.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';
import { type Fault, type Phase, phases, plans } from './scenarios.ts';

export const model = 'chat-model';

/** What the proxies counted, added up. Seconds for `waited`. */
export interface Costs {
  readonly beats: number;
  readonly exchanges: number;
  readonly waits: number;
  readonly waited: number;
  readonly withoutStore: number;
}

/** Starts proxies, a control plane, Redis with an append-only file and a provider that answers at once. */
export async function startSharedFleet(t: Teardown, proxies: number): Promise<Fleet> {
  const upstream = await startProcess({ t, entry: 'test/bench/upstream.ts' });
  return await startFleet(t, {
    store: 'redis',
    proxies,
    config: configOf('replica'),
    upstream: { url: `${upstream.address}/v1`, models: [model] },
    env: { USAGE_ENABLED: 'false' },
  });
}

/** The user path of a load. */
export function userPathOf(phase: Phase, planIndex: number): string {
  return `/phase-${phases.indexOf(phase)}/load-${planIndex}`;
}

/** Every phase has counters of its own. */
function configOf(scope: Phase['scope']): object {
  const rules = phases.flatMap((phase) =>
    plans.map(({ cap, periodSeconds, onStoreLoss }, index) => ({
      path: userPathOf(phase, index),
      limits: [{ period_seconds: periodSeconds, max_requests: cap, on_store_loss: onStoreLoss }],
    })),
  );
  return {
    server: { access_log: 'off' },
    audit: { enabled: false },
    rate_limits: { scope, user_paths: rules },
  };
}

/** Puts a scope in force in every proxy, and waits until they share. */
export async function useScope(fleet: Fleet, scope: Phase['scope']): Promise<void> {
  const before = await Promise.all(fleet.proxies.map(revisionOf));
  fleet.proxies[0]?.writeConfig({ 'gateway.yaml': configOf(scope) });
  await waitFor(`scope ${scope} in every proxy`, async () => {
    const now = await Promise.all(fleet.proxies.map(revisionOf));
    return now.every((revision, index) => revision !== before[index]);
  });
  if (scope === 'replica') return;
  await waitFor('every proxy to share the caps', async () => {
    const found = await Promise.all(fleet.proxies.map((proxy) => proxy.metric('gateway_rate_limit_replicas')));
    return found.every((replicas) => replicas === fleet.proxies.length);
  });
}

async function revisionOf(proxy: Gateway): Promise<string | undefined> {
  return /^gateway_config_info\{[^}]*revision="([^"]*)"/m.exec(await proxy.metrics())?.[1];
}

const none: Costs = { beats: 0, exchanges: 0, waits: 0, waited: 0, withoutStore: 0 };

/** What proxies have counted since their start. */
export async function costsOf(proxies: readonly Gateway[]): Promise<Costs> {
  const texts = await Promise.all(proxies.map((proxy) => proxy.metrics()));
  return texts.map(readCosts).reduce((sum, costs) => addCosts(sum, costs), none);
}

function readCosts(text: string): Costs {
  const read = (name: string, labels?: Record<string, string>): number =>
    readMetric(text, `gateway_rate_limit_${name}`, labels) ?? 0;
  return {
    beats: read('exchanges_total', { reason: 'beat' }),
    exchanges: read('exchanges_total'),
    waits: read('waits_total'),
    waited: read('wait_seconds_total'),
    withoutStore: read('fallback_decisions_total'),
  };
}

/** The sum. */
function addCosts(one: Costs, other: Costs): Costs {
  return {
    beats: one.beats + other.beats,
    exchanges: one.exchanges + other.exchanges,
    waits: one.waits + other.waits,
    waited: one.waited + other.waited,
    withoutStore: one.withoutStore + other.withoutStore,
  };
}

/** What was counted between two looks, and by proxies that were killed meanwhile. */
export function costsBetween(before: Costs, after: Costs, killed: Costs): Costs {
  const all = addCosts(after, killed);
  return {
    beats: all.beats - before.beats,
    exchanges: all.exchanges - before.exchanges,
    waits: all.waits - before.waits,
    waited: all.waited - before.waited,
    withoutStore: all.withoutStore - before.withoutStore,
  };
}

/** Does the fault twice in the next seconds: after a third of them and after two. Gives what killed proxies had counted. */
export async function cause(fault: Fault, fleet: Fleet, seconds: number): Promise<Costs> {
  let lost = none;
  if (fault === 'none') return lost;
  const startedMs = performance.now();
  for (const time of [1, 2]) {
    await pause(Math.max(0, startedMs + (time * seconds * 1_000) / 3 - performance.now()));
    if (fault === 'store') {
      await fleet.redis?.kill();
      await pause(500);
      await fleet.redis?.restart();
      continue;
    }
    const victims = victimsOf(fleet.proxies, time);
    lost = addCosts(lost, await costsOf(victims));
    await Promise.all(victims.map((proxy) => proxy.process.kill()));
    await pause(500);
    await Promise.all(victims.map((proxy) => proxy.restart()));
  }
  return lost;
}

/** A third of the proxies, at least one; others each time, where there are enough. */
function victimsOf(proxies: readonly Gateway[], time: number): readonly Gateway[] {
  const count = Math.ceil(proxies.length / 3);
  const first = ((time - 1) * count) % proxies.length;
  return [...proxies, ...proxies].slice(first, first + count);
}
