// The proxy from start to end: its phase, the parts that come up one after the other, and what is known of it through them.
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import type { Follower } from '../../gitops/follow/follow.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import type { KeptKeyUses } from '../../plane/access/keep-key-uses.ts';
import type { SecretsFollower } from '../../plane/follow-secrets.ts';
import type { Log } from '../../plane/log-events.ts';
import type { HeartbeatBody } from '../../store/state/heartbeat-body.ts';
import type { StateFollower } from '../../store/state/state-follower.ts';
import type { StateStatus } from '../../store/state/state-status.ts';
import type { ControlPlaneWatch } from '../admin/control-plane-watch.ts';
import type { CloudIdentities } from '../cloud-identity/identities.ts';
import type { Discovery } from '../discovery/discovery.ts';
import type { Prober } from '../probes/prober.ts';
import { type Readiness, readinessOf } from '../readiness.ts';
import type { KeptCounters } from '../store/counters.ts';
import { type Heartbeats, heartbeatBody, type OwnFacts } from '../store/heartbeat.ts';
import type { LimitLink } from './limit-link.ts';

/** The facts that stay the same while the process runs. */
export type Identity = Pick<OwnFacts, 'startedAtMs' | 'environment'>;

/** What is asked of other parts for the readiness. */
export interface ReadinessParts {
  readonly isOverloaded: boolean;
  readonly isDiskFull: boolean;
  readonly unusableGuardrails: readonly string[];
  /** Says whether a revision waits in vain; see `ConfigRollouts`. */
  readonly waitsInVain: (status: FollowStatus) => boolean;
}

export class Lifecycle {
  phase: 'starting' | 'serving' | 'draining' = 'starting';
  /** Rate limits are switched on. */
  isEnforcing = true;
  // In the order in which they come up.
  identities: Pick<CloudIdentities, 'close' | 'invalid'> | undefined;
  discovery: Discovery | undefined;
  probes: Pick<Prober, 'close'> | undefined;
  secrets: SecretsFollower | undefined;
  stateFollower: StateFollower | undefined;
  configFollower: Follower | undefined;
  counters: KeptCounters | undefined;
  limitLink: Pick<LimitLink, 'close' | 'isLost'> | undefined;
  keyUses: KeptKeyUses | undefined;
  heartbeats: Heartbeats | undefined;
  controlPlaneWatch: ControlPlaneWatch | undefined;
  /** For readers that ask at every scrape. */
  readonly sources = {
    config: () => this.config(),
    state: () => this.state(),
    store: () => this.store(),
    hasControlPlane: () => this.hasControlPlane(),
    secretProblems: () => this.secretProblems(),
  };
  #takesCounters = true;
  #takesHeartbeats = true;
  readonly #identity: Identity;
  readonly #log: Log;

  constructor(identity: Identity, log: Log) {
    this.#identity = identity;
    this.#log = log;
  }

  /** Undefined before the first load. */
  config(): FollowStatus | undefined {
    return this.configFollower?.status();
  }

  /** Undefined before the store was read for the first time. */
  state(): StateStatus | undefined {
    return this.stateFollower?.status();
  }

  /** The state store, and when the counters were last written there: Unix milliseconds, 0 for never. */
  store(): { readonly isUp: boolean; readonly writtenAtMs: number } {
    const isUp = this.#takesCounters && this.#takesHeartbeats && this.state()?.isUp !== false;
    return { isUp, writtenAtMs: this.counters?.writtenAtMs() ?? 0 };
  }

  /** Why files of secrets do not hold what is in force, a sentence each. */
  secretProblems(): readonly string[] {
    const { problem } = this.config()?.certificate ?? {};
    const secrets = this.secrets?.problems() ?? [];
    return problem === undefined ? secrets : [...secrets, formatProblem(problem)];
  }

  /** Also before it was asked for the first time. */
  hasControlPlane(): boolean {
    return this.controlPlaneWatch?.answers() ?? true;
  }

  readiness({ isOverloaded, isDiskFull, unusableGuardrails, waitsInVain }: ReadinessParts): Readiness {
    const config = this.config();
    return readinessOf({
      phase: this.phase,
      config,
      waitsInVain: config !== undefined && waitsInVain(config),
      state: this.state(),
      isStoreUp: this.store().isUp,
      isFleetLost: this.limitLink?.isLost() === true,
      hasControlPlane: this.hasControlPlane(),
      secretProblems: this.secretProblems(),
      lacksCredential: (this.identities?.invalid() ?? []).length > 0,
      lacksModels: this.discovery?.isIncomplete === true,
      hasUnusableGuardrails: unusableGuardrails.length > 0,
      isDiskFull,
      isOverloaded,
    });
  }

  /** The store begins to refuse counters for this reason, or takes them again (undefined). */
  countersTaken(trouble: Error | undefined): void {
    this.#takesCounters = trouble === undefined;
    if (trouble) {
      this.#log.error({ err: trouble }, 'counters are kept in memory only: the state store does not take them');
    } else this.#log.info('the state store takes counters again');
  }

  /** The outcome of a heartbeat. An outage shows here also when nothing else is asked of the store, and so does a store that is only full. */
  heartbeatTaken(trouble: Error | undefined): void {
    this.#takesHeartbeats = trouble === undefined;
    if (this.#takesHeartbeats !== this.state()?.isUp) void this.stateFollower?.refresh();
  }

  /** `live`: what is counted at this moment. `said`: what other parts say; for the mark of the key see `SealedStore`. Throws before the state is followed. */
  heartbeat(live: OwnFacts['live'], said: Pick<OwnFacts, 'keyMark' | 'ready' | 'unusableGuardrails'>): HeartbeatBody {
    const state = this.state();
    if (state === undefined) throw new Error('a heartbeat before the store was read for the first time');
    const { isEnforcing } = this;
    const { keyFileProblems = [], referenceProblems = [], keyProblems = [] } = this.config() ?? {};
    const ofConfig = [...keyFileProblems, ...referenceProblems, ...keyProblems];
    const secretProblems = [...this.secretProblems(), ...ofConfig.map(formatProblem)];
    const facts = { config: this.config(), state, isEnforcing, live, ...said, secretProblems };
    return heartbeatBody({ ...this.#identity, ...facts });
  }

  /** Ends what has come up, in the order in which each needs the others; what is counted is written. */
  async close(): Promise<void> {
    this.identities?.close();
    this.discovery?.close();
    this.probes?.close();
    this.secrets?.close();
    await this.configFollower?.close();
    await this.limitLink?.close();
    await this.counters?.close();
    await this.keyUses?.close();
    await this.heartbeats?.close();
  }
}
