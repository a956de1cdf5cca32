// The time by which authority ends: keys, sessions, rules of operators with an end. A step of the wall clock must not make it last longer.

/**
 * The later one of the wall clock and the clock that no step moves: set forward, the wall clock ends what it says is over, as it does
 * after a machine has slept; set back, it revives nothing. `steadyMs` goes on from the wall time of the start. Unix milliseconds.
 */
export function authorityClock(wallMs: () => number, steadyMs: () => number): () => number {
  return () => Math.max(wallMs(), steadyMs());
}
