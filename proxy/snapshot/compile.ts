// Config (the human document) → Snapshot (maps and bytes). Nothing else builds a snapshot.
import type { AssembledConfig } from '../../gitops/assembled.ts';
import type { Credentials } from '../../schemas/keys/credentials.ts';
import { foldCase, isQualified } from '../../schemas/selector.ts';
import type { Alias, Provider } from '../../schemas/types.ts';
import { durationMs, sizeBytes } from '../../schemas/units.ts';
import { trustedProxies } from '../connection/client-address.ts';
import type { CrossOrigin } from '../connection/cross-origin.ts';
import { dialects } from '../providers/index.ts';
import type { ModelEntry, Route, Snapshot, Target, Upstream } from './snapshot.ts';

/**
 * Compiles a validated config. Name resolution is one map: qualified names, then bare ids (every provider that lists the model, in order
 * of declaration, one failing over to the next), then aliases, which win over both. An id `a/b` is no bare id where a provider `a` is
 * configured.
 */
export function compile(config: AssembledConfig, revision: string, credentials: Credentials): Snapshot {
  const { server, providers, providerNames = Object.keys(providers) } = config;
  const known = new Set(providerNames.map(foldCase));
  const routes = new Map<string, Route>();
  const models = new Map<string, ModelEntry>();
  const upstreams: Upstream[] = [];
  const bareIds = new Map<string, Target[]>();

  for (const name of providerNames) {
    const provider = providers[name];
    if (provider === undefined) continue;
    const upstream = compileUpstream(name, provider, config.formerKeys?.[name] ?? []);
    upstreams.push(upstream);
    for (const model of new Set(provider.models)) {
      const target = compileTarget(upstream, model);
      routes.set(`${name}/${model}`, ordered(`${name}/${model}`, [target]));
      models.set(`${name}/${model}`, modelEntry(`${name}/${model}`, name));
      if (isQualified(model, known)) continue;
      const sharing = bareIds.get(model);
      if (sharing === undefined) bareIds.set(model, [target]);
      else sharing.push(target);
    }
  }
  for (const [model, targets] of bareIds) routes.set(model, ordered(model, targets));
  const aliases = config.aliases.map((alias): [string, Route] => [alias.source, compileAlias(alias, routes)]);
  for (const [source, route] of aliases) {
    routes.set(source, route);
    models.set(source, modelEntry(source, route.targets[0]?.upstream.name ?? ''));
  }

  return Object.freeze({
    revision,
    bodyLimitBytes: sizeBytes(server.body_limit),
    bodyBudgetBytes: server.body_budget === undefined ? undefined : sizeBytes(server.body_budget),
    shutdownGraceMs: durationMs(server.shutdown_grace),
    timeouts: Object.freeze({
      headersMs: durationMs(server.timeouts.headers),
      bodyMs: durationMs(server.timeouts.body),
      writeIdleMs: durationMs(server.timeouts.write_idle),
      keepAliveMs: durationMs(server.keep_alive),
    }),
    cutsRevokedStreams: server.cut_revoked_streams,
    connections: Object.freeze({ most: server.max_connections, mostPerAddress: server.max_connections_per_address }),
    accessLog: server.access_log,
    trustedProxies: trustedProxies(server.trusted_proxies),
    crossOrigin: compileCrossOrigin(server.cors.origins),
    toldLimits: Object.freeze({
      openai: server.ratelimit_headers.includes('openai'),
      ietf: server.ratelimit_headers.includes('ietf'),
    }),
    userPathHeader: server.user_path_header.toLowerCase(),
    routes,
    models: Object.freeze([...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1))),
    upstreams: Object.freeze(upstreams),
    providers: Object.freeze(known),
    credentials,
  });
}

function compileCrossOrigin(origins: readonly string[]): CrossOrigin | undefined {
  if (origins.length === 0) return undefined;
  return Object.freeze({ every: origins.includes('*'), origins: Object.freeze(new Set(origins)) });
}

/** The same config with other keys. */
export function withCredentials(snapshot: Snapshot, credentials: Credentials): Snapshot {
  return Object.freeze({ ...snapshot, credentials });
}

function compileUpstream(name: string, provider: Provider, formerKeys: readonly string[]): Upstream {
  const url = new URL(provider.base_url);
  const dialect = dialects[provider.type];
  const { timeouts } = provider;
  return Object.freeze({
    name,
    type: provider.type,
    dialect,
    origin: url.origin,
    basePath: url.pathname.replace(/\/+$/, ''),
    query: url.search,
    forwarded: forwardedOf(provider),
    headers: Object.freeze([...dialect.headers(provider.api_key), ...Object.entries(provider.headers).flat()]),
    secrets: Object.freeze(secretsOf(provider, formerKeys)),
    streamUsage: provider.stream_usage,
    learnsLimits: provider.learn_limits,
    allowsRoutingMembers: provider.allow_routing_members,
    connectTimeoutMs: durationMs(timeouts.connect),
    allowsPrivate: provider.allow_private,
    patience: Object.freeze({
      firstByteMs: durationMs(timeouts.first_byte),
      streamIdleMs: durationMs(timeouts.stream_idle),
      totalMs: durationMs(timeouts.total),
      usageDrainMs: durationMs(timeouts.usage_drain),
    }),
  });
}

function forwardedOf({ forward_headers = [] }: Provider): readonly string[] | undefined {
  return forward_headers.length === 0 ? undefined : Object.freeze(forward_headers.map((name) => name.toLowerCase()));
}

/**
 * The key and those before it, the values of configured headers and of the query, and the words of these: `Token abc` may come back as `abc`. Longest
 * first.
 */
function secretsOf({ api_key = '', headers, base_url }: Provider, formerKeys: readonly string[]): string[] {
  const values = [api_key, ...formerKeys, ...Object.values(headers), ...queryValues(base_url)];
  const words = values.flatMap((value) => [value, ...value.split(/[\s,;=]+/)]);
  // Shorter ones are words such as `true`; taking them out of messages would only mangle these.
  return [...new Set(words)].filter((word) => word.length >= 8).sort((a, b) => b.length - a.length);
}

/** The values in the query of an address, but for Azure's version, which errors speak of. */
function queryValues(address: string): string[] {
  const parameters = [...new URL(address).searchParams];
  return parameters.filter(([name]) => name !== 'api-version').map(([, value]) => value);
}

/** The targets are tried in this order. */
function ordered(name: string, targets: readonly Target[]): Route {
  const weights = Object.freeze(targets.map(() => 1));
  return Object.freeze({ name, targets: Object.freeze(targets), weights, strategy: 'failover' });
}

function compileTarget(upstream: Upstream, model: string): Target {
  return Object.freeze({ upstream, model, modelJson: Buffer.from(JSON.stringify(model)) });
}

/** The loader has checked that every target names a listed model of a known provider. */
function compileAlias(alias: Alias, routes: ReadonlyMap<string, Route>): Route {
  const shares = alias.targets.flatMap(({ model, weight }) => {
    const target = routes.get(model)?.targets[0];
    return target ? [{ target, weight }] : [];
  });
  const words = shares.map(({ target: { upstream, model }, weight }) => `${weight} ${upstream.name}/${model}`);
  return Object.freeze({
    name: [alias.source, ...words].join('\n'),
    targets: Object.freeze(shares.map(({ target }) => target)),
    weights: Object.freeze(shares.map(({ weight }) => weight)),
    strategy: 'round_robin',
  });
}

function modelEntry(id: string, provider: string): ModelEntry {
  return Object.freeze({ id, object: 'model', created: 0, owned_by: provider });
}
