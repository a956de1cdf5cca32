// What a heartbeat says of this moment: the figures of rules, the targets that are not usable, the providers that are asked for their models.
import type { Discovery } from './discovery/discovery.ts';
import { reportDiscovered } from './discovery/report.ts';
import type { Limiter } from './limits/limiter.ts';
import type { OwnFacts } from './store/heartbeat.ts';
import { reportTargets } from './target-report.ts';
import type { TargetStates } from './targets/target-states.ts';

export interface LiveParts {
  readonly limiter: Pick<Limiter, 'live'>;
  readonly targets: Pick<TargetStates, 'known'>;
  readonly discovery: Pick<Discovery, 'known'>;
}

/** `nowMs`: Unix milliseconds, whole. */
export function liveFacts({ limiter, targets, discovery }: LiveParts, nowMs: number): OwnFacts['live'] {
  return { ...limiter.live(nowMs), ...reportTargets(targets, nowMs), ...reportDiscovered(discovery) };
}
