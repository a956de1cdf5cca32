// Whether this proxy should get traffic, and what an operator should check: facts in, readiness out.
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import { givenReasons } from '../plane/given-reasons.ts';
import { isEmptied } from '../store/state/custody.ts';
import type { StateStatus } from '../store/state/state-status.ts';

/** `degraded`: it serves, and an operator should check why. */
export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'starting' | 'draining' | 'overloaded';
  /** Why it is not simply ready. */
  readonly reasons: readonly string[];
}

export interface ReadinessFacts {
  readonly phase: 'starting' | 'serving' | 'draining';
  readonly config: FollowStatus | undefined;
  readonly state: StateStatus | undefined;
  /** The store takes what this proxy writes. */
  readonly isStoreUp: boolean;
  /** The store does not answer for limits that the fleet shares. */
  readonly isFleetLost: boolean;
  readonly hasControlPlane: boolean;
  /** Files of the gateway's own secrets that do not hold what is in force. */
  readonly secretProblems: readonly string[];
  /** Some provider with a cloud identity has no valid credential. */
  readonly lacksCredential: boolean;
  /** Some provider never said what models it has. */
  readonly lacksModels: boolean;
  /** Some guardrail cannot work: it refuses what it is for, or never judges. */
  readonly hasUnusableGuardrails: boolean;
  /** The disk of GATEWAY_DATA has room for rules, keys and counters alone. */
  readonly isDiskFull: boolean;
  /** See `ConfigRollouts`. */
  readonly waitsInVain: boolean;
  readonly isOverloaded: boolean;
}

/** Design section 5: `ready` and `degraded` want traffic; starting, draining and overloaded do not. */
export function readinessOf(facts: ReadinessFacts): Readiness {
  const { phase, config, state, isStoreUp, hasControlPlane, secretProblems, isOverloaded, isFleetLost } = facts;
  if (phase !== 'serving') return { status: phase, reasons: [] };
  if (isOverloaded) return { status: 'overloaded', reasons: ['memory_nearly_full'] };
  const reasons = [
    ...givenReasons(config?.given),
    ...(config?.source === 'last-good' ? ['config_last_good'] : []),
    ...(config?.lastReloadSuccessful === false ? ['config_rejected'] : []),
    ...(facts.waitsInVain ? ['config_waiting'] : []),
    ...((config?.keyFileProblems ?? []).length > 0 ? ['provider_key_file_unreadable'] : []),
    ...((config?.referenceProblems ?? []).length > 0 ? ['secret_reference_unreadable'] : []),
    ...((config?.keyProblems ?? []).length > 0 ? ['provider_key_unusable'] : []),
    ...(secretProblems.length > 0 ? ['secret_file_unusable'] : []),
    ...(isStoreUp && state?.isUp !== false ? [] : ['state_store_unavailable']),
    ...(isFleetLost ? ['shared_limits_unavailable'] : []),
    ...(isEmptied(state?.standing) ? ['state_store_emptied'] : []),
    ...(state?.standing === 'behind' ? ['state_store_behind'] : []),
    ...(state?.evicts === undefined ? [] : ['state_store_evicts']),
    ...((state?.skipped.unsealed ?? 0) > 0 ? ['state_documents_unsealed'] : []),
    ...(facts.isDiskFull ? ['disk_full'] : []),
    ...(facts.lacksCredential ? ['provider_credential_missing'] : []),
    ...(facts.lacksModels ? ['provider_models_unknown'] : []),
    ...(facts.hasUnusableGuardrails ? ['guardrail_unusable'] : []),
    ...(hasControlPlane ? [] : ['control_plane_unavailable']),
  ];
  return { status: reasons.length === 0 ? 'ready' : 'degraded', reasons };
}
