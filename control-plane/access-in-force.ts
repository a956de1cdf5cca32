// The parts of the process that authentication reads: keys, master key and settings as they are in force at each request.
import type { StateStatus } from '../store/state/state-status.ts';
import type { AccessParts } from './authenticate.ts';
import type { DocumentsInForce } from './documents-in-force.ts';

/** The parts that do not change, and where the others come from. */
export interface AccessSources extends Omit<AccessParts, 'credentials' | 'masterKey'> {
  readonly managed: Pick<DocumentsInForce, 'credentials' | 'masterKey'>;
  readonly state: () => Pick<StateStatus, 'standing'>;
}

export function accessInForce({ managed, state, ...parts }: AccessSources): AccessParts {
  return {
    ...parts,
    // Keys that were lost are not wrong.
    credentials: () =>
      state().standing === 'lost' ? { ...managed.credentials, isComplete: false } : managed.credentials,
    get masterKey() {
      return managed.masterKey;
    },
  };
}
