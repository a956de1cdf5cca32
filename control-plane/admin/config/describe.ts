// The body of GET /admin/config. Of a provider it shows only members that cannot hold a secret.

import { isDiscovering, modelIds } from '../../../domain/listed-models.ts';
import type { RulePrerequisites } from '../../../domain/rules/obstacle.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { AssembledConfig } from '../../../gitops/assemble/assembled.ts';
import type { FollowStatus } from '../../../gitops/follow/config-status.ts';
import type { Provider } from '../../../schemas/types.ts';
import type { Fleet } from '../../fleet.ts';
import type { Known } from '../../managed/read-stored.ts';
import { type BudgetParts, budgetRowsWithoutSpend } from '../budgets/parts.ts';
import { describedRules, type RateLimitParts } from '../rate-limits/resource.ts';
import { knownAliases, type VirtualModelParts } from '../virtual-models/known.ts';
import { aliasRows } from '../virtual-models/listing.ts';

/** The configuration in force. */
export interface ShownConfig {
  readonly declared: Pick<AssembledConfig, 'providers'>;
  /** `<file>:<line>` of providers by name, in the order of the file. */
  readonly places: Readonly<Record<'providers', ReadonlyMap<string, string>>>;
  prerequisites(): Pick<RulePrerequisites, 'enabled'>;
}

/** The parts of the process that this resource uses. */
export interface ConfigParts {
  readonly rules: RateLimitParts;
  readonly budgets: BudgetParts;
  readonly aliases: VirtualModelParts;
  readonly inForce: () => ShownConfig;
  readonly status: () => Pick<FollowStatus, 'revision' | 'source'> | undefined;
  /** The proxies, as their heartbeats say: only they know which providers have a key. */
  readonly fleet: Pick<Fleet, 'proxies'>;
}

/** The lists of the body. */
export const listNames = ['providers', 'aliases', 'rate_limits', 'budgets'] as const;
export type ListName = (typeof listNames)[number];

/** The body of `schemas/admin/config.schema.json` with the lists that are `wanted`. */
export function describeConfig(parts: ConfigParts, { state, isStale }: Known, wanted: ReadonlySet<ListName>): object {
  const { rules, budgets, aliases, inForce, status, fleet } = parts;
  const config = inForce();
  const { revision = '', source = 'directory' } = status() ?? {};
  const list = (name: ListName, rows: () => object[]): object => (wanted.has(name) ? { [name]: rows() } : {});
  return {
    server_time: timestamp(rules.nowMs()),
    config_revision: revision,
    config_source: source,
    state_revision: state.revision,
    ...list('providers', () => rowsOfProviders(config, fleet)),
    ...list('aliases', () => aliasRows(knownAliases(aliases, state, aliases.nowMs()))),
    rate_limits_enabled: config.prerequisites().enabled,
    ...list('rate_limits', () => describedRules(rules, state)),
    budgets_enabled: budgets.prerequisites().enabled,
    ...list('budgets', () => budgetRowsWithoutSpend(budgets, state)),
    ...(isStale ? { stale: true } : {}),
  };
}

function rowsOfProviders({ declared: { providers }, places }: ShownConfig, fleet: ConfigParts['fleet']): object[] {
  const live = fleet.proxies().filter(({ isLive }) => isLive);
  // Maps keep the order of the file; an object puts names that are whole numbers first.
  return [...places.providers].flatMap(([name, declaredAt]) => {
    const provider = providers[name];
    if (provider === undefined) return [];
    const without = live.filter(({ body }) => body.left_out_providers?.includes(name) === true);
    const leftOutBy = without.map(({ instance }) => instance);
    return [{ name, ...describeProvider(provider), left_out_by: leftOutBy, declared_at: declaredAt }];
  });
}

/**
 * The members of a provider that cannot hold a secret. The path and query of the address may, and so may a part of it
 * that a variable fills in.
 */
function describeProvider(provider: Provider): object {
  const { type, base_url: baseUrl, forward_headers: forwarded = [], timeouts } = provider;
  // A reference to a variable is no part of a host, so an address whose origin has one cannot be parsed.
  const origin = URL.parse(baseUrl)?.origin;
  const proxyOrigin = URL.parse(provider.proxy_url ?? '')?.origin;
  return {
    type,
    ...(origin === undefined ? {} : { origin }),
    ...(provider.dialects === undefined ? {} : { dialects: provider.dialects }),
    ...(provider.unsupported === undefined ? {} : { unsupported: provider.unsupported }),
    models: isDiscovering(provider) ? 'discovered' : modelIds(provider),
    ...(provider.discovery === undefined ? {} : { discovery: provider.discovery }),
    forward_headers: forwarded,
    stream_usage: provider.stream_usage,
    allow_routing_members: provider.allow_routing_members,
    allow_private: provider.allow_private,
    keys: countKeys(provider),
    ...(proxyOrigin === undefined ? {} : { proxy_origin: proxyOrigin }),
    ...(provider.ca_file === undefined ? {} : { ca_file: provider.ca_file }),
    timeouts,
  };
}

function countKeys({ api_key, api_key_file, api_keys = [], api_key_files = [] }: Provider): number {
  const single = api_key === undefined && api_key_file === undefined ? 0 : 1;
  return single + api_keys.length + api_key_files.length;
}
