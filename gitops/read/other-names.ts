// Names that a key had in an older version, or has in other gateways, so that a problem can say what it is here.
import type { Path } from '../../schemas/validation/path.ts';

export interface OtherName {
  /** The keys above it; `*`: any key or place in a list. */
  readonly above: string;
  readonly name: string;
  /** What to write instead. */
  readonly now: string;
  /** The version in which our own key was renamed; absent: a word of others. */
  readonly since?: string;
}

/** Our own keys that were renamed. A row stays for as long as someone may come from an older version. So far there is none. */
const renamed: readonly OtherName[] = [];

const words = (above: string, names: Readonly<Record<string, string>>): readonly OtherName[] =>
  Object.entries(names).map(([name, now]) => ({ above, name, now }));

/** In the place of a secret, which the files never hold. */
const hashOnly =
  'hash, the SHA-256 of the secret, which model-gateway keys new prints, or value_file; the secret itself never stands here';

/** What people write who have used LiteLLM, Portkey, Bifrost, Kong or an SDK. */
const foreign: readonly OtherName[] = [
  ...words('', {
    model_list: 'providers, and aliases for other names of models',
    models: 'models of a provider, and aliases for other names of models',
    routes: 'aliases',
    router_settings: 'strategy and retry of aliases',
    fallbacks: 'aliases with several targets',
    general_settings: 'server, and environment variables',
    litellm_settings: 'server and cache',
    virtual_keys: 'keys, or the admin API, which issues keys (POST /admin/auth-keys)',
    caching: 'cache',
    logging: 'audit, and server.access_log',
  }),
  ...words('providers.*', {
    api_base: 'base_url',
    url: 'base_url',
    host: 'base_url',
    endpoint: 'base_url',
    key: 'api_key',
    token: 'api_key',
    provider: 'type',
    kind: 'type',
    timeout: 'timeouts',
    rpm: 'max_requests in rate_limits.providers',
    tpm: 'max_tokens in rate_limits.providers',
    proxy: 'proxy_url',
    extra_headers: 'headers',
  }),
  ...words('aliases.*', {
    name: 'source',
    alias: 'source',
    model_name: 'source',
    model: 'target',
    models: 'targets',
    to: 'target',
    fallbacks: 'targets, the first one first, with strategy: failover',
    retries: 'retry',
    num_retries: 'retry.attempts',
  }),
  ...words('keys.*', {
    value: hashOnly,
    secret: hashOnly,
    key: hashOnly,
    api_key: hashOnly,
    token: hashOnly,
    digest: 'hash',
    key_hash: 'hash',
    file: 'value_file',
    models: 'allowed_models',
    expires: 'expires_at',
    expires_in: 'expires_at',
    path: 'user_path',
    team: 'user_path',
    tags: 'labels',
  }),
  ...['user_paths', 'providers', 'models'].flatMap((subjects) =>
    words(`rate_limits.${subjects}.*.limits.*`, {
      rpm: 'max_requests with period: minute',
      tpm: 'max_tokens with period: minute',
      rpd: 'max_requests with period: day',
      tpd: 'max_tokens with period: day',
      requests: 'max_requests',
      tokens: 'max_tokens',
      max_parallel_requests: 'max_requests with period: concurrent',
      window: 'period, or period_seconds',
      limit: 'max_requests or max_tokens',
    }),
  ),
  ...['user_paths', 'labels'].flatMap((subjects) =>
    words(`budgets.${subjects}.*.limits.*`, {
      max_budget: 'amount',
      budget: 'amount',
      limit: 'amount',
      amount_usd: 'amount',
      budget_duration: 'period, or period_seconds',
      window: 'period, or period_seconds',
    }),
  ),
];

/** What became of an unknown key, to continue a sentence about it; undefined: it is no known name. `path`: of the mapping that has it. */
export function otherName(
  path: Path,
  key: string,
  names: readonly OtherName[] = [...renamed, ...foreign],
): string | undefined {
  const found = names.find(({ above, name }) => name === key && isAt(path, above));
  if (found === undefined) return undefined;
  return found.since === undefined
    ? `; here this is ${found.now}`
    : `; it was renamed to ${found.now} in version ${found.since}`;
}

function isAt(path: Path, above: string): boolean {
  const parts = above === '' ? [] : above.split('.');
  return parts.length === path.length && parts.every((part, index) => part === '*' || part === path[index]);
}
