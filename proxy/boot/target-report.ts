// The targets in a heartbeat: those that are not usable now with the reason, and the results of those that were asked.
import {
  type AskedTarget,
  type HeartbeatBody,
  mostAskedTargets,
  mostUnusableTargets,
  type UnusableTarget,
} from '../../store/state/heartbeat-body.ts';
import type { KnownTarget, TargetStates } from '../targets/target-states.ts';

/** The first of each, and how many there are in all. `nowMs`: Unix milliseconds, whole. */
export function reportTargets(
  states: Pick<TargetStates, 'known'>,
  nowMs: number,
): Pick<HeartbeatBody, 'unusable_targets' | 'unusable_target_count' | 'asked_targets' | 'asked_target_count'> {
  const unusable: UnusableTarget[] = [];
  const asked: AskedTarget[] = [];
  let count = 0;
  let askedCount = 0;
  for (const target of states.known()) {
    const { provider, model, state } = target;
    if (state.wasAsked || state.calls.calls(nowMs) > 0) {
      askedCount += 1;
      if (askedCount <= mostAskedTargets) asked.push(describe(target, nowMs));
    }
    const obstacle = state.obstacle(nowMs);
    if (obstacle === undefined) continue;
    count += 1;
    if (count > mostUnusableTargets) continue;
    const { reason, sinceMs } = obstacle;
    const untilMs = Math.ceil(state.usableAtMs(nowMs));
    const named = [provider, model, reason, untilMs] as const;
    unusable.push(sinceMs === undefined ? named : [...named, sinceMs]);
  }
  return {
    unusable_targets: unusable,
    unusable_target_count: count,
    asked_targets: asked,
    asked_target_count: askedCount,
  };
}

function describe({ provider, model, state }: KnownTarget, nowMs: number): AskedTarget {
  const { breaker, calls, latency, quota } = state;
  const p95 = latency.p95(true) ?? latency.p95(false);
  const limits = [...quota.limits(nowMs)].map(
    ([dimension, [remaining, limit]]) =>
      [dimension, whole(remaining), limit === undefined ? null : whole(limit)] as const,
  );
  const times = [latency.mean(), p95].map((ms) => (ms === undefined ? null : Math.round(ms)));
  const [mean = null, high = null] = times;
  return [provider, model, breaker.state(nowMs), calls.calls(nowMs), calls.failures(nowMs), mean, high, limits];
}

/** A provider may say any number. */
function whole(number: number): number {
  return Math.min(Math.floor(number), Number.MAX_SAFE_INTEGER);
}
