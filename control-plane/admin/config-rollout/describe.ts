// The body of GET /admin/config/rollout: what is rolled out, how far it is, and how it does on the proxies beside the limits.
import { figuresOf, limitsOf, type RevisionCounts } from '../../../domain/config-rollouts/figures.ts';
import { countsOfTrial, type RolledProxy } from '../../../domain/config-rollouts/next-state.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { Rollout } from '../../../schemas/types.ts';
import type { RolloutView } from '../../rollout/keep-rollout.ts';

interface Described {
  readonly [member: string]: unknown;
  readonly phase: string;
  readonly revision: string | null;
  readonly former_revision: string | null;
}

/** The body of `schemas/admin/config-rollout.schema.json`. */
export function describeRollout({ current, own, proxies, nowMs }: RolloutView): Described {
  const { trial } = current ?? {};
  const { rollout } = own;
  const isWaiting = own.waiting !== undefined && own.waiting.revision !== trial?.revision;
  const shown = isWaiting ? undefined : trial;
  const revision = isWaiting ? (own.waiting?.revision ?? null) : (trial?.revision ?? null);
  const isFirst = ({ instance }: RolledProxy): boolean => shown?.proxies.includes(instance) === true;
  const former = current?.stable ?? own.inForce;
  return {
    server_time: timestamp(nowMs),
    phase: shown?.phase ?? (isWaiting ? 'waiting' : 'none'),
    revision,
    former_revision: former === revision ? null : former,
    first: shown?.proxies ?? [],
    began_at: shown === undefined ? null : timestamp(shown.beganMs),
    until: shown === undefined ? null : timestamp(shown.untilMs),
    reason: shown?.reason ?? null,
    by: shown?.by ?? null,
    settings: rollout === undefined ? null : describeSettings(rollout),
    figures: shown === undefined ? null : describeFigures(countsOfTrial(shown, proxies)),
    proxies: proxies.map((proxy) => ({
      instance: proxy.instance,
      live: proxy.isLive,
      first: isFirst(proxy),
      config_revision: proxy.revision,
      waiting_revision: proxy.waiting ?? null,
      figures: proxy.counts === undefined ? null : describeFigures(proxy.counts),
    })),
  };
}

function describeSettings(rollout: Rollout): object {
  const { errorShare, refusalShare, p95Ms, minRequests } = limitsOf(rollout);
  return {
    proxies: rollout.proxies,
    for: rollout.for,
    error_share: errorShare,
    refusal_share: refusalShare ?? null,
    p95_ms: p95Ms ?? null,
    min_requests: minRequests,
  };
}

function describeFigures(counts: RevisionCounts): object {
  const { requests, errors, refusals, errorShare, refusalShare, p95Ms } = figuresOf(counts);
  return { requests, errors, refusals, error_share: errorShare, refusal_share: refusalShare, p95_ms: p95Ms };
}
