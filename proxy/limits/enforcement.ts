// The settings of a limiter besides its rules: its bounds, and whether anything is enforced.

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

/** The settings that apply to all rules. */
export interface Enforcement {
  /** False while rate limits are switched off: nothing is checked and counted, and what was counted is kept. Default true. */
  readonly isEnforced?: boolean;
  /** Most children of one template with counters of their own; further ones share one counter. Default: no bound. */
  readonly maxChildren?: number;
}
