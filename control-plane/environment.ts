// Reads the static settings of the control plane from environment variables, once, with all problems at once.
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
  /** All variables, because some declare rules. */
  readonly variables: Variables;
}

/** Where a command was called: npm runs a script in the directory of its package, and says the caller's in INIT_CWD. */
export function callerDirectory(variables: Variables = process.env): string {
  return (variables['npm_lifecycle_event'] === undefined ? undefined : variables['INIT_CWD']) ?? process.cwd();
}

/** Reads the variables (design section 5): the frozen settings, or every problem at once. */
export function readEnvironment(variables: Variables = process.env): EnvironmentReading<Environment> {
  const reader = readVariables(variables);
  const { host, port } = adminAddress(reader);
  const environment = {
    ...reader.planeSettings(host),
    host,
    port,
    adoptsUnsigned: reader.flag('GATEWAY_ADOPT_UNSIGNED', false),
    databaseUrl: databaseUrl(reader),
    variables,
  };
  return environmentReading(environment, reader);
}
