// The static settings of the control plane: environment variables, read once, checked all together.
import {
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
  /** Stored documents without a seal, as versions before seals have written them, are taken over at the start. */
  readonly adoptsUnsigned: boolean;
  /** Tokens are counted: the proxies are told so by the same variable. */
  readonly usageEnabled: boolean;
  /** All variables, for the rules they carry. */
  readonly variables: Variables;
}

/** Reads the variables (design section 5): the frozen settings, or every problem at once. */
export function readEnvironment(variables: Variables = process.env): EnvironmentReading<Environment> {
  const reader = readVariables(variables);
  const host = reader.host('GATEWAY_ADMIN_HOST');
  const environment = {
    ...reader.planeSettings(host),
    host,
    port: reader.port('GATEWAY_ADMIN_PORT', 8081),
    usageEnabled: reader.flag('USAGE_ENABLED', true),
    adoptsUnsigned: reader.flag('GATEWAY_ADOPT_UNSIGNED', false),
    variables,
  };
  return environmentReading(environment, reader);
}
