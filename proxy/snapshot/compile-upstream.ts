// A provider of the config → what is needed to call it.

import { parseAwsKey } from '../../domain/keys/aws-key.ts';
import { isDiscovering } from '../../domain/listed-models.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import type { Provider } from '../../schemas/types.ts';
import type { Identity } from '../cloud-identity/identity.ts';
import type { ModelListing } from '../discovery/ask-models.ts';
import type { DiscoveryPlan } from '../discovery/discovery.ts';
import { modelFilter } from '../discovery/model-filter.ts';
import { sourceOf } from '../discovery/source.ts';
import { requestHeaders } from '../providers/key-headers.ts';
import { mediaOf } from '../providers/media.ts';
import { modelLists } from '../providers/model-lists.ts';
import { type Base, modelListPath, storePlaces } from '../providers/paths.ts';
import type { KeyStyle, Row } from '../providers/row.ts';
import { rowOf } from '../providers/rows.ts';
import { speechesAt } from '../providers/target-speeches.ts';
import { ClientKeys, type GivenKey, type ProviderKeys, type RenewingKey } from '../upstream/api-keys.ts';
import { authoritiesOf } from '../upstream/dial/trust.ts';
import type { HttpProxy } from '../upstream/dial/tunnel.ts';
import { type RenewedCredentials, RenewedKey } from '../upstream/renewed-key.ts';
import { type AwsSigner, awsSigner } from '../upstream/sign-aws.ts';
import type { ProbePlan, Upstream } from './snapshot.ts';

/** The present and former content of a provider's files. */
export interface FromFiles {
  /** Keys that were in force before, which are secrets as well. */
  readonly formerKeys: readonly string[];
  /** Certificates, PEM; undefined: it has no file of them. */
  readonly authorities: string | undefined;
}

/** `keys`: what is remembered of the keys of providers. */
export function compileUpstream(
  name: string,
  provider: Provider,
  { formerKeys, authorities }: FromFiles,
  keys: ProviderKeys,
): Upstream {
  const url = new URL(provider.base_url);
  const { timeouts } = provider;
  const row = rowOf(provider.type, provider.base_url, provider.dialects);
  const headers = Object.freeze([...Object.entries(provider.headers).flat(), ...quotaHeader(provider)]);
  const known = secretsOf(provider, formerKeys);
  const identity = keys.identities?.of(name, provider, known);
  // That of an identity is a list which changes with its credentials.
  const secrets = identity?.secrets ?? Object.freeze(known);
  const base = { basePath: url.pathname.replace(/\/+$/, ''), query: url.search };
  const isOfClients = provider.auth === 'client';
  const clientAuth = isOfClients ? 'needed' : 'none';
  const place = { name, row, ...base, takesStreamOptions: provider.stream_usage, secrets, clientAuth } as const;
  return Object.freeze({
    name,
    type: provider.type,
    origin: url.origin,
    opaque: Object.freeze({ ...base, keyStyle: row.keyStyle, headers: Object.freeze([...(row.headers ?? [])]) }),
    stores: storePlaces(row, base),
    modelList: listingOf(row, base),
    speechesOf: speechesAt(place),
    mediaOf: mediaOf(row, base),
    unsupported: provider.unsupported,
    headers,
    forwarded: forwardedOf(provider),
    credentials: isOfClients
      ? new ClientKeys(Object.freeze(requestHeaders('none', undefined, headers)))
      : keys.of(
          name,
          identity === undefined
            ? givenKeys(provider, row, headers, url.host)
            : renewedKey(identity, provider, headers),
        ),
    secrets,
    clientAuth,
    // The limits that its answers tell are those of one client.
    learnsLimits: provider.learn_limits && !isOfClients,
    hasBreaker: provider.circuit_breaker,
    probe: probeOf(provider),
    discovery: discoveryOf(name, provider),
    allowsRoutingMembers: provider.allow_routing_members,
    connectTimeoutMs: durationMs(timeouts.connect),
    allowsPrivate: provider.allow_private,
    proxy: proxyOf(provider),
    authorities: authorities === undefined ? undefined : authoritiesOf(authorities),
    patience: Object.freeze({
      firstByteMs: durationMs(timeouts.first_byte),
      firstEventMs: durationMs(timeouts.first_event ?? timeouts.first_byte),
      otherEventMs: otherEventMs(timeouts),
      streamIdleMs: durationMs(timeouts.stream_idle),
      totalMs: durationMs(timeouts.total),
      usageDrainMs: durationMs(timeouts.usage_drain),
    }),
  });
}

/** A model that has not begun to speak by then is slower than another target that is asked now, as a rule. Milliseconds. */
const usualOtherEventMs = 30_000;

function otherEventMs({ first_event: set, first_byte: firstByte }: Provider['timeouts']): number {
  return set === undefined ? Math.min(usualOtherEventMs, durationMs(firstByte)) : durationMs(set);
}

