// The parts a request needs, wired by main.ts and passed as arguments; there are no globals.
import type { FailedLogins } from '../plane/access/failed-logins.ts';
import type { KeyUses } from '../plane/access/key-uses.ts';
import type { StateFollower } from '../store/state/state-follower.ts';
import type { BudgetsInForce } from './budgets/budgets-in-force.ts';
import type { ResponseCache } from './cache/response-cache.ts';
import type { BodyBudget } from './http/body-budget.ts';
import type { Overload } from './http/overload.ts';
import type { KeptExplanations } from './kept/kept-explanations.ts';
import type { KeyStreams } from './kept/key-streams.ts';
import type { KeptHomes } from './kept/objects/kept-homes.ts';
import type { StoredResponses } from './kept/responses/stored-responses.ts';
import type { Limiter } from './limits/limiter.ts';
import type { Metrics } from './metrics/metrics.ts';
import type { Readiness } from './readiness.ts';
import type { AccessLog } from './records/access-log.ts';
import type { Records } from './records/records.ts';
import type { Telemetry } from './records/spans/telemetry.ts';
import type { Balance } from './routing/balance/balance.ts';
import type { RetryBudgets } from './routing/retry/retry-budgets.ts';
import type { InForce } from './snapshot/in-force.ts';
import type { Snapshot } from './snapshot/snapshot.ts';
import type { TargetStates } from './targets/target-states.ts';
import type { Deadlines } from './upstream/deadlines.ts';
import type { Hooks } from './upstream/hooks.ts';
import type { Origin, Pools } from './upstream/pools.ts';

/** How this proxy reaches the control plane. */
export interface ControlPlaneLink extends Origin {
  /** How long an admin request may take. Milliseconds. */
  readonly timeoutMs: number;
  /** Opens sessions of browsers; undefined: there are none. */
  masterKey(): string | undefined;
  /** Says truthfully who the client is; undefined where nothing is trusted. */
  signAddress(address: string): string | undefined;
  /** The headers of requests in the name of this proxy itself. */
  authorisation(): Record<string, string>;
}

export interface Gateway {
  readonly accessLog: AccessLog;
  /** What audit and usage know of requests. */
  readonly records: Records;
  /** What OpenTelemetry learns of requests; absent: nothing. */
  readonly telemetry?: Telemetry | undefined;
  /** The snapshot in force; a request asks once. */
  current(): Snapshot;
  /** The same as it is written. */
  inForce(): InForce;
  /** The name of this proxy. */
  readonly instance: string;
  readonly failedLogins: FailedLogins;
  /** Without a master key: the only names in `Host` that are served. */
  readonly ownNames: ReadonlySet<string> | undefined;
  readonly balance: Balance;
  /** Gives the order that `balance` would give, and takes no turn. */
  readonly foretell: Balance;
  /** What is remembered of each target between requests. */
  readonly targets: TargetStates;
  readonly retries: RetryBudgets;
  readonly limiter: Limiter;
  /** Those that are used up. */
  readonly budgets: BudgetsInForce;
  readonly cache: ResponseCache;
  readonly pools: Pools;
  /** Services that guardrails ask. */
  readonly hooks: Hooks;
  readonly deadlines: Deadlines;
  readonly metrics: Metrics;
  /** /admin is served (GATEWAY_ADMIN_ON_PROXY). */
  readonly servesAdmin: boolean;
  /** /metrics is served on a port of its own (GATEWAY_METRICS_PORT), not on the public one. */
  readonly isMetricsApart: boolean;
  /** Tokens are counted, so streams are asked to report usage. */
  readonly usageEnabled: boolean;
  readonly controlPlane: ControlPlaneLink;
  /** The managed state that this proxy follows; requests are served only while there is one. */
  managedState(): Pick<StateFollower, 'status' | 'refresh'>;
  readonly overload: Overload;
  /** Of requests that asked for an explanation. */
  readonly keptExplanations: KeptExplanations;
  /** Those that the gateway keeps, and where providers keep others. */
  readonly storedResponses: StoredResponses;
  /** Which providers keep the files and batches of callers. */
  readonly homes: KeptHomes;
  readonly keyStreams: KeyStreams;
  readonly keyUses: KeyUses;
  /** What the bodies of open requests may take of memory. */
  readonly bodies: BodyBudget;
  /** Monotonic milliseconds, anchored to wall time at start. */
  nowMs(): number;
  /** The time by which keys and sessions end: see `authorityClock`. Unix milliseconds. */
  authorityMs(): number;
  readiness(): Readiness;
  /** Tells the operator of an unexpected failure. */
  reportFailure(error: unknown, requestId: string): void;
}
