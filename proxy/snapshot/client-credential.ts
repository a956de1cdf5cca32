// Providers that are asked with the credential of each client (`auth: client`): what a request brings for them, and its own copies of the
// upstream and targets, which end with it. Nothing else of a snapshot ever holds such a credential.
import { bearerToken } from '../../domain/keys/credentials.ts';
import { digestOf, isIssued } from '../../domain/keys/secret.ts';
import type { Head } from '../call/head.ts';
import { type Refusal, refusal } from '../errors.ts';
import { requestHeaders } from '../providers/key-headers.ts';
import type { Speeches } from '../providers/target-speeches.ts';
import { ClientKeys } from '../upstream/api-keys.ts';
import { noTransfer } from '../upstream/hop-by-hop.ts';
import type { Snapshot, Target, Upstream } from './snapshot.ts';

/** A request of a client, with the keys that the gateway knows. */
export interface ClientRequest {
  readonly exchange: {
    readonly head: Pick<Head, 'gatewayKey'>;
    readonly request: { readonly rawHeaders: readonly string[] };
  };
  readonly snapshot: Pick<Snapshot, 'credentials' | 'gatewayKeyHeader' | 'ownIssuers'>;
}

/** What a client sends to its vendor, names in lower case and values in turn. */
interface ClientCredential {
  readonly headers: readonly string[];
  /** Headers that belong to it: the account, and what the vendor's own client says of itself. */
  readonly companions: readonly string[];
  /** What nothing that is kept or told may contain. */
  readonly secrets: readonly string[];
}

const credentialNames: ReadonlySet<string> = new Set(['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']);
/**
 * Vendors look at these to tell whose login it is, and whether their own client sends it: Claude Code sends `anthropic-beta: oauth-…`,
 * Codex `chatgpt-account-id`, `originator` and the ids of its session.
 */
const companionNames: ReadonlySet<string> = new Set([
  'chatgpt-account-id',
  'conversation_id',
  'originator',
  'session-id',
  'session_id',
  'thread-id',
  'thread_id',
  'user-agent',
  'version',
  'x-app',
  'x-client-request-id',
]);
const companionBeginnings = ['anthropic-', 'openai-', 'x-claude-', 'x-codex-', 'x-oai-', 'x-openai-', 'x-stainless-'];

/** How credentials of a vendor begin: they go to no provider of another type. */
const vendors = [['sk-ant-', 'anthropic']] as const;
/** Shorter words are no secrets. Characters. */
const shortestSecret = 8;

/** The upstream as this request asks it. Throws 401 `client_credential_missing` where that needs a credential which the request has not. */
export function upstreamFor(upstream: Upstream, asking: ClientRequest): Upstream {
  if (upstream.clientAuth !== 'needed') return upstream;
  const credential = credentialFor(upstream, asking);
  if (credential === undefined) throw credentialMissing(upstream, asking);
  return upstreamWith(upstream, credential);
}

/** The credential of a request for this provider; undefined: it has none. */
export function credentialFor({ type }: Upstream, asking: ClientRequest): ClientCredential | undefined {
  const credential = credentialIn(asking);
  const isForeign = vendors.some(
    ([beginning, vendor]) => type !== vendor && credential?.secrets.some((secret) => secret.startsWith(beginning)),
  );
  return isForeign ? undefined : credential;
}

export function credentialMissing(
  { name }: Upstream,
  { snapshot: { gatewayKeyHeader: header } }: ClientRequest,
): Refusal {
  return refusal('client_credential_missing', { fill: { provider: name, header } });
}

/** The upstream with the credential: its secrets are masked like those of the configuration. */
export function upstreamWith(upstream: Upstream, { headers, companions, secrets: own }: ClientCredential): Upstream {
  const configured = new Set(upstream.headers.map((name, index) => (index % 2 === 0 ? name.toLowerCase() : '')));
  const told = companions.filter((_, index) => !configured.has(companions[index - (index % 2)] ?? ''));
  const all = [...upstream.headers, ...headers, ...told];
  const secrets = [...upstream.secrets, ...own].sort((a, b) => b.length - a.length);
  return {
    ...upstream,
    clientAuth: 'given',
    headers: all,
    secrets,
    credentials: new ClientKeys(requestHeaders('none', undefined, all)),
    speechesOf: (model) => speechesWith(upstream.speechesOf(model), secrets),
  };
}

/** The target of an upstream that was made for a request. */
export function targetWith(target: Target, upstream: Upstream): Target {
  const { model, modelJson, price, facts, speeches } = target;
  return {
    upstream,
    model,
    modelJson,
    price,
    facts,
    speeches: speechesWith(speeches, upstream.secrets),
    original: target,
  };
}

function speechesWith(speeches: Speeches, secrets: readonly string[]): Speeches {
  const masked = Object.entries(speeches).map(([operation, speech]) => {
    return [operation, { ...speech, speaker: { ...speech.speaker, secrets, clientAuth: 'given' } }];
  });
  return Object.fromEntries(masked) as Speeches;
}

/** Undefined: the request has no key of the gateway beside its credential, so that what it shows is for the gateway; or it has no credential. */
function credentialIn({ exchange, snapshot }: ClientRequest): ClientCredential | undefined {
  const { gatewayKey } = exchange.head;
  if (gatewayKey === undefined) return undefined;
  const { rawHeaders } = exchange.request;
  const isHop = noTransfer(rawHeaders);
  const headers: string[] = [];
  const companions: string[] = [];
  const secrets = new Set<string>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] as string).toLowerCase();
    const value = rawHeaders[index + 1] as string;
    if (isHop(name)) continue;
    if (isCompanion(name)) companions.push(name, value);
    if (!credentialNames.has(name)) continue;
    const secret = bearerToken(value) ?? value;
    if (secret === '' || isOfGateway(secret, gatewayKey, snapshot)) continue;
    headers.push(name, value);
    for (const word of [value, ...value.split(/[\s,;=:]+/)]) if (word.length >= shortestSecret) secrets.add(word);
  }
  return headers.length === 0 ? undefined : { headers, companions, secrets: [...secrets] };
}

function isCompanion(name: string): boolean {
  return companionNames.has(name) || companionBeginnings.some((beginning) => name.startsWith(beginning));
}

/** A key of the gateway, one that was revoked, or a token of its identity providers never goes to a provider, whatever header it is in. */
function isOfGateway(
  secret: string,
  gatewayKey: string,
  { credentials: { masterKeyDigest, keys }, ownIssuers }: ClientRequest['snapshot'],
): boolean {
  if (secret === gatewayKey || isIssued(secret)) return true;
  const digest = digestOf(secret);
  if (digest === masterKeyDigest || keys.get(digest) !== undefined) return true;
  const issuer = ownIssuers.size === 0 ? undefined : issuerOf(secret);
  return issuer !== undefined && ownIssuers.has(issuer);
}

/** The claim `iss` of a JWT, whoever has signed it; undefined: it is none. */
function issuerOf(secret: string): string | undefined {
  const [, payload = ''] = secret.split('.');
  try {
    const { iss } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as { readonly iss?: unknown };
    return typeof iss === 'string' ? iss : undefined;
  } catch {
    return undefined;
  }
}
