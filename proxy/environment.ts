// The static settings of the proxy: environment variables, read once, checked all together.
import { availableParallelism, hostname } from 'node:os';
import { certificates } from '../gitops/read/certificate-file.ts';
import {
  adminAddress,
  databaseUrl,
  type EnvironmentReading,
  environmentReading,
  type PlaneSettings,
  readVariables,
  type VariableReader,
} from '../plane/environment.ts';
import { controlPlaneFolder } from '../plane/identity.ts';
import type { SecretFile } from '../plane/secret-variable.ts';
import { readVaultSettings, type VaultSettings } from '../plane/vaults/settings.ts';
import type { Variables } from '../schemas/variables.ts';
import { readTelemetry, type TelemetrySettings } from './records/spans/settings.ts';

export interface Environment extends PlaneSettings {
  readonly host: string;
  /** 0 asks the system for a free port. */
  readonly port: number;
  /** Whether /admin is served. */
  readonly servesAdmin: boolean;
  /** Where /metrics is served instead, on the same host; undefined: on the public port. 0 asks the system for a free port. */
  readonly metricsPort: number | undefined;
  /** How many processes serve this port; each is a replica. 1: there is no parent. With several, limits are for the fleet by default. */
  readonly workers: number;
  /** Which of them this is, from 1. */
  readonly worker: number;
  /** Name of this replica; its own files lie in a folder of that name. Of a worker behind the first one it ends with `@` and its number. */
  readonly instance: string;
  /**
   * The former name of a replica without a configured name, from before host names were part of it; undefined when it
   * has one.
   */
  readonly formerInstance: string | undefined;
  /** Seconds between two writes of the counters; 0 writes them at shutdown only. */
  readonly flushIntervalSeconds: number;
  /** How many proxies share limits, for as long as the state store was never reached; each worker is one. */
  readonly expectedReplicas: number;
  /** Where `/admin` is served: an origin, http or https. */
  readonly controlPlaneUrl: string;
  /** The authorities that its certificate may come from, besides those of the system: PEM; undefined: none. */
  readonly controlPlaneAuthorities: string | undefined;
  /** How long an admin request may take there. Milliseconds. */
  readonly controlPlaneTimeoutMs: number;
  /** PostgreSQL for the semantic cache; undefined: there is none. */
  readonly databaseUrl: string | undefined;
  /** Where traces and metrics go; undefined: nowhere. */
  readonly telemetry: TelemetrySettings | undefined;
  /** Where secrets of vaults are read. */
  readonly vaults: VaultSettings;
  /** All variables, for `${VAR}` in the config. */
  readonly variables: Variables;
}

/** The variables of this process, for commands that are no proxy. */
export function ownVariables(): Variables {
  return process.env;
}

/** The most processes behind one port. */
const mostWorkers = 128;

/**
 * Reads the variables (design section 5): the frozen settings, or every problem at once. `machine`: the host name. `worker`: which of
 * the workers reads them; the first one has the name that a proxy without workers has, so it goes on with its counters.
 */
export function readEnvironment(
  variables: Variables = process.env,
  machine: string = hostname(),
  worker: number = 1,
): EnvironmentReading<Environment> {
  const reader = readVariables(variables);
  const host = reader.host('GATEWAY_HOST');
  const port = reader.port('GATEWAY_PORT', 8080);
  // Pods all listen on 0.0.0.0:8080, but each has a host name.
  const ownName = `${machine.replaceAll(/[^A-Za-z0-9._-]/g, '-') || host}:${port}`;
  const name = reader.text('GATEWAY_INSTANCE', ownName);
  if (name !== ownName && name !== `${host}:${port}` && !/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(name)) {
    reader.problems.push('GATEWAY_INSTANCE must be 1 to 128 letters, digits, dots, colons, underscores or hyphens');
  }
  if (name === controlPlaneFolder) {
    reader.problems.push(
      `GATEWAY_INSTANCE must be another name than ${controlPlaneFolder}: that folder is the control plane's`,
    );
  }
  const workers = workersIn(reader);
  const settings = reader.planeSettings(host);
  const authorities = controlPlaneAuthorities(reader);
  const environment = {
    ...settings,
    secretFiles: [...settings.secretFiles, ...authorities],
    host,
    port,
    servesAdmin: reader.flag('GATEWAY_ADMIN_ON_PROXY', true),
    metricsPort: reader.text('GATEWAY_METRICS_PORT', '') === '' ? undefined : reader.port('GATEWAY_METRICS_PORT', 0),
    workers,
    worker,
    instance: worker === 1 ? name : `${name}@${worker}`,
    formerInstance: name === ownName && worker === 1 ? `${host}:${port}` : undefined,
    flushIntervalSeconds: reader.wholeNumber('RATE_LIMITS_FLUSH_INTERVAL', 1, 3_600),
    expectedReplicas: reader.wholeNumber('GATEWAY_EXPECTED_REPLICAS', 1, 10_000) * workers,
    controlPlaneUrl: controlPlaneUrl(reader),
    controlPlaneAuthorities: authorities[0]?.value,
    controlPlaneTimeoutMs: reader.wholeNumber('GATEWAY_CONTROL_PLANE_TIMEOUT_MS', 10_000, 600_000),
    databaseUrl: databaseUrl(reader),
    telemetry: readTelemetry(reader),
    vaults: readVaultSettings(reader),
    variables,
  };
  return environmentReading(environment, reader);
}

/** `auto` is as many as the machine runs at the same time. */
function workersIn(reader: VariableReader): number {
  const text = reader.text('GATEWAY_WORKERS', '1');
  if (text === 'auto') return Math.min(availableParallelism(), mostWorkers);
  const workers = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : Number.NaN;
  if (!(workers <= mostWorkers)) {
    reader.problems.push(`GATEWAY_WORKERS must be auto or a whole number from 1 to ${mostWorkers}`);
  }
  return workers;
}

/** The file with the authorities of the control plane, if one is named and can be read. */
function controlPlaneAuthorities(reader: VariableReader): readonly SecretFile[] {
  const name = 'GATEWAY_CONTROL_PLANE_CA';
  const path = reader.text(`${name}_FILE`, '');
  if (path === '') return [];
  const reading = certificates.now(path);
  if ('key' in reading)
    return [{ name, path, value: reading.key, problemOf: () => undefined, read: certificates.later }];
  reader.problems.push(`${name}_FILE names a file that ${reading.trouble}`);
  return [];
}

/** The address the control plane listens on by default, unless another one is named. */
function controlPlaneUrl(reader: VariableReader): string {
  const { host, port } = adminAddress(reader);
  const text = reader.text('GATEWAY_CONTROL_PLANE_URL', `http://${host.includes(':') ? `[${host}]` : host}:${port}`);
  const url = URL.parse(text);
  const isOrigin =
    url !== null && /^https?:$/.test(url.protocol) && url.pathname === '/' && url.search + url.hash === '';
  if (!isOrigin || url.username !== '' || url.password !== '') {
    reader.problems.push('GATEWAY_CONTROL_PLANE_URL must be an address such as http://127.0.0.1:8081');
  }
  return url?.origin ?? '';
}
