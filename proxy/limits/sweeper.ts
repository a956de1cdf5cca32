// Evicts idle children of templates, in portions: a round visits all of them, then the next round begins.
import type { Counter, Tally } from './tally.ts';

/** Those in force at the time of the call. */
interface Tallies {
  values(): Iterable<Tally>;
}

export class Sweeper {
  readonly #tallies: Tallies;
  #round: Iterator<Counter> | undefined;

  constructor(tallies: Tallies) {
    this.#tallies = tallies;
  }

  /** Visits up to `visits` children and evicts the idle ones; returns the number evicted. */
  sweep(nowMs: number, visits: number): number {
    let evicted = 0;
    this.#round ??= this.#children();
    for (let visited = 0; visited < visits; visited += 1) {
      const { value: counter, done } = this.#round.next();
      if (done) {
        this.#round = undefined;
        break;
      }
      if (!counter.isIdle(nowMs)) continue;
      counter.tally.evict(counter);
      evicted += 1;
    }
    return evicted;
  }

  *#children(): Generator<Counter, undefined> {
    for (const tally of this.#tallies.values()) if (tally.caps.rule.perChild) yield* tally.counters();
  }
}
