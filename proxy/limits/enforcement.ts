// The settings of a limiter besides its rules: its bounds, and whether anything is enforced.
import type { OnStoreLoss } from '../../domain/rules/on-store-loss.ts';

export interface LimiterOptions {
  /** False while usage tracking is off: token caps are then listed, not enforced. Default true. */
  readonly tokensEnforced?: boolean;
  /** False when `exportChanged` is never called (no periodic flush): idle children are then evicted without waiting for it. Default true. */
  readonly isExported?: boolean;
  /**
   * The most heap that all counters together may take, in bytes; children beyond that share a counter. Default: no
   * bound.
   */
  readonly mostBytes?: number;
}

/** What requests set aside under token rules while they are open: nothing, a quantile of what answers take, or the most that one can take. */
export type ReserveTokens = 'none' | 'p50' | 'p90' | 'max';

/** The settings that apply to all rules. */
export interface Enforcement {
  /** Default `p90`. */
  readonly reserveTokens?: ReserveTokens;
  /** False while rate limits are switched off: nothing is checked and counted, and what was counted is kept. Default true. */
  readonly isEnforced?: boolean;
  /** Most children of one template with counters of their own; further ones share one counter. Default: no bound. */
  readonly maxChildren?: number;
  /** Caps hold over the whole fleet, not for each proxy; needs `Limiter.share`. Default false. */
  readonly isShared?: boolean;
  /** What holds under shared caps while the state store is lost. Default `share`. */
  readonly onStoreLoss?: OnStoreLoss;
  /** How long a request waits for the state store at most, in milliseconds. Default 250. */
  readonly leaseWaitMs?: number;
}
