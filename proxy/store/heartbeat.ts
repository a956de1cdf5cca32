// The sign of life: every half second, what this proxy enforces and has counted.
import type { FollowStatus } from '../../schemas/config/follow.ts';
import { formatProblem } from '../../schemas/config/problem.ts';
import type { StateStatus } from '../../schemas/store/follow-state.ts';
import { type HeartbeatBody, heartbeatIntervalMs, mostProblems } from '../../schemas/store/heartbeat-body.ts';
import type { StateStore } from '../../schemas/store/state-store.ts';

export interface HeartbeatOptions {
  readonly store: Pick<StateStore, 'writeHeartbeat' | 'removeHeartbeat'>;
  readonly instance: string;
  readonly body: () => HeartbeatBody;
  readonly nowMs: () => number;
  /** Called with every outcome: undefined, or why the store did not take it. */
  readonly onOutcome: (trouble: Error | undefined) => void;
}

export interface Heartbeats {
  /** Takes the sign of life away; the store may fail. */
  close(): Promise<void>;
}

/** Begins at once. A beat that takes longer than the interval leaves the next one out. */
export function startHeartbeats({ store, instance, body, nowMs, onOutcome }: HeartbeatOptions): Heartbeats {
  let running: Promise<void> | undefined;
  const beat = (): void => {
    running ??= store.writeHeartbeat({ instance, atMs: Math.floor(nowMs()), body: body() }).then(
      () => end(undefined),
      (error: unknown) => end(error instanceof Error ? error : new Error(String(error))),
    );
  };
  const end = (trouble: Error | undefined): void => {
    running = undefined;
    onOutcome(trouble);
  };
  const timer = setInterval(beat, heartbeatIntervalMs);
  beat();
  return {
    async close() {
      clearInterval(timer);
      await running;
      await store.removeHeartbeat(instance).catch(() => undefined);
    },
  };
}

/** What a proxy knows of itself. */
export interface OwnFacts {
  readonly startedAtMs: number;
  readonly config: FollowStatus | undefined;
  readonly state: StateStatus;
  readonly isEnforcing: boolean;
  /** See `environmentMark`. */
  readonly environment: string;
  readonly live: Pick<HeartbeatBody, 'counters' | 'windows'>;
}

/** The same as a heartbeat says it. */
export function heartbeatBody({ startedAtMs, config, state, isEnforcing, environment, live }: OwnFacts): HeartbeatBody {
  return {
    started_at_ms: startedAtMs,
    config_revision: config?.revision ?? '',
    config_source: config?.source ?? '',
    config_problems: (config?.problems ?? []).slice(0, mostProblems).map(formatProblem),
    store_id: state.storeId ?? null,
    state_revision: state.revision,
    state_source: state.source,
    limiter: isEnforcing ? 'enforcing' : 'off',
    environment,
    ...live,
  };
}
