// Decides whether this plane is ready or degraded. A degraded plane still serves operators.
import type { FollowStatus } from '../gitops/config-status.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';

export interface Readiness {
  readonly status: 'ready' | 'degraded';
  /** Why it is degraded; empty when ready. */
  readonly reasons: readonly string[];
}

/** `takesWrites`: the last write of this plane to the store succeeded. */
export function readinessOf(
  config: FollowStatus | undefined,
  { isUp, standing, skipped }: StateStatus,
  takesWrites: boolean,
): Readiness {
  const reasons = [
    ...(config?.source === 'last-good' ? ['config_last_good'] : []),
    ...(config?.lastReloadSuccessful === false ? ['config_rejected'] : []),
    ...(isUp && takesWrites ? [] : ['state_store_unavailable']),
    ...(isEmptied(standing) ? ['state_store_emptied'] : []),
    ...(skipped.unsealed > 0 ? ['state_documents_unsealed'] : []),
  ];
  return { status: reasons.length === 0 ? 'ready' : 'degraded', reasons };
}
