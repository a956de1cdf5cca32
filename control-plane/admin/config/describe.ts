// The body of GET /admin/config. Of a provider it shows only members that cannot hold a secret.

import type { AssembledConfig } from '../../../gitops/assembled.ts';
import type { FollowStatus } from '../../../gitops/config-status.ts';
import { modelIds } from '../../../schemas/listed-models.ts';
import type { RulePrerequisites } from '../../../schemas/rules/obstacle.ts';
import { timestamp } from '../../../schemas/timestamp.ts';
import { type RateLimitParts, rowsWithoutUsage } from '../rate-limits/commit.ts';
import type { Known } from '../read-stored.ts';

/** The configuration in force. */
export interface ShownConfig extends Pick<AssembledConfig, 'providers' | 'aliases'> {
  /** `<file>:<line>`: of providers by name, in the order of the file, and of aliases by source. */
  readonly places: Readonly<Record<'providers' | 'aliases', ReadonlyMap<string, string>>>;
  prerequisites(): Pick<RulePrerequisites, 'enabled'>;
}

/** The parts of the process that this resource uses. */
export interface ConfigParts {
  readonly rules: RateLimitParts;
  readonly inForce: () => ShownConfig;
  readonly status: () => Pick<FollowStatus, 'revision' | 'source'> | undefined;
}

/** The body of `schemas/admin/config.schema.json`. */
export function describeConfig({ rules, inForce, status }: ConfigParts, { state, isStale }: Known): object {
  const config = inForce();
  const { providers, aliases, places } = config;
  const { revision = '', source = 'directory' } = status() ?? {};
  return {
    server_time: timestamp(rules.nowMs()),
    config_revision: revision,
    config_source: source,
    state_revision: state.revision,
    // Maps keep the order of the file; an object puts names that are whole numbers first.
    providers: [...places.providers].flatMap(([name, declaredAt]) => {
      const provider = providers[name];
      if (provider === undefined) return [];
      const { type, stream_usage: streamUsage } = provider;
      return [{ name, type, models: modelIds(provider), stream_usage: streamUsage, declared_at: declaredAt }];
    }),
    aliases: aliases.map(({ source: name, strategy, targets }) => ({
      source: name,
      strategy,
      targets: targets.map(({ model, weight }) => ({ model, weight })),
      declared_at: places.aliases.get(name),
    })),
    rate_limits_enabled: config.prerequisites().enabled,
    rate_limits: rowsWithoutUsage(rules, state),
    ...(isStale ? { stale: true } : {}),
  };
}
