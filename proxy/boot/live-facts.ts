// The present facts in a heartbeat: the figures of rules, targets, discovered models, and counts of the cache and of guardrails.
import {
  type HeartbeatBody,
  mostDiscovered,
  mostIdentities,
  mostProbes,
  mostRefusedKeys,
} from '../../store/state/heartbeat-body.ts';
import { mostVerdictCounts } from '../../store/state/heartbeat-counts.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { CloudIdentities } from '../cloud-identity/identities.ts';
import type { Discovery } from '../discovery/discovery.ts';
import type { GuardrailTally } from '../guardrails/tally.ts';
import type { Limiter } from '../limits/limiter.ts';
import { inSlices } from '../pacing/slices.ts';
import type { Prober } from '../probes/prober.ts';
import type { OwnFacts } from '../store/heartbeat.ts';
import type { RevisionTally } from '../tallies/revision-tally.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { ProviderKeys } from '../upstream/api-keys.ts';
import { reportTargets } from './target-report.ts';

export interface LiveParts extends CountedParts {
  readonly limiter: Pick<Limiter, 'live' | 'fleet'>;
  readonly targets: Pick<TargetStates, 'known'>;
  readonly discovery: Pick<Discovery, 'known'>;
  readonly probes: Pick<Prober, 'known'>;
  readonly providerKeys: Pick<ProviderKeys, 'troubled'>;
  readonly identities: Pick<CloudIdentities, 'status'>;
}

/** `nowMs`: Unix milliseconds, whole. Requests come in between: there may be ten thousand rules. */
export async function liveFacts(
  { limiter, targets, discovery, probes, providerKeys, identities, ...counted }: LiveParts,
  nowMs: number,
): Promise<OwnFacts['live']> {
  const figures = await inSlices(limiter.live(nowMs));
  return {
    ...figures,
    ...reportFleet(limiter.fleet),
    ...reportTargets(targets, nowMs),
    ...reportDiscovered(discovery),
    ...reportProbes(probes),
    ...reportRefused(providerKeys),
    ...reportIdentities(identities),
    ...reportCounts(counted),
    ...reportRevision(counted.observed),
  };
}

/** Where caps hold, and how the state store answers for those of a fleet. */
function reportFleet(fleet: Limiter['fleet']): Pick<HeartbeatBody, 'limit_scope' | 'limit_store'> {
  if (fleet === undefined) return { limit_scope: 'replica' };
  return { limit_scope: 'fleet', limit_store: fleet.isRecovering ? 'recovering' : fleet.isLost ? 'lost' : 'up' };
}

interface CountedParts {
  readonly cache: Pick<ResponseCache, 'counts' | 'saved' | 'status'>;
  readonly observed: {
    readonly guardrails: Pick<GuardrailTally, 'counts'>;
    readonly revision: Pick<RevisionTally, 'counts'>;
  };
}

function reportCounts({ cache, observed: { guardrails } }: CountedParts): Pick<HeartbeatBody, 'cache' | 'verdicts'> {
  const { counts, saved } = cache;
  const { entries, bytes, evicted, dropped } = cache.status();
  const requests = [...counts].map(([endpoint, { hit, miss, bypass }]) => [endpoint, hit, miss, bypass] as const);
  return {
    cache: {
      entries: Math.max(0, entries),
      bytes: Math.max(0, bytes),
      evicted,
      dropped,
      requests: requests.sort(([one], [other]) => (one < other ? -1 : 1)),
      saved_tokens: saved.tokens,
      saved_nano_dollars: Math.round(saved.nanoDollars),
    },
    verdicts: [...guardrails.counts]
      .slice(0, mostVerdictCounts)
      .map(({ guardrail, phase, outcome, count }) => [guardrail, phase, outcome, count] as const),
  };
}

function reportRevision({ revision }: CountedParts['observed']): Pick<HeartbeatBody, 'revision_counts'> {
  const counts = revision.counts();
  if (counts === undefined) return {};
  const { sinceMs, requests, errors, refusals, firstBytes } = counts;
  return { revision_counts: [Math.floor(sinceMs), requests, errors, refusals, firstBytes] };
}

/** The first hundred; nothing when there are none. */
function reportRefused(keys: Pick<ProviderKeys, 'troubled'>): Pick<HeartbeatBody, 'refused_keys'> {
  const refused = keys.troubled().slice(0, mostRefusedKeys);
  if (refused.length === 0) return {};
  return {
    refused_keys: refused.map(
      ({ provider, position, count, trouble }) => [provider, position, count, trouble.kind, trouble.sinceMs] as const,
    ),
  };
}

/** The first hundred; nothing when there are none. */
function reportIdentities(identities: Pick<CloudIdentities, 'status'>): Pick<HeartbeatBody, 'cloud_identities'> {
  const known = identities.status().slice(0, mostIdentities);
  if (known.length === 0) return {};
  const whole = (moment: number | undefined): number | null =>
    moment === undefined || !Number.isFinite(moment) ? null : Math.floor(moment);
  return {
    cloud_identities: known.map(({ provider, source, principal = null, problem = null, isValid, sessions, ...at }) => {
      return [
        provider,
        source,
        principal,
        whole(at.endsAtMs),
        whole(at.renewedAtMs),
        problem,
        isValid,
        sessions,
      ] as const;
    }),
  };
}

/** The first hundred; nothing when there are none. */
function reportProbes(probes: Pick<Prober, 'known'>): Pick<HeartbeatBody, 'probes'> {
  const known = probes.known().slice(0, mostProbes);
  if (known.length === 0) return {};
  return {
    probes: known.map(({ provider, model = null, last }) => {
      return [provider, model, last?.outcome ?? null, last?.atMs ?? null] as const;
    }),
  };
}

/** The first hundred; nothing when there are none. */
function reportDiscovered(discovery: Pick<Discovery, 'known'>): Pick<HeartbeatBody, 'discovered_models'> {
  const known = discovery.known().slice(0, mostDiscovered);
  if (known.length === 0) return {};
  return { discovered_models: known.map(({ provider, count, atMs = null }) => [provider, count, atMs] as const) };
}
