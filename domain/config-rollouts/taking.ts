// Which configuration a process may put in force while revisions are rolled out. Pure.
import type { RolloutState } from './config-rollout.ts';

/** `directory`: what it has read. `stable`: the files of the rollout. `hold`: what is in force stays, and the directory waits. */
export type Taking = 'directory' | 'stable' | 'hold';

/** A process, and what it has read. */
export interface Taker {
  /** The name of a proxy; undefined: the control plane, which never goes first. */
  readonly instance: string | undefined;
  /** The revision of the directory, which may be unusable. */
  readonly directory: string;
  /** Undefined: nothing is yet. */
  readonly inForce: { readonly revision: string; readonly hasRollout: boolean } | undefined;
}

/**
 * The directory, unless the configuration in force has a rollout, or the fleet has one. Then only the stable revision, and on the proxies that
 * go first the one that is tried. A process that has another one in force, or none, takes the stable one.
 */
export function takingOf(rollout: RolloutState | undefined, { instance, directory, inForce }: Taker): Taking {
  const gates = rollout?.gates === true;
  if (!gates && inForce?.hasRollout !== true) return 'directory';
  const tried = triedBy(rollout, instance);
  const mayHave = (revision: string): boolean => revision === rollout?.stable || revision === tried;
  if (mayHave(directory) || (!gates && directory === inForce?.revision)) return 'directory';
  return gates && (inForce === undefined || !mayHave(inForce.revision)) ? 'stable' : 'hold';
}

/** The revision that a proxy tries before the others; undefined: none. */
export function triedBy(rollout: RolloutState | undefined, instance: string | undefined): string | undefined {
  const { trial } = rollout ?? {};
  if (trial?.phase !== 'canary' || instance === undefined) return undefined;
  return trial.proxies.includes(instance) ? trial.revision : undefined;
}
