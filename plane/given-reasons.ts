// Why a process is degraded while a configuration is given in place of its directory.
import type { GivenStatus } from '../gitops/follow/given-config.ts';

/**
 * Reasons of a readiness: stable, for programs. `config_pin_unusable`, `config_rollout_unusable`: this process could not put the given revision
 * in force. That others wait for their rollout is no fault.
 */
export function givenReasons(given: GivenStatus | undefined): string[] {
  if (given === undefined) return [];
  if (given.source === 'rollout') return given.problems.length === 0 ? [] : ['config_rollout_unusable'];
  return [given.problems.length === 0 ? 'config_pinned' : 'config_pin_unusable'];
}
