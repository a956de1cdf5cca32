// The state of targets, collected from the heartbeats of all live proxies. Pure.
import { timestamp } from '../../../domain/timestamp.ts';
import { type AskedTarget, callWindowSeconds } from '../../../store/state/heartbeat-body.ts';
import type { ProxyView } from '../../fleet.ts';

interface TargetRow {
  readonly provider: string;
  readonly model: string;
  calls: number;
  failures: number;
  readonly proxies: object[];
}

type Heard = Pick<ProxyView, 'instance' | 'isLive' | 'body'>;

/** The body of `schemas/admin/targets.schema.json`. `proxies` are sorted by instance. */
export function targetListing(proxies: readonly Heard[], nowMs: number): object {
  const live = proxies.filter(({ isLive }) => isLive);
  const rows = new Map<string, TargetRow>();
  for (const { instance, body } of live) {
    const obstacles = new Map(
      (body.unusable_targets ?? []).map(([provider, model, obstacle, untilMs]) => [
        keyOf(provider, model),
        { obstacle, until: timestamp(untilMs) },
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
    targets: [...rows.values()].sort((a, b) => compare(a.provider, b.provider) || compare(a.model, b.model)),
    complete: live.every(({ body }) => (body.asked_target_count ?? 0) <= (body.asked_targets ?? []).length),
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
