// Reads the environment variables that both planes have. All problems are reported at once; a message never holds a value.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseFlag, parseList, type Variables } from '../schemas/variables.ts';
import type { RedisUrl } from '../store/state/redis/address.ts';
import { ownNames } from './access/own-names.ts';
import { readOwnSecrets } from './own-secrets.ts';
import { readSecret, type SecretFile, type SecretName } from './secret-variable.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Settings with the same meaning in both planes (design: Names of things outside the code). */
export interface PlaneSettings {
  /** Absent only when `insecure`. */
  readonly masterKey: string | undefined;
  /** The previous master key: documents sealed with it are still accepted; see `sealDocuments`. */
  readonly previousMasterKey: string | undefined;
  readonly insecure: boolean;
  /** The names in `Host` that are served without a master key. Absent with a master key. */
  readonly ownNames: ReadonlySet<string> | undefined;
  /** Sentences about settings that work but should be changed. */
  readonly warnings: readonly string[];
  /** The directory with the YAML files. */
  readonly configDirectory: string;
  /** The directory for files that the gateway writes. Absolute: Node creates a relative one endlessly when the working directory is gone. */
  readonly dataDirectory: string;
  /** Paid features that are switched on. */
  readonly entitlements: ReadonlySet<string>;
  readonly logLevel: LogLevel;
  /** Whether tokens are counted; then the gateway asks streams to report usage. */
  readonly usageEnabled: boolean;
  /** Maximum age of the text of /metrics. Milliseconds. */
  readonly metricsMaxAgeMs: number;
  /** Address of Redis as the state store; absent: the store is a file in `dataDirectory`. */
  readonly redisUrl: RedisUrl | undefined;
  /** Replicas of Redis that must have a change of rules and keys before it counts as done. */
  readonly redisWaitReplicas: number;
  /** Prefix of the names of all keys in Redis. */
  readonly redisPrefix: string;
  /** The files that hold secrets of these settings: they may change while the process runs. */
  readonly secretFiles: readonly SecretFile[];
}

/** Reads variables one by one and collects their problems. An empty variable counts as unset. */
export interface VariableReader {
  readonly problems: string[];
  text(name: string, fallback: string): string;
  flag(name: string, fallback: boolean): boolean;
  host(name: string): string;
  /** 0 asks the system for a free port. */
  port(name: string, fallback: number): number;
  /** A whole number from 0 to `most`. */
  wholeNumber(name: string, fallback: number, most: number): number;
  /** The value of a variable that may name a file, with `_FILE` behind its name; undefined: it is not set. */
  secret(name: SecretName): string | undefined;
  /** `host`: the address that the plane is bound to. */
  planeSettings(host: string): PlaneSettings;
}

const mostReplicas = 16;
const knownEntitlements = ['quota_templates'];

/** A reader of `variables`; `problems` is complete when everything was read. */
export function readVariables(variables: Variables): VariableReader {
  const problems: string[] = [];
  const get = (name: string): string | undefined => variables[name] || undefined;

  const flag = (name: string, fallback: boolean): boolean => {
    const value = parseFlag(get(name) ?? String(fallback));
    if (value === undefined) problems.push(`${name} must be true or false`);
    return value ?? fallback;
  };
  const wholeNumber = (name: string, fallback: number, most: number): number => {
    const text = get(name) ?? String(fallback);
    const number = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (!(number <= most)) problems.push(`${name} must be a whole number from 0 to ${most}`);
    return number;
  };
  const redisPrefix = (): string => {
    const prefix = get('GATEWAY_REDIS_PREFIX') ?? 'gateway';
    if (!/^[A-Za-z0-9._-]{1,64}$/.test(prefix)) {
      problems.push('GATEWAY_REDIS_PREFIX must be 1 to 64 letters, digits, dots, underscores or hyphens');
    }
    return prefix;
  };
  const logLevel = (): LogLevel => {
    const text = get('LOG_LEVEL') ?? 'info';
    const level = logLevels.find((known) => known === text);
    if (level === undefined) problems.push(`LOG_LEVEL must be one of ${logLevels.join(', ')}`);
    return level ?? 'info';
  };
  const entitlements = (): ReadonlySet<string> => {
    const given = parseList(get('GATEWAY_ENTITLEMENTS') ?? '');
    if (!given.every((name) => knownEntitlements.includes(name))) {
      problems.push(`GATEWAY_ENTITLEMENTS must be a comma list of ${knownEntitlements.join(', ')}`);
    }
    return new Set(given);
  };

  return {
    problems,
    flag,
    text: (name, fallback) => get(name) ?? fallback,
    host(name) {
      const host = get(name) ?? '127.0.0.1';
      if (!/^[A-Za-z0-9._:-]+$/.test(host)) {
        problems.push(`${name} must be an address or a host name without a port, for example 127.0.0.1`);
      }
      return host;
    },
    port: (name, fallback) => wholeNumber(name, fallback, 65_535),
    wholeNumber,
    secret: (name) => readSecret(name, get, problems).value,
    planeSettings(host) {
      const insecure = flag('GATEWAY_INSECURE', false);
      const { masterKey, previousMasterKey, redisUrl, secretFiles, warnings } = readOwnSecrets(get, problems, {
        insecure,
        host,
      });
      return {
        insecure,
        masterKey,
        previousMasterKey,
        ownNames: masterKey === undefined ? ownNames(host, hostname()) : undefined,
        warnings,
        configDirectory: get('GATEWAY_CONFIG') ?? './config',
        dataDirectory: resolve(get('GATEWAY_DATA') ?? './data'),
        entitlements: entitlements(),
        logLevel: logLevel(),
        usageEnabled: flag('USAGE_ENABLED', true),
        metricsMaxAgeMs: wholeNumber('GATEWAY_METRICS_MAX_AGE_MS', 1_000, 60_000),
        redisUrl,
        redisWaitReplicas: wholeNumber('REDIS_WAIT_REPLICAS', 0, mostReplicas),
        redisPrefix: redisPrefix(),
        secretFiles,
      };
    },
  };
}

/** The address of PostgreSQL, as both planes read it; undefined: there is none. */
export function databaseUrl(reader: VariableReader): string | undefined {
  const value = reader.secret('DATABASE_URL');
  const isPostgres = value === undefined || /^postgres(?:ql)?:$/.test(URL.parse(value)?.protocol ?? '');
  if (!isPostgres) reader.problems.push('DATABASE_URL must look like postgresql://user:password@host:5432/name');
  return value;
}

/** The address of the control plane, as both planes read it. */
export function adminAddress(reader: VariableReader): { readonly host: string; readonly port: number } {
  return { host: reader.host('GATEWAY_ADMIN_HOST'), port: reader.port('GATEWAY_ADMIN_PORT', 8081) };
}

/** The settings, or every problem at once. */
export type EnvironmentReading<Settings> =
  | { readonly environment: Settings }
  | { readonly problems: readonly [string, ...string[]] };

/** The result of a plane's `readEnvironment`: the settings, or all problems of the reader. */
export function environmentReading<Settings extends object>(
  environment: Settings,
  { problems }: VariableReader,
): EnvironmentReading<Settings> {
  const [first, ...others] = problems;
  return first === undefined ? { environment: Object.freeze(environment) } : { problems: [first, ...others] };
}