/** A provider with the default for how often it is asked, because its settings may be absent as a whole. */
function discoveryOf(name: string, provider: Provider): DiscoveryPlan | undefined {
  if (!isDiscovering(provider)) return undefined;
  const { discovery = { refresh: '1h' } } = provider;
  const accepts = modelFilter(discovery);
  return Object.freeze({ source: sourceOf(name, provider), refreshMs: durationMs(discovery.refresh), accepts });
}

function probeOf({ probe }: Provider): ProbePlan | undefined {
  if (probe === undefined) return undefined;
  const { interval, timeout, model } = probe;
  return Object.freeze({ intervalMs: durationMs(interval), timeoutMs: durationMs(timeout), model });
}

function listingOf(row: Row, base: Base): ModelListing | undefined {
  const path = modelListPath(row, base);
  return path === undefined || row.models === undefined
    ? undefined
    : Object.freeze({ path, read: modelLists[row.models.format] });
}

/** The keys of a provider by position; those that are empty are left out, and the same one counts once. */
function givenKeys(provider: Provider, { keyStyle }: Row, further: readonly string[], host: string): GivenKey[] {
  const given = new Map<string | undefined, GivenKey>();
  keysOf(provider).forEach((secret, index) => {
    if (secret === '' || given.has(secret)) return;
    const headers = Object.freeze(requestHeaders(keyStyle, secret, further));
    given.set(secret, { position: index + 1, secret, headers, signer: signerOf(keyStyle, secret, host) });
  });
  return [...given.values()];
}

/** Whose quota is used and who is billed, for Google. */
function quotaHeader({ google }: Provider): string[] {
  return google?.quota_project === undefined ? [] : ['x-goog-user-project', google.quota_project];
}

/** The one key of a provider with an identity. */
function renewedKey(identity: Identity, { auth, aws, base_url }: Provider, further: readonly string[]): RenewingKey {
  const place = { host: new URL(base_url).host, region: aws?.region };
  const renewed: RenewedCredentials = {
    identity,
    write({ credential, clockAheadMs }) {
      if (credential.kind === 'bearer') {
        const secret = credential.token;
        return { secret, headers: Object.freeze(requestHeaders('bearer', secret, further)), signer: undefined };
      }
      const { accessKeyId, secretAccessKey, sessionToken = '' } = credential.credentials;
      const secret = `${accessKeyId}:${secretAccessKey}:${sessionToken}`;
      const signer = awsSigner(place, credential.credentials, Math.abs(clockAheadMs) < usualSkewMs ? 0 : clockAheadMs);
      return { secret, headers: Object.freeze(requestHeaders('aws', secret, further)), signer };
    },
  };
  return { name: `identity ${auth}`, keyOf: (mark, state) => new RenewedKey(renewed, mark, state) };
}

/** AWS takes signatures of clocks that differ by five minutes; what an answer needs to come is no difference. Milliseconds. */
const usualSkewMs = 30_000;

/** Undefined: nothing is signed. */
function signerOf(style: KeyStyle, secret: string | undefined, host: string): AwsSigner | undefined {
  if (style !== 'aws' || secret === undefined) return undefined;
  const key = parseAwsKey(secret);
  return 'kind' in key && key.kind === 'credentials' ? awsSigner({ host }, key.credentials) : undefined;
}

/** Undefined: a provider that is asked without a key. */
function keysOf({ api_key, api_keys }: Provider): readonly (string | undefined)[] {
  return api_keys ?? [api_key];
}

function proxyOf({ proxy_url: text = '' }: Provider): HttpProxy | undefined {
  if (text === '') return undefined;
  const { origin, username, password } = new URL(text);
  if (username === '' && password === '') return { origin, authorization: undefined };
  const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { origin, authorization: `Basic ${Buffer.from(credentials).toString('base64')}` };
}

function forwardedOf({ forward_headers = [] }: Provider): readonly string[] | undefined {
  return forward_headers.length === 0 ? undefined : Object.freeze(forward_headers.map((name) => name.toLowerCase()));
}

/**
 * The keys and those before them, the values of configured headers and of the query, and the words of these: `Token abc` may come back as `abc`. Longest
 * first.
 */
function secretsOf(provider: Provider, formerKeys: readonly string[]): string[] {
  const { headers, base_url } = provider;
  const keys = keysOf(provider).map((key = '') => key);
  const values = [
    ...keys,
    ...formerKeys,
    ...Object.values(headers),
    ...queryValues(base_url),
    ...proxyPasswords(provider),
  ];
  const words = values.flatMap((value) => [value, ...value.split(/[\s,;=:]+/)]);
  // Shorter ones are words such as `true`; taking them out of messages would only mangle these.
  return [...new Set(words)].filter((word) => word.length >= 8).sort((a, b) => b.length - a.length);
}

/** The values in the query of an address, but for Azure's version, which errors speak of. */
function queryValues(address: string): string[] {
  const parameters = [...new URL(address).searchParams];
  return parameters.filter(([name]) => name !== 'api-version').map(([, value]) => value);
}

/** The password of a proxy, as it is written and as it is meant. */
function proxyPasswords({ proxy_url: text = '' }: Provider): string[] {
  const { password } = text === '' ? { password: '' } : new URL(text);
  return [password, decodeURIComponent(password)];
}
