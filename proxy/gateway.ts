// The parts a request needs, wired by main.ts and handed along; nobody reaches for a global.
import type { Limiter } from './limits/limiter.ts';
import type { Metrics } from './metrics.ts';
import type { Snapshot } from './snapshot/snapshot.ts';
import type { Credentials } from './stages/authenticate.ts';
import type { Balance } from './stages/resolve.ts';
import type { Deadlines } from './upstream/deadlines.ts';
import type { Pools } from './upstream/pools.ts';

/** Whether this proxy wants traffic. Degraded still means yes: it serves, and someone should look. */
export interface Readiness {
  readonly status: 'ready' | 'degraded' | 'starting' | 'draining';
  /** Why it is not simply ready. */
  readonly reasons: readonly string[];
}

export interface Gateway {
  /** The snapshot in force; a request asks once. */
  current(): Snapshot;
  readonly credentials: Credentials;
  readonly balance: Balance;
  readonly limiter: Limiter;
  readonly pools: Pools;
  readonly deadlines: Deadlines;
  readonly metrics: Metrics;
  /** Tokens are counted, so streams are asked to report usage. */
  readonly usageEnabled: boolean;
  /** Monotonic milliseconds, anchored to wall time at start. */
  nowMs(): number;
  readiness(): Readiness;
  /** Tells the operator of an unexpected failure. */
  reportFailure(error: unknown, requestId: string): void;
}
