// What a heartbeat says of targets: those that are not usable at this moment, and why.
import { type HeartbeatBody, mostUnusableTargets, type UnusableTarget } from '../store/state/heartbeat-body.ts';
import type { TargetStates } from './targets/target-states.ts';

/** The first hundred, and how many there are in all. `nowMs`: Unix milliseconds, whole. */
export function reportTargets(
  states: Pick<TargetStates, 'known'>,
  nowMs: number,
): Pick<HeartbeatBody, 'unusable_targets' | 'unusable_target_count'> {
  const unusable: UnusableTarget[] = [];
  let count = 0;
  for (const { provider, model, state } of states.known()) {
    const obstacle = state.obstacle(nowMs);
    if (obstacle === undefined) continue;
    count += 1;
    if (count <= mostUnusableTargets) unusable.push([provider, model, obstacle, Math.ceil(state.usableAtMs(nowMs))]);
  }
  return { unusable_targets: unusable, unusable_target_count: count };
}
