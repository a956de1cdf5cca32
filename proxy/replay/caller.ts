// Who asks, as a configuration has it: a key that it declares has its path, labels and models from it; an issued key the path and labels that were
// recorded.
import { isActive } from '../../domain/keys/auth-key.ts';
import { isConfigKey } from '../../domain/keys/config-key.ts';
import type { ModelAccess } from '../../domain/keys/model-access.ts';
import type { TrafficLine } from '../../domain/records/traffic.ts';
import type { World } from './world.ts';

export interface ReplayedCaller {
  /** Normalised, in the letter case in which it was sent. */
  readonly userPath: string;
  readonly labels: readonly string[];
  /** Undefined: every model, as far as is known. */
  readonly access: ModelAccess | undefined;
}

const noLabels: readonly string[] = [];

/** Undefined: the key is not let in. */
export function callerOf(
  { key: id, user_path: userPath, labels = noLabels, at }: TrafficLine,
  { keys, access }: Pick<World, 'keys' | 'access'>,
): ReplayedCaller | undefined {
  if (id === undefined || !isConfigKey({ id }))
    return { userPath, labels, access: id === undefined ? undefined : access.get(id) };
  const key = keys.get(id);
  if (key === undefined || !isActive(key, at)) return undefined;
  return { userPath: key.userPath ?? userPath, labels: key.labels, access: key.modelAccess };
}
