// Why a process is degraded while a configuration is given in place of its directory.
import type { GivenStatus } from '../gitops/follow/given-config.ts';

/** Reasons of a readiness: stable, for programs. `config_pin_unusable`: this process could not put the pinned revision in force. */
export function givenReasons(given: GivenStatus | undefined): string[] {
  if (given === undefined) return [];
  return [given.problems.length === 0 ? 'config_pinned' : 'config_pin_unusable'];
}
