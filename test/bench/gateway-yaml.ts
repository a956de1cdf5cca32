// The configuration the measured gateway runs with.
import { MODELS } from './workload.ts';

/** What is recorded of requests: nothing, usage and audit entries, or these with their bodies. */
export const RECORDINGS = ['off', 'on', 'bodies'] as const;
export type Recording = (typeof RECORDINGS)[number];

interface YamlOptions {
  /** Changes a harmless value, so that an edit is a real one. */
  readonly generation?: number;
  /** False leaves out what gateways of older commits do not know. */
  readonly isCurrent?: boolean;
  /** A line of the access log for each request; otherwise none at all. */
  readonly isLogged?: boolean;
  /** For figures of what is recorded: then no rule counts tokens, which only some gateways would do. Absent: as in production. */
  readonly recording?: Recording | undefined;
  /** Answers are kept, in memory. */
  readonly isCached?: boolean;
  /** Where caps hold; absent: as the gateway decides. */
  readonly scope?: 'fleet' | 'replica' | undefined;
  /** How many managed keys there may be; absent: the default. */
  readonly maxKeys?: number | undefined;
}

/** One provider, one alias, and rules that match every request without ever refusing one. */
export function gatewayYaml(
  upstream: string,
  { generation = 0, isCurrent = true, isLogged = false, isCached = false, recording, scope, maxKeys }: YamlOptions = {},
): string {
  const tokens = recording === undefined ? ', max_tokens: 1000000000000' : '';
  const limits = `[{ period: minute, max_requests: ${1_000_000_000 + generation}${tokens} }]`;
  const server = isCurrent ? `${SERVER}  access_log: ${isLogged ? 'all' : 'off'}\n` : '';
  const cache = isCached ? 'cache: { enabled: true }\n' : '';
  const admin = maxKeys === undefined ? '' : `admin: { max_keys: ${maxKeys}, max_keys_per_scope: ${maxKeys} }\n`;
  return `${server}${cache}${admin}${AUDIT[recording ?? 'on']}providers:
  bench:
    type: openai
    base_url: ${upstream}/v1
    api_key: sk-bench
    models: [${MODELS.join(', ')}]
aliases:
  - source: short-name
    target: bench/${MODELS[0]}
rate_limits:
${scope === undefined ? '' : `  scope: ${scope}\n`}  user_paths:
    - path: /
      limits: ${limits}
  providers:
    - name: bench
      limits: ${limits}
  models:
    - model: bench/${MODELS[0]}
      limits: ${limits}
`;
}

const AUDIT: Readonly<Record<Recording, string>> = {
  off: 'audit: { enabled: false }\n',
  on: '',
  bodies: 'audit: { bodies: true }\n',
};

// All clients of the bench have one address, and open more connections than half of the files of a process allow.
const SERVER = `server:
  max_connections: 20000
  max_connections_per_address: 20000
`;
