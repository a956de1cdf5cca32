// Every environment variable of the gateway with default and meaning. A test compares the table with the variables that the planes read.

import { telemetryVariables } from './telemetry-variables.ts';
import { vaultVariables } from './vault-variables.ts';

/** One variable, or a family of them: `SET_RATE_LIMIT_<PATH>`. */
export interface EnvironmentVariable {
  readonly name: string;
  /** Which processes read it. */
  readonly readBy: 'both' | 'proxy' | 'control plane';
  /** The value of an unset variable. Absent: no default, or `says` describes it. */
  readonly default?: string;
  /** Markdown; one or two sentences. */
  readonly says: string;
}

const both = 'both';
const proxy = 'proxy';

/** Read once, at the start of a process; the files that some name are read again when they change. An empty variable counts as unset. */
export const environmentVariables: readonly EnvironmentVariable[] = [
  {
    name: 'GATEWAY_MASTER_KEY',
    readBy: both,
    says: 'The key that clients and operators send: visible ASCII characters, at least 16 unless the address is loopback. Required unless `GATEWAY_INSECURE=true`. `npm start` makes one and keeps it in `data/master-key`.',
  },
  {
    name: 'GATEWAY_MASTER_KEY_FILE',
    readBy: both,
    says: 'A file that holds the master key, in place of `GATEWAY_MASTER_KEY`: at most 16 KiB, a line break at its end does not count. It is read again when it changes: the new key is accepted at once, the old one no longer.',
  },
  {
    name: 'GATEWAY_PREVIOUS_MASTER_KEY',
    readBy: both,
    says: 'The previous master key, set while the key is being changed: documents sealed with it stay in force. It authenticates no request.',
  },
  {
    name: 'GATEWAY_PREVIOUS_MASTER_KEY_FILE',
    readBy: both,
    says: 'A file that holds it, in place of `GATEWAY_PREVIOUS_MASTER_KEY`. It is read again when it changes.',
  },
  {
    name: 'GATEWAY_INSECURE',
    readBy: both,
    default: 'false',
    says: 'Run without a master key: every request is accepted, except requests with a `Host` that is not a name of this machine and writes of web pages of another origin.',
  },
  {
    name: 'GATEWAY_CONFIG',
    readBy: both,
    default: './config',
    says: 'The directory of YAML files. `npm start` falls back to `examples/quickstart/config`.',
  },
  {
    name: 'GATEWAY_CONFIG_COMMIT',
    readBy: 'control plane',
    says: 'The git commit that the directory holds, for the list of revisions, where it comes without its `.git`: in an image or a ConfigMap. Absent: it is read from the `.git` of the directory. It is said once, so it fits a directory that changes only with the process.',
  },
  {
    name: 'GATEWAY_DATA',
    readBy: both,
    default: './data',
    says: 'The directory for files that the gateway writes: the state store without Redis, the last good config, copies of rules and keys.',
  },
  { name: 'GATEWAY_HOST', readBy: proxy, default: '127.0.0.1', says: 'The address that the proxy listens on.' },
  {
    name: 'GATEWAY_PORT',
    readBy: proxy,
    default: '8080',
    says: 'The port that the proxy listens on; 0 asks the system for a free one.',
  },
  {
    name: 'GATEWAY_ADMIN_HOST',
    readBy: both,
    default: '127.0.0.1',
    says: 'The address that the control plane listens on; a proxy on the same machine calls it there.',
  },
  {
    name: 'GATEWAY_ADMIN_PORT',
    readBy: both,
    default: '8081',
    says: 'The port that the control plane listens on; a proxy on the same machine calls it there.',
  },
  {
    name: 'GATEWAY_CONTROL_PLANE_URL',
    readBy: proxy,
    default: 'http://127.0.0.1:8081',
    says: 'The `http` or `https` address at which a proxy calls the control plane. The default is made of `GATEWAY_ADMIN_HOST` and `GATEWAY_ADMIN_PORT`.',
  },
  {
    name: 'GATEWAY_CONTROL_PLANE_CA_FILE',
    readBy: proxy,
    says: 'A file with the certificates (PEM) of authorities that may have issued that of the control plane, besides those of the system, when its address begins with `https`. It is read again when it changes.',
  },
  {
    name: 'GATEWAY_CONTROL_PLANE_TIMEOUT_MS',
    readBy: proxy,
    default: '10000',
    says: 'Milliseconds that an admin request may take at the control plane, at most 600000.',
  },
  {
    name: 'GATEWAY_INSTANCE',
    readBy: proxy,
    says: 'Name of this replica, used for its counters and its folder in `GATEWAY_DATA`. Default: host name and port. Set a fixed name where host names change with every start, as in containers.',
  },
  {
    name: 'GATEWAY_EXPECTED_REPLICAS',
    readBy: proxy,
    default: '1',
    says: 'How many proxies share the caps of a fleet, as long as this one has never reached the state store: 1 to 10000. Later it is what the store said last, also behind a restart. Its workers are multiplied in.',
  },
  {
    name: 'GATEWAY_WORKERS',
    readBy: proxy,
    default: '1',
    says: 'How many processes serve the port of this proxy: 1 to 128, or `auto` for as many as the machine runs at the same time. Each is a replica: the first one has the name `GATEWAY_INSTANCE`, the others that name with `@2` and so on behind it. With several, a parent starts them, starts one again that has ended, and passes its signals on.',
  },
  {
    name: 'GATEWAY_ADMIN_ON_PROXY',
    readBy: proxy,
    default: 'true',
    says: 'Whether the proxy serves `/admin`: the admin API, the dashboard and what it explains. `false` takes all of it off the public port; operators use the address of the control plane, or a proxy that clients do not reach.',
  },
  {
    name: 'GATEWAY_METRICS_PORT',
    readBy: proxy,
    says: 'Serves `/metrics` of the proxy on this separate port only, not on the public port; 0 asks the system for a free port.',
  },
  {
    name: 'GATEWAY_METRICS_MAX_AGE_MS',
    readBy: both,
    default: '1000',
    says: 'Maximum age of the text of `/metrics` in milliseconds, at most 60000. Scrapes within this time get the same text.',
  },
  {
    name: 'REDIS_URL',
    readBy: both,
    says: 'The state store: `redis://user:password@host:6379/0`, `redis-sentinel://user:password@host1:26379,host2:26379/master/0` or `redis-cluster://user:password@host1:6379,host2:6379`; with `rediss` in place of `redis` for TLS. Without it, the state store is a file in `GATEWAY_DATA`.',
  },
  {
    name: 'REDIS_URL_FILE',
    readBy: both,
    says: 'A file that holds the address, in place of `REDIS_URL`. It is read again when it changes: the connection is made anew, and the one before serves until the new one works.',
  },
  {
    name: 'REDIS_SENTINEL_USERNAME',
    readBy: both,
    says: 'The user of the sentinels, when they have users. The user of `REDIS_URL` is that of the servers.',
  },
  {
    name: 'REDIS_SENTINEL_PASSWORD',
    readBy: both,
    says: 'The password of the sentinels.',
  },
  {
    name: 'REDIS_SENTINEL_PASSWORD_FILE',
    readBy: both,
    says: 'A file that holds the password of the sentinels, in place of `REDIS_SENTINEL_PASSWORD`. It is read again when it changes.',
  },
  {
    name: 'REDIS_CA_FILE',
    readBy: both,
    says: 'A file with the certificates (PEM) of the authorities that may have issued those of Redis and its sentinels, in place of the authorities of the system. It is read again when it changes.',
  },
  {
    name: 'REDIS_CERT_FILE',
    readBy: both,
    says: 'A file with the certificate (PEM) that the gateway shows to Redis and its sentinels. It is read again when it changes.',
  },
  {
    name: 'REDIS_KEY_FILE',
    readBy: both,
    says: 'A file with the private key (PEM, without a password) of `REDIS_CERT_FILE`. It is read again when it changes.',
  },
  {
    name: 'REDIS_WAIT_REPLICAS',
    readBy: both,
    default: '0',
    says: 'Replicas of Redis that must have a change of rules or keys before it is answered as done, at most 16. With fewer after 250 ms the answer is 503 `store_unreplicated`.',
  },
  {
    name: 'GATEWAY_REDIS_PREFIX',
    readBy: both,
    default: 'gateway',
    says: 'Prefix of all key names in Redis: 1 to 64 letters, digits, dots, underscores or hyphens.',
  },
  {
    name: 'DATABASE_URL',
    readBy: both,
    says: 'PostgreSQL: `postgresql://user:password@host:5432/name`. The control plane keeps records of audit and usage there; without it, in a file in `GATEWAY_DATA`. A proxy uses it for the semantic cache alone (`cache.semantic.engine`).',
  },
  {
    name: 'DATABASE_URL_FILE',
    readBy: both,
    says: 'A file that holds the address, in place of `DATABASE_URL`. It is read at the start.',
  },
  {
    name: 'GATEWAY_ADOPT_UNSIGNED',
    readBy: 'control plane',
    default: 'false',
    says: 'Accept stored documents without a seal, once, at this start.',
  },
  {
    name: 'GATEWAY_ENTITLEMENTS',
    readBy: both,
    says: 'Comma list of paid features: `quota_templates`.',
  },
  {
    name: 'USAGE_ENABLED',
    readBy: both,
    default: 'true',
    says: 'Count tokens and record usage. Without it, token caps and budgets are not enforced. Both planes need the same value.',
  },
  {
    name: 'RATE_LIMITS_ENABLED',
    readBy: both,
    says: 'Whether rate limits are enforced. When set, it overrides `rate_limits.enabled` of the YAML.',
  },
  {
    name: 'SET_RATE_LIMIT_<PATH>',
    readBy: both,
    says: 'The limits of a user path, in place of its YAML entry. `SET_RATE_LIMIT_TEAM__APP="rpm=60,tpm=100000"` is for `/team/app`, `SET_RATE_LIMIT_` for `/`. `SET_RATE_LIMIT_TEAM_B` is for `/team_b`: a name cannot have hyphens, and a warning says so where `/team-b` is in use. Names: `rpm` `tpm` `rph` `tph` `rpd` `tpd` `concurrent`; or a JSON array of limits.',
  },
  {
    name: 'SET_PROVIDER_RATE_LIMIT_<NAME>',
    readBy: both,
    says: 'The same for a provider; `_` in the name means `-`.',
  },
  {
    name: 'BUDGETS_ENABLED',
    readBy: both,
    says: 'Whether budgets are enforced. When set, it overrides `budgets.enabled` of the YAML.',
  },
  {
    name: 'SET_BUDGET_<PATH>',
    readBy: both,
    says: 'The budgets of a user path in US dollars, in place of its YAML entry; the path is named as in `SET_RATE_LIMIT_<PATH>`. `SET_BUDGET_TEAM__APP="daily=10,monthly=200"`; or a JSON object `{"daily": 10}`, or a JSON array of budgets, `[{"period": "daily", "amount": 10, "mode": "hard"}]`.',
  },
  {
    name: 'RATE_LIMITS_FLUSH_INTERVAL',
    readBy: proxy,
    default: '1',
    says: 'Seconds between two writes of the counters, at most 3600; 0 writes them at shutdown only.',
  },
  {
    name: 'LOG_LEVEL',
    readBy: both,
    default: 'info',
    says: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
  },
  ...vaultVariables,
  ...telemetryVariables,
];
