// What runs, for a comparison with git: the revisions of control plane and proxies, and what operators have set.
import { timestamp } from '../../../domain/timestamp.ts';
import { type Override, overrideKinds } from '../../../gitops/drift/override.ts';
import type { FollowStatus } from '../../../gitops/follow/config-status.ts';
import { formatProblem } from '../../../gitops/read/problem.ts';
import type { Desired, Fleet, ProxyView } from '../../fleet.ts';
import type { KnownState } from '../../managed/commit.ts';
import { keyOverrides, type OverrideParts, overridesOf } from './overrides.ts';

export interface DriftParts extends OverrideParts {
  readonly fleet: Pick<Fleet, 'refresh' | 'proxies'>;
  readonly desired: () => Desired;
  readonly status: () => FollowStatus | undefined;
}

/** So many overrides are listed, and so many issued keys: the newest. */
const mostListed = 200;
const mostKeys = 20;

/** The body of `schemas/admin/drift.schema.json`. */
export async function describeDrift(parts: DriftParts, state: KnownState, isStale: boolean): Promise<object> {
  const { fleet, desired, status, nowMs } = parts;
  await fleet.refresh().catch(() => undefined);
  const { configRevision, environment } = desired();
  const config = status();
  const proxies = fleet.proxies();
  const live = proxies.filter(({ isLive }) => isLive);
  return {
    server_time: timestamp(nowMs()),
    ...(isStale ? { stale: true } : {}),
    control_plane: {
      config_revision: configRevision,
      config_source: config?.source ?? 'directory',
      applied_at: config === undefined || config.lastSuccessMs === 0 ? null : timestamp(config.lastSuccessMs),
      rejected: rejectedHere(config),
    },
    proxies: live.map((proxy) => describeProxy(proxy, environment)),
    silent_proxies: proxies.length - live.length,
    overrides: describeOverrides(overridesOf(parts, state), keyOverrides(parts, state)),
  };
}

function rejectedHere(config: FollowStatus | undefined): object | null {
  if (config === undefined || config.lastReloadSuccessful) return null;
  const { rejected, problems } = config;
  return {
    ...(rejected === undefined ? {} : { revision: rejected.revision, since: timestamp(rejected.sinceMs) }),
    problems: problems.map(formatProblem),
  };
}

function describeProxy({ instance, body, otherConfigSinceMs: since }: ProxyView, environment: string): object {
  const { config_revision, config_source, config_problems: problems, config_rejected: rejected } = body;
  const named = rejected === undefined ? {} : { revision: rejected[0], since: timestamp(rejected[1]) };
  return {
    instance,
    config_revision,
    config_source,
    ...(since === undefined ? {} : { differs_since: timestamp(since) }),
    environment_matches: body.environment === environment,
    rejected: problems.length === 0 ? null : { ...named, problems },
  };
}

function describeOverrides(set: readonly Override[], keys: readonly Override[]): object {
  const all = [...set, ...keys];
  const listed = [...newest(set, mostListed), ...newest(keys, mostKeys)];
  return {
    total: set.length,
    issued_keys: keys.length,
    kinds: overrideKinds.flatMap((kind) => {
      const own = all.filter((each) => each.kind === kind);
      return own.length === 0 ? [] : [{ kind, count: own.length, ...oldestOf(own) }];
    }),
    ...oldestOf(set),
    in_git: all.filter(({ in_git: isSame }) => isSame === true).length,
    rows: listed.map(({ entry, ...row }) => ({ ...row, declarable: entry !== undefined })),
    complete: listed.length === all.length,
  };
}

function newest(overrides: readonly Override[], most: number): Override[] {
  return overrides.toSorted((one, other) => (timeOf(one) < timeOf(other) ? 1 : -1)).slice(0, most);
}

function timeOf({ created_at: time = '' }: Override): string {
  return time;
}

function oldestOf(overrides: readonly Override[]): { readonly oldest_at?: string } {
  let oldest: string | undefined;
  for (const { created_at: time } of overrides)
    if (time !== undefined && (oldest === undefined || time < oldest)) oldest = time;
  return oldest === undefined ? {} : { oldest_at: oldest };
}
