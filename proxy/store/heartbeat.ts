// The heartbeat: every half second, what this proxy enforces and has counted. One that the store does not take goes to the control plane.
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import type { GivenStatus } from '../../gitops/follow/given-config.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import { singleFlight } from '../../store/single-flight.ts';
import {
  type GivenReport,
  type HeartbeatBody,
  heartbeatIntervalMs,
  mostLeftOut,
  mostProblems,
  readHeartbeatBody,
} from '../../store/state/heartbeat-body.ts';
import type { StateStatus } from '../../store/state/state-status.ts';
import type { StateStore } from '../../store/state/state-store.ts';

/** Beats between two checks for another process of the same instance name, and how many beats a found one is remembered. */
const beatsPerCheck = 4;
const rememberedBeats = 60;

export interface HeartbeatOptions {
  readonly store: Pick<StateStore, 'writeHeartbeat' | 'heartbeats' | 'removeHeartbeat'>;
  readonly instance: string;
  readonly body: () => HeartbeatBody | Promise<HeartbeatBody>;
  readonly nowMs: () => number;
  /** Called with every outcome: undefined, or why the store did not take it. */
  readonly onOutcome: (trouble: Error | undefined) => void;
  /** Tells the control plane itself what the store did not take. Never rejects. */
  readonly tell: (body: HeartbeatBody) => Promise<void>;
  readonly log: Record<'error' | 'info', (text: string) => void>;
}

export interface Heartbeats {
  /** Removes the heartbeat; the store may fail. */
  close(): Promise<void>;
}

/**
 * Begins at once. A beat that takes longer than the interval skips the next one. When another process writes under the same instance
 * name, the log and the next beats say so, because the counters of the two overwrite each other.
 */
export function startHeartbeats({ store, instance, body, nowMs, onOutcome, tell, log }: HeartbeatOptions): Heartbeats {
  let beats = 0;
  /** The number of the beat at which another process was found last. */
  let metAt: number | undefined;

  /** Whether the stored heartbeat of this instance is of another process. */
  async function checkName(startedAtMs: number): Promise<void> {
    const [found] = await store.heartbeats(instance);
    const writer = readHeartbeatBody(found?.body)?.started_at_ms;
    const isOther = writer !== undefined && writer !== startedAtMs;
    if (isOther && metAt === undefined) {
      log.error(`another process runs as instance "${instance}": give each proxy its own GATEWAY_INSTANCE`);
    }
    if (isOther) metAt = beats;
    else if (metAt !== undefined && beats - metAt > rememberedBeats) {
      metAt = undefined;
      log.info(`no other process runs as instance "${instance}" any more`);
    }
  }

  async function write(said: HeartbeatBody): Promise<void> {
    if (beats > 0 && beats % beatsPerCheck === 0) await checkName(said.started_at_ms);
    const shared = metAt === undefined ? {} : { instance_shared: true };
    await store.writeHeartbeat({ instance, atMs: Math.floor(nowMs()), body: { ...said, ...shared } });
    beats += 1;
  }

  const beating = singleFlight(async () => {
    let said: HeartbeatBody | undefined;
    try {
      said = await body();
      await write(said);
      onOutcome(undefined);
    } catch (error) {
      const trouble = error instanceof Error ? error : new Error(String(error));
      onOutcome(trouble);
      if (said !== undefined) await tell({ ...said, store_trouble: trouble.message });
    }
  });
  const timer = setInterval(() => void beating.join(), heartbeatIntervalMs);
  void beating.join();
  return {
    async close() {
      clearInterval(timer);
      await beating.finished();
      await store.removeHeartbeat(instance).catch(() => undefined);
    },
  };
}

/** The facts that a proxy reports about itself. */
export interface OwnFacts {
  readonly startedAtMs: number;
  readonly config: FollowStatus | undefined;
  readonly state: StateStatus;
  readonly isEnforcing: boolean;
  /** See `SealedStore`. */
  readonly keyMark: string | undefined;
  /** What its /health/ready says. */
  readonly ready: { readonly status: string; readonly reasons: readonly string[] };
  /** Files of secrets that cannot be used now, a sentence each. */
  readonly secretProblems: readonly string[];
  /** Names of guardrails that cannot work. */
  readonly unusableGuardrails: readonly string[];
  /** See `environmentFingerprint`. */
  readonly environment: string;
  readonly live: Pick<
    HeartbeatBody,
    | 'limit_scope'
    | 'limit_store'
    | 'counters'
    | 'windows'
    | 'refused'
    | 'revision_counts'
    | 'unusable_targets'
    | 'unusable_target_count'
    | 'asked_targets'
    | 'asked_target_count'
    | 'discovered_models'
    | 'probes'
    | 'cloud_identities'
    | 'refused_keys'
    | 'cache'
    | 'verdicts'
  >;
}

/** The facts as the body of a heartbeat. */
export function heartbeatBody(facts: OwnFacts): HeartbeatBody {
  const { startedAtMs, config, state, isEnforcing, environment, live, keyMark, ready, secretProblems } = facts;
  const { unusableGuardrails: unusable } = facts;
  const { rejected, given, waiting } = config ?? {};
  const leftOut = config?.leftOut ?? [];
  return {
    started_at_ms: startedAtMs,
    config_revision: config?.revision ?? '',
    config_source: config?.source ?? '',
    config_problems: (config?.problems ?? []).slice(0, mostProblems).map(formatProblem),
    ...(rejected === undefined ? {} : { config_rejected: [rejected.revision, Math.floor(rejected.sinceMs)] as const }),
    ...(waiting === undefined ? {} : { waiting_revision: waiting }),
    ...(given === undefined ? {} : { config_given: givenReport(given) }),
    ready: [ready.status, ready.reasons],
    store_id: state.storeId ?? null,
    state_revision: state.revision,
    ...(state.mark === undefined ? {} : { state_mark: state.mark }),
    state_source: state.source,
    limiter: isEnforcing ? 'enforcing' : 'off',
    environment,
    ...(keyMark === undefined ? {} : { master_key_mark: keyMark }),
    ...(config?.certificate === undefined ? {} : { certificate_not_after_ms: config.certificate.notAfterMs }),
    ...(secretProblems.length === 0 ? {} : { secret_problems: secretProblems.slice(0, mostProblems) }),
    ...(leftOut.length === 0 ? {} : { left_out_providers: leftOut.slice(0, mostLeftOut) }),
    ...(unusable.length === 0 ? {} : { unusable_guardrails: unusable.slice(0, mostLeftOut) }),
    ...live,
  };
}

function givenReport({ source, revision, problems }: GivenStatus): GivenReport {
  return [source, revision, problems.slice(0, mostProblems).map(formatProblem)];
}
