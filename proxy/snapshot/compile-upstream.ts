// A provider of the config → an upstream: addresses, headers as pairs, secrets, times in milliseconds.
import type { Provider } from '../../schemas/types.ts';
import { durationMs } from '../../schemas/units.ts';
import { dialects } from '../providers/index.ts';
import type { Upstream } from './snapshot.ts';

/** `formerKeys`: keys that were in force before; secrets as well. */
export function compileUpstream(name: string, provider: Provider, formerKeys: readonly string[]): Upstream {
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
