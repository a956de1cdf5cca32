// The environment variables both planes read, and how: one meaning for each name, all problems at once, never a value in a message.
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseFlag, parseList, type Variables } from '../schemas/variables.ts';
import { parseRedisUrl } from '../store/state/redis/address.ts';
import { ownNames } from './own-names.ts';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Settings that mean the same to both planes (design: Names of things outside the code). */
export interface PlaneSettings {
  /** Absent only when `insecure`. */
  readonly masterKey: string | undefined;
  /** The one before, whose seals on stored documents are still good; see `sealDocuments`. */
  readonly previousMasterKey: string | undefined;
  readonly insecure: boolean;
  /** Without a master key: the only names in `Host` that are served. */
  readonly ownNames: ReadonlySet<string> | undefined;
  /** What works and should be changed all the same, a sentence each. */
  readonly warnings: readonly string[];
  /** The GitOps directory. */
  readonly configDirectory: string;
  /** Where files of the gateway's own lie. Absolute: without a working directory, Node makes a relative one without end. */
  readonly dataDirectory: string;
  /** Paid features that are switched on. */
  readonly entitlements: ReadonlySet<string>;
  readonly logLevel: LogLevel;
  /** Tokens are counted; streams are asked to report usage. */
  readonly usageEnabled: boolean;
  /** How old the text of /metrics may be. Milliseconds. */
  readonly metricsMaxAgeMs: number;
  /** The state store is Redis when there is one, else a file in `dataDirectory`. */
  readonly redisUrl: string | undefined;
  /** What the names of all keys in Redis begin with. */
  readonly redisPrefix: string;
}

/** Reads variables one by one and collects what is wrong with them. An empty variable counts as unset. */
export interface VariableReader {
  readonly problems: string[];
  text(name: string, fallback: string): string;
  flag(name: string, fallback: boolean): boolean;
  host(name: string): string;
  /** 0 asks the system for a free port. */
  port(name: string, fallback: number): number;
  /** A whole number from 0 to `most`. */
  wholeNumber(name: string, fallback: number, most: number): number;
  /** `host`: what the plane is bound to. */
  planeSettings(host: string): PlaneSettings;
}

/** A shorter master key can be guessed: a stranger may try it some ten thousand times a second at `/v1`. */
const shortestMasterKey = 16;

const knownEntitlements = ['quota_templates'];

/** A reader over `variables`; look at `problems` when everything was read. */
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
  const redisUrl = (): string | undefined => {
    const url = get('REDIS_URL');
    if (url !== undefined && parseRedisUrl(url) === undefined) {
      problems.push('REDIS_URL must look like redis://user:password@host:6379/0, or rediss:// for TLS');
    }
    return url;
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
    planeSettings(host) {
      const insecure = flag('GATEWAY_INSECURE', false);
      const key = get('GATEWAY_MASTER_KEY');
      const previousKey = get('GATEWAY_PREVIOUS_MASTER_KEY');
      const checked = checkMasterKey({ key, previousKey, insecure, host });
      problems.push(...checked.problems);
      return {
        insecure,
        masterKey: key,
        previousMasterKey: previousKey,
        ownNames: key === undefined ? ownNames(host, hostname()) : undefined,
        warnings: checked.warnings,
        configDirectory: get('GATEWAY_CONFIG') ?? './config',
        dataDirectory: resolve(get('GATEWAY_DATA') ?? './data'),
        entitlements: entitlements(),
        logLevel: logLevel(),
        usageEnabled: flag('USAGE_ENABLED', true),
        metricsMaxAgeMs: wholeNumber('GATEWAY_METRICS_MAX_AGE_MS', 1_000, 60_000),
        redisUrl: redisUrl(),
        redisPrefix: redisPrefix(),
      };
    },
  };
}

/** Where the control plane listens, as both planes read it. */
export function adminAddress(reader: VariableReader): { readonly host: string; readonly port: number } {
  return { host: reader.host('GATEWAY_ADMIN_HOST'), port: reader.port('GATEWAY_ADMIN_PORT', 8081) };
}

/** What is said of the master keys and where they are used. */
interface MasterKeys {
  readonly key: string | undefined;
  readonly previousKey: string | undefined;
  readonly insecure: boolean;
  /** What the plane is bound to. */
  readonly host: string;
}

/** What is wrong with them, and what should be changed all the same; a sentence each. */
function checkMasterKey({ key, previousKey, insecure, host }: MasterKeys): { problems: string[]; warnings: string[] } {
  const problems: string[] = [];
  if (key === undefined) {
    if (!insecure) {
      problems.push(
        'GATEWAY_MASTER_KEY is not set; set it to a long random text, or GATEWAY_INSECURE=true to go without',
      );
    }
    if (previousKey !== undefined) {
      problems.push('GATEWAY_PREVIOUS_MASTER_KEY is set without a GATEWAY_MASTER_KEY that follows it');
    }
    return { problems, warnings: [] };
  }
  // A bearer token travels in a header: anything else could never match.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return { problems: ['GATEWAY_MASTER_KEY must consist of visible ASCII characters without spaces'], warnings: [] };
  }
  if (key.length >= shortestMasterKey) return { problems, warnings: [] };
  const said = `GATEWAY_MASTER_KEY has fewer than ${shortestMasterKey} characters and can be guessed`;
  return isLoopback(host)
    ? { problems, warnings: [`${said}; a gateway that other machines reach does not start with it`] }
    : { problems: [`${said}; set it to a long random text, or listen on 127.0.0.1 only`], warnings: [] };
}

/** Whether only this machine can reach what is bound to this address or name. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** The settings, or every problem at once. */
export type EnvironmentReading<Settings> =
  | { readonly environment: Settings }
  | { readonly problems: readonly [string, ...string[]] };

/** What a plane's `readEnvironment` gives. */
export function environmentReading<Settings extends object>(
  environment: Settings,
  { problems }: VariableReader,
): EnvironmentReading<Settings> {
  const [first, ...others] = problems;
  return first === undefined ? { environment: Object.freeze(environment) } : { problems: [first, ...others] };
}
