// The static settings of the proxy: environment variables, read once, checked all together.
import { hostname } from 'node:os';
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
  /** Name of this replica; its own files lie in a folder of that name. */
  readonly instance: string;
  /**
   * The former name of a replica without a configured name, from before host names were part of it; undefined when it
   * has one.
   */
  readonly formerInstance: string | undefined;
  /** Seconds between two writes of the counters; 0 writes them at shutdown only. */
  readonly flushIntervalSeconds: number;
  /** Where `/admin` is served: an origin, http or https. */
  readonly controlPlaneUrl: string;
  /** How long an admin request may take there. Milliseconds. */
  readonly controlPlaneTimeoutMs: number;
  /** PostgreSQL for the semantic cache; undefined: there is none. */
  readonly databaseUrl: string | undefined;
  /** Where traces and metrics go; undefined: nowhere. */
  readonly telemetry: TelemetrySettings | undefined;
  /** All variables, for `${VAR}` in the config. */
  readonly variables: Variables;
}

/** Reads the variables (design section 5): the frozen settings, or every problem at once. `machine`: the host name. */
export function readEnvironment(
  variables: Variables = process.env,
  machine: string = hostname(),
): EnvironmentReading<Environment> {
  const reader = readVariables(variables);
  const host = reader.host('GATEWAY_HOST');
  const port = reader.port('GATEWAY_PORT', 8080);
  // Pods all listen on 0.0.0.0:8080, but each has a host name.
  const ownName = `${machine.replaceAll(/[^A-Za-z0-9._-]/g, '-') || host}:${port}`;
  const instance = reader.text('GATEWAY_INSTANCE', ownName);
  if (instance !== ownName && instance !== `${host}:${port}` && !/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/.test(instance)) {
    reader.problems.push('GATEWAY_INSTANCE must be 1 to 128 letters, digits, dots, colons, underscores or hyphens');
  }
  if (instance === controlPlaneFolder) {
    reader.problems.push(
      `GATEWAY_INSTANCE must be another name than ${controlPlaneFolder}: that folder is the control plane's`,
    );
  }
  const environment = {
    ...reader.planeSettings(host),
    host,
    port,
    servesAdmin: reader.flag('GATEWAY_ADMIN_ON_PROXY', true),
    metricsPort: reader.text('GATEWAY_METRICS_PORT', '') === '' ? undefined : reader.port('GATEWAY_METRICS_PORT', 0),
    instance,
    formerInstance: instance === ownName ? `${host}:${port}` : undefined,
    flushIntervalSeconds: reader.wholeNumber('RATE_LIMITS_FLUSH_INTERVAL', 1, 3_600),
    controlPlaneUrl: controlPlaneUrl(reader),
    controlPlaneTimeoutMs: reader.wholeNumber('GATEWAY_CONTROL_PLANE_TIMEOUT_MS', 10_000, 600_000),
    databaseUrl: databaseUrl(reader),
    telemetry: readTelemetry(reader),
    variables,
  };
  return environmentReading(environment, reader);
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
