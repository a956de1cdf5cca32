// Tells the operator of keys that a provider refuses.
import type { Log } from '../../plane/log-events.ts';
import type { RefusedKey } from '../upstream/api-keys.ts';

/** The key is named by its place in the configuration. */
export function logRefusedKeys(log: Log): (refused: RefusedKey) => void {
  return ({ provider, position, count }) =>
    log.warn({ provider, key: position }, `the provider refuses the API key (401), number ${position} of ${count}`);
}
