// Counts the outcomes of calls of the last seconds: ten slices of time.

const slices = 10;

/** Counts calls and failures of the last 9 to 10 slices of time, a second each unless told otherwise. Moments in milliseconds. */
export class OutcomeWindow {
  /** Calls and failures of each slice in turn; a target that was never called has none. */
  #counts: number[] | undefined;
  #slice = 0;
  readonly #sliceMs: number;

  constructor(sliceMs: number = 1000) {
    this.#sliceMs = sliceMs;
  }

  add(isFailure: boolean, nowMs: number): void {
    const counts = this.#advance(nowMs);
    const at = (this.#slice % slices) * 2;
    counts[at] = (counts[at] ?? 0) + 1;
    if (isFailure) counts[at + 1] = (counts[at + 1] ?? 0) + 1;
  }

  calls(nowMs: number): number {
    return this.#sum(0, nowMs);
  }

  failures(nowMs: number): number {
    return this.#sum(1, nowMs);
  }

  clear(): void {
    this.#counts?.fill(0);
  }

  #sum(offset: number, nowMs: number): number {
    if (this.#counts === undefined) return 0;
    const counts = this.#advance(nowMs);
    let sum = 0;
    for (let at = offset; at < counts.length; at += 2) sum += counts[at] ?? 0;
    return sum;
  }

  /** Empties the slices that have left the window. */
  #advance(nowMs: number): number[] {
    const slice = Math.floor(nowMs / this.#sliceMs);
    this.#counts ??= Array.from({ length: slices * 2 }, () => 0);
    const counts = this.#counts;
    // A clock that is a little behind counts into the newest slice.
    for (let gone = Math.min(slice - this.#slice, slices); gone > 0; gone -= 1) {
      const at = ((slice - gone + 1) % slices) * 2;
      counts[at] = 0;
      counts[at + 1] = 0;
    }
    this.#slice = Math.max(this.#slice, slice);
    return counts;
  }
}
