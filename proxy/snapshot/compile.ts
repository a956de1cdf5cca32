// Config (the human document) → Snapshot (maps and bytes). Nothing else builds a snapshot.

import { type CacheResets, cacheResets } from '../../domain/cache/cache-reset.ts';
import { LocalTime } from '../../domain/conditions/local-time.ts';
import { type MergedGuardrail, mergeGuardrails } from '../../domain/guardrails/merge-guardrails.ts';
import { peopleInForce } from '../../domain/identities/people.ts';
import type { Credentials } from '../../domain/keys/credentials.ts';
import { foldCase } from '../../domain/selector.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import { trustedProxies } from '../../plane/access/client-address.ts';
import { secureSettings } from '../../plane/tls/secure-settings.ts';
import { durationMs, retentionMs, sizeBytes } from '../../schemas/formats/units.ts';
import type { Config } from '../../schemas/types.ts';
import { compileGuardrails } from '../guardrails/compile-guardrails.ts';
import type { CrossOrigin } from '../http/cross-origin.ts';
import { ProviderKeys } from '../upstream/api-keys.ts';
import { compileCache } from './compile-cache.ts';
import { compileRoutes, type OfferedConfig } from './compile-routes.ts';
import { compileUpstream } from './compile-upstream.ts';
import type { AuditSettings, Snapshot, Upstream } from './snapshot.ts';

const noResets = cacheResets([]);

/** A config together with what operators have set. */
interface MergedConfig {
  /** Absent: the guardrails of the config alone. */
  readonly mergedGuardrails?: readonly MergedGuardrail[];
}

/** Compiles a validated config; what each name leads to, `compile-routes.ts` says. `keys`: what is remembered of the keys of providers. */
export function compile(
  config: AssembledConfig & OfferedConfig & MergedConfig,
  revision: string,
  credentials: Credentials,
  keys: ProviderKeys = new ProviderKeys(),
): Snapshot {
  const { server, providers, providerNames = Object.keys(providers) } = config;
  const { mergedGuardrails: guardrails = mergeGuardrails(config.guardrails, []) } = config;
  const upstreams = providerNames.flatMap((name): Upstream[] => {
    const provider = Object.hasOwn(providers, name) ? providers[name] : undefined;
    if (provider === undefined) return [];
    const files = { formerKeys: config.formerKeys?.[name] ?? [], authorities: config.authorities?.[name] };
    return [compileUpstream(name, provider, files, keys)];
  });
  const named = compileRoutes(config, upstreams);

  return Object.freeze({
    revision,
    bodyLimitBytes: sizeBytes(server.body_limit),
    uploadLimitBytes: sizeBytes(server.upload_limit),
    servesPassthrough: server.enable_passthrough_routes,
    allowsUnknownObjects: server.unknown_objects === 'allow',
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
    secure: secureSettings(server.tls, config.material),
    accessLog: server.access_log,
    storedResponses: Object.freeze({
      isEnabled: server.stored_responses.enabled,
      ttlMs: retentionMs(server.stored_responses.ttl),
    }),
    realtime: Object.freeze({
      frameLimitBytes: sizeBytes(server.realtime.frame_limit),
      pingIntervalMs: durationMs(server.realtime.ping_interval),
      longestMs: durationMs(server.realtime.session_max),
      messageMs: durationMs(server.realtime.message_timeout),
      mostSessions: server.realtime.max_sessions,
    }),
    audit: compileAudit(config.audit),
    guardrails: compileGuardrails(guardrails, {
      places: new Map(config.places?.guardrails),
      unread: config.unreadGuardrails,
    }),
    cache: compileCache(config.cache, noResets),
    hasBudgets: config.budgets.enabled,
    trustedProxies: trustedProxies(server.trusted_proxies),
    crossOrigin: compileCrossOrigin(server.cors.origins),
    toldLimits: Object.freeze({
      openai: server.ratelimit_headers.includes('openai'),
      ietf: server.ratelimit_headers.includes('ietf'),
    }),
    localTime: new LocalTime(server.time_zone ?? 'UTC'),
    userPathHeader: server.user_path_header.toLowerCase(),
    gatewayKeyHeader: server.gateway_key_header.toLowerCase(),
    ...named,
    upstreams: Object.freeze(upstreams),
    providers: Object.freeze(new Set(providerNames.map(foldCase))),
    people: peopleInForce(config.identities),
    ownIssuers: Object.freeze(new Set(Object.values(config.identities).map(({ issuer }) => issuer))),
    credentials,
  });
}

function compileCrossOrigin(origins: readonly string[]): CrossOrigin | undefined {
  if (origins.length === 0) return undefined;
  return Object.freeze({ every: origins.includes('*'), origins: Object.freeze(new Set(origins)) });
}

/** The snapshot with other keys, and other resets of the cache. */
export function withDocuments(snapshot: Snapshot, credentials: Credentials, resets: CacheResets): Snapshot {
  const { cache } = snapshot;
  return Object.freeze({ ...snapshot, credentials, cache: Object.freeze({ ...cache, resets }) });
}

/** Paths that are none were refused with the config. */
function compileAudit(audit: Config['audit']): AuditSettings {
  return Object.freeze({
    isEnabled: audit.enabled,
    hasBodies: audit.bodies,
    hasOriginals: audit.original_bodies,
    bodyLimitBytes: sizeBytes(audit.body_limit),
    hasHeaders: audit.headers,
    sample: audit.sample,
    without: Object.freeze(audit.without.flatMap((text) => normaliseUserPath(text).path ?? [])),
  });
}
