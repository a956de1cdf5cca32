// What records say of a budget corrects what proxies have counted of it: a record store knows what was spent before proxies counted, and what
// a state store has lost. Pure.
//
// The difference (records − counted) is known within bounds. From below: what was recorded some time ago has been counted since, so it is at
// least (recorded then − counted now). From above: what was counted long ago has been recorded, so it is at most (recorded now − counted then).
// Between the bounds it stays as it is, so that records on their way change nothing.
import type { NanoDollars } from '../../domain/records/usage.ts';

/** What was counted so long ago has been recorded: records wait on a proxy's disk while the control plane is away. Milliseconds. */
export const latestRecordMs = 600_000;

/** What is known at one moment. Unix milliseconds. */
export interface Evidence {
  /** By the counter. */
  readonly counted: NanoDollars;
  /** By records, as of some moment whose uses have all been counted; undefined: not known. */
  readonly settled: NanoDollars | undefined;
  /** By records, and when that was read. */
  readonly recorded: NanoDollars;
  readonly recordedAtMs: number;
}

interface Sample {
  readonly atMs: number;
  readonly counted: NanoDollars;
}

export class Correction {
  /** To be added to what is counted; below 0: more was counted than spent. */
  amount: NanoDollars = 0;
  #newer: Sample | undefined;
  #older: Sample | undefined;

  /** Takes what is known at `nowMs` (Unix milliseconds). */
  note({ counted, settled, recorded, recordedAtMs }: Evidence, nowMs: number): void {
    const least = settled === undefined ? Number.NEGATIVE_INFINITY : settled - counted;
    const former = this.#formerAt(recordedAtMs - latestRecordMs);
    const most = former === undefined ? Number.POSITIVE_INFINITY : recorded - former.counted;
    this.amount = Math.max(least, Math.min(most, this.amount));
    this.#keep({ atMs: nowMs, counted });
  }

  #formerAt(latestMs: number): Sample | undefined {
    return [this.#newer, this.#older].find((sample) => sample !== undefined && sample.atMs <= latestMs);
  }

  /** Two are enough: one is always as old as it has to be, once so much time has passed. */
  #keep(sample: Sample): void {
    if (this.#newer !== undefined && sample.atMs - this.#newer.atMs < latestRecordMs) return;
    this.#older = this.#newer;
    this.#newer = sample;
  }
}
