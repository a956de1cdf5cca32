// Decides whether this plane is ready or degraded. A degraded plane still serves operators.
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';

export interface Readiness {
  readonly status: 'ready' | 'degraded';
  /** Why it is degraded; empty when ready. */
  readonly reasons: readonly string[];
}

export interface ReadinessFacts {
  readonly config: FollowStatus | undefined;
  readonly state: StateStatus;
  /** The last write of this plane to the store succeeded. */
  readonly takesWrites: boolean;
  /** Files of the gateway's own secrets that do not hold what is in force. */
  readonly secretProblems: readonly string[];
  /** Records can be stored. */
  readonly storesRecords: boolean;
}

export function readinessOf({ config, state, takesWrites, secretProblems, storesRecords }: ReadinessFacts): Readiness {
  const { isUp, standing, skipped, evicts } = state;
  const reasons = [
    ...(config?.source === 'last-good' ? ['config_last_good'] : []),
    ...(config?.lastReloadSuccessful === false ? ['config_rejected'] : []),
    ...(secretProblems.length > 0 ? ['secret_file_unusable'] : []),
    ...(isUp && takesWrites ? [] : ['state_store_unavailable']),
    ...(isEmptied(standing) ? ['state_store_emptied'] : []),
    ...(standing === 'behind' ? ['state_store_behind'] : []),
    ...(evicts === undefined ? [] : ['state_store_evicts']),
    ...(storesRecords ? [] : ['record_store_unavailable']),
    ...(skipped.unsealed > 0 ? ['state_documents_unsealed'] : []),
  ];
  return { status: reasons.length === 0 ? 'ready' : 'degraded', reasons };
}
