// Reads the static settings of the control plane from environment variables, once, with all problems at once.
import { resolve } from 'node:path';
import {
  adminAddress,
  databaseUrl,
  type EnvironmentReading,
  environmentReading,
  type PlaneSettings,
  readVariables,
} from '../plane/environment.ts';
import type { Variables } from '../schemas/variables.ts';

export interface Environment extends PlaneSettings {
  readonly host: string;
  /** 0 asks the system for a free port. */
  readonly port: number;
  /** Whether the start accepts stored documents without a seal, which older versions have written. */
  readonly adoptsUnsigned: boolean;
  /** PostgreSQL for records; undefined: a file in the data directory. */
  readonly databaseUrl: string | undefined;
  /** The commit that the configuration is of, as a pipeline says it; undefined: git may know it. */
  readonly configCommit: string | undefined;
  /** All variables, because some declare rules. */
  readonly variables: Variables;
}

/** Where a command was called: npm runs a script in the directory of its package, and says the caller's in INIT_CWD. */
export function callerDirectory(variables: Variables = process.env): string {
  return (variables['npm_lifecycle_event'] === undefined ? undefined : variables['INIT_CWD']) ?? process.cwd();
}

/** Where the data lie: what a backup has to know, without any secret. */
export interface DataPlaces {
  readonly dataDirectory: string;
  readonly hasRedis: boolean;
  readonly hasPostgres: boolean;
}

export function readDataPlaces(variables: Variables = process.env): DataPlaces {
  const isSet = (name: string): boolean => Boolean(variables[name] || variables[`${name}_FILE`]);
  return {
    dataDirectory: resolve(variables['GATEWAY_DATA'] || './data'),
    hasRedis: isSet('REDIS_URL'),
    hasPostgres: isSet('DATABASE_URL'),
  };
}

/** Reads the variables (design section 5): the frozen settings, or every problem at once. */
export function readEnvironment(variables: Variables = process.env): EnvironmentReading<Environment> {
  const reader = readVariables(variables);
  const { host, port } = adminAddress(reader);
  const configCommit = reader.text('GATEWAY_CONFIG_COMMIT', '');
  if (!/^[A-Za-z0-9._/+-]{0,64}$/.test(configCommit))
    reader.problems.push('GATEWAY_CONFIG_COMMIT must be a commit: up to 64 letters, digits, dots, slashes, hyphens');
  const environment = {
    ...reader.planeSettings(host),
    host,
    port,
    adoptsUnsigned: reader.flag('GATEWAY_ADOPT_UNSIGNED', false),
    databaseUrl: databaseUrl(reader),
    configCommit: configCommit === '' ? undefined : configCommit,
    variables,
  };
  return environmentReading(environment, reader);
}
