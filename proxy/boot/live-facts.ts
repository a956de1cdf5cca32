// What a heartbeat says of this moment: the figures of rules, targets, discovered models, and counts of the cache and of guardrails.

import type { Discovery } from '../discovery/discovery.ts';
import { reportDiscovered } from '../discovery/report.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { OwnFacts } from '../store/heartbeat.ts';
import type { TargetStates } from '../targets/target-states.ts';
import { type CountedParts, reportCounts } from './count-report.ts';
import { reportTargets } from './target-report.ts';

export interface LiveParts extends CountedParts {
  readonly limiter: Pick<Limiter, 'live'>;
  readonly targets: Pick<TargetStates, 'known'>;
  readonly discovery: Pick<Discovery, 'known'>;
}

/** `nowMs`: Unix milliseconds, whole. */
export function liveFacts({ limiter, targets, discovery, ...counted }: LiveParts, nowMs: number): OwnFacts['live'] {
  return {
    ...limiter.live(nowMs),
    ...reportTargets(targets, nowMs),
    ...reportDiscovered(discovery),
    ...reportCounts(counted),
  };
}
