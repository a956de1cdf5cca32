// The proxies as the rollout of revisions looks at them, out of their heartbeats.
import { noCounts, type RevisionCounts } from '../../domain/config-rollouts/figures.ts';
import type { RolledProxy } from '../../domain/config-rollouts/next-state.ts';
import type { RevisionCountsRow } from '../../store/state/heartbeat-counts.ts';
import type { ProxyView } from '../fleet.ts';

/** What a proxy says in its heartbeat while it should get requests. */
const wantsRequests: ReadonlySet<string> = new Set(['ready', 'degraded']);

export function rolledProxy({ instance, isLive, heardAtMs, body }: ProxyView): RolledProxy {
  const [status = 'ready'] = body.ready ?? [];
  return {
    instance,
    isLive,
    isReady: wantsRequests.has(status),
    heardMs: heardAtMs,
    startedAtMs: body.started_at_ms,
    revision: body.config_revision,
    waiting: body.waiting_revision,
    rejected: body.config_rejected?.[0],
    counts: body.revision_counts === undefined ? undefined : countsOf(body.revision_counts),
  };
}

/** Of a proxy of another version, which counts by other bounds, the times to the first byte are left out. */
function countsOf([, requests, errors, refusals, firstBytes]: RevisionCountsRow): RevisionCounts {
  const isKnown = firstBytes.length === noCounts.firstBytes.length;
  return { requests, errors, refusals, firstBytes: isKnown ? firstBytes : noCounts.firstBytes };
}
