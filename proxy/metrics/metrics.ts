// The metrics of the data plane; schemas/metrics/proxy-metrics.ts and schemas/metrics/limit-metrics.ts describe each one.
import { collectProcessMetrics, Registry, registerReaders } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { GuardrailTally } from '../guardrails/tally.ts';
import type { Limiter } from '../limits/limiter.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { AuxiliaryTally } from '../tallies/auxiliary-tally.ts';
import { Exposition } from '../tallies/exposition.ts';
import { MirrorTally } from '../tallies/mirror-tally.ts';
import { RequestTally } from '../tallies/request-tally.ts';
import { RescueTally } from '../tallies/rescue-tally.ts';
import { RevisionTally } from '../tallies/revision-tally.ts';
import { UpstreamTally } from '../tallies/upstream-tally.ts';
import type { TargetStates } from '../targets/target-states.ts';
import { type LimitMetrics, observeLimits } from './limit-metrics.ts';
import { proxyReaders, type ReadFacts } from './read-metrics.ts';
import { writeTargets } from './target-metrics.ts';

export interface Metrics extends LimitMetrics {
  readonly contentType: string;
  /** The exposition text of all metrics; one call at a time. */
  text(): Promise<string>;
  readonly requests: RequestTally;
  readonly revision: RevisionTally;
  readonly upstream: UpstreamTally;
  readonly auxiliary: AuxiliaryTally;
  readonly guardrails: GuardrailTally;
  readonly rescues: RescueTally;
  readonly mirrors: MirrorTally;
  /** Only what this snapshot has keeps series of its own: providers, their models, guardrails. */
  keep(snapshot: Pick<Snapshot, 'guardrails' | 'revision' | 'routes' | 'upstreams'>): void;
}

/** The facts that are read at every scrape instead of being counted. */
export interface ObservedFacts extends ReadFacts {
  limiter: Limiter;
  targets: Pick<TargetStates, 'known' | 'drains'>;
  recording: ReadFacts['recording'] & { readonly flush: () => void };
}

/** Creates a registry of its own, so that several gateways fit into one process. */
export function createMetrics(facts: ObservedFacts): Metrics {
  const registry = new Registry();
  collectProcessMetrics(registry);
  const limits = observeLimits(registry, facts.limiter, facts.nowMs);
  const requests = new RequestTally();
  const revision = new RevisionTally();
  const upstream = new UpstreamTally();
  const auxiliary = new AuxiliaryTally();
  const guardrails = new GuardrailTally();
  const rescues = new RescueTally();
  const mirrors = new MirrorTally();
  let kept: Snapshot['routes'] | undefined;
  let providers: Snapshot['upstreams'] = [];
  const counted = { auxiliary, guardrails, mirrors, rescues, upstreams: () => providers };
  registerReaders(registry, proxyMetrics, proxyReaders(facts, counted));
  return {
    ...limits,
    contentType: registry.contentType,
    requests,
    revision,
    upstream,
    auxiliary,
    guardrails,
    rescues,
    mirrors,
    keep({ guardrails: known, revision: present, routes, upstreams }) {
      revision.keep(present, facts.nowMs());
      // The object is unchanged when only keys have changed.
      if (routes === kept) return;
      kept = routes;
      providers = upstreams;
      guardrails.keep(known);
      const names = new Set(upstreams.map(({ name }) => name));
      requests.keep(names);
      rescues.keep(names);
      upstream.keep([...routes.targets.values()].flatMap((models) => [...models.values()]));
    },
    async text() {
      const exposition = new Exposition();
      facts.recording.flush();
      await requests.write(exposition);
      await upstream.write(exposition);
      await writeTargets(exposition, facts.targets, facts.nowMs());
      return `${await registry.metrics()}\n${exposition.text()}${await limits.rulesText()}`;
    },
  };
}
