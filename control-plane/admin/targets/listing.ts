// The state of targets, collected from the heartbeats of all live proxies, and which of them operators have taken out. Pure.
import { type TargetDrain, TargetDrains } from '../../../domain/targets/target-drain.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import { type AskedTarget, callWindowSeconds } from '../../../store/state/heartbeat-body.ts';
import type { ProxyView } from '../../fleet.ts';
import { drainRow } from './drains.ts';

interface TargetRow {
  readonly provider: string;
  readonly model: string;
  calls: number;
  failures: number;
  readonly proxies: object[];
}

type Heard = Pick<ProxyView, 'instance' | 'isLive' | 'body'>;

export interface TargetSources {
  /** Sorted by instance. */
  readonly proxies: readonly Heard[];
  /** In force. */
  readonly drains: readonly TargetDrain[];
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** The state store does not answer: the drains are those in force here. */
  readonly isStale: boolean;
}

/** The body of `schemas/admin/targets.schema.json`. */
export function targetListing({ proxies, drains, nowMs, isStale }: TargetSources): object {
  const live = proxies.filter(({ isLive }) => isLive);
  const rows = new Map<string, TargetRow>();
  const inForce = new TargetDrains(drains);
  for (const { provider, model } of drains)
    if (model !== undefined) rows.set(keyOf(provider, model), { provider, model, calls: 0, failures: 0, proxies: [] });
  for (const { instance, body } of live) {
    const obstacles = new Map(
      (body.unusable_targets ?? []).map(([provider, model, obstacle, untilMs, sinceMs]) => [
        keyOf(provider, model),
        { obstacle, ...(sinceMs === undefined ? {} : { since: timestamp(sinceMs) }), until: timestamp(untilMs) },
      ]),
    );
    for (const asked of body.asked_targets ?? []) {
      const [provider, model, , calls, failures] = asked;
      const key = keyOf(provider, model);
      const row = rows.get(key) ?? { provider, model, calls: 0, failures: 0, proxies: [] };
      rows.set(key, row);
      row.calls += calls;
      row.failures += failures;
      row.proxies.push({ instance, ...describe(asked), ...obstacles.get(key) });
    }
  }
  return {
    server_time: timestamp(nowMs),
    window_seconds: callWindowSeconds,
    targets: [...rows.values()]
      .sort((a, b) => compare(a.provider, b.provider) || compare(a.model, b.model))
      .map((row) => {
        const drain = inForce.of(row.provider, row.model);
        return drain === undefined ? row : { ...row, drain: drainRow(drain) };
      }),
    drains: drains.toSorted((a, b) => compare(a.key, b.key)).map(drainRow),
    complete: live.every(({ body }) => (body.asked_target_count ?? 0) <= (body.asked_targets ?? []).length),
    ...(isStale ? { stale: true } : {}),
  };
}

function describe([, , breaker, calls, failures, mean, p95, limits]: AskedTarget): object {
  return {
    breaker,
    calls,
    failures,
    ...(mean === null ? {} : { first_byte_ms: mean }),
    ...(p95 === null ? {} : { first_byte_p95_ms: p95 }),
    limits: limits.map(([dimension, remaining, limit]) => ({
      dimension,
      remaining,
      ...(limit === null ? {} : { limit }),
    })),
  };
}

function keyOf(provider: string, model: string): string {
  return `${provider}\n${model}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
