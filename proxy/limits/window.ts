// The sliding window (spec, Limits 6): a ring of 61 slices of period/60, so that no trailing period ever holds more than was admitted under the cap.
import type { Pair } from '../../domain/rules/counter-row.ts';
import type { Lane as WrittenLane } from '../../domain/rules/counter-text.ts';
import { sliceAt, sliceCount, sliceStartMs } from '../../domain/rules/slice.ts';

/** Counts up to here are exact; more is not added. */
const mostCount = Number.MAX_SAFE_INTEGER;

/** The two lanes of a window, as the index of their first slice in the storage of the ring. */
export const requests = 0;
export const tokens = sliceCount;
export type Lane = typeof requests | typeof tokens;

const noLane: WrittenLane = Object.freeze({ first: 0, counts: [] });

/** The current slice, shared by all windows of one period, so that a request computes it once per slice. */
export class SliceClock {
  readonly periodSeconds: number;
  slice = -1;
  /** The index of `slice` in the rings. */
  position = 0;
  #untilMs = Number.NEGATIVE_INFINITY;

  constructor(periodSeconds: number) {
    this.periodSeconds = periodSeconds;
  }

  /** Moves to the slice that holds `nowMs` (Unix milliseconds); never back. */
  turn(nowMs: number): void {
    if (nowMs >= this.#untilMs) this.#move(nowMs);
  }

  #move(nowMs: number): void {
    this.slice = sliceAt(nowMs, this.periodSeconds);
    this.position = this.slice % sliceCount;
    this.#untilMs = sliceStartMs(this.slice + 1, this.periodSeconds);
  }
}

/**
 * The counts of requests and tokens in the trailing period. `requestsUsed` and `tokensUsed` are those at the last
 * `advance`. Storage is taken at the first count: 61 numbers, or 122 once tokens are counted.
 */
export class Window {
  readonly #clock: SliceClock;
  #head = -1;
  #slices: number[] = nothing;
  requestsUsed = 0;
  tokensUsed = 0;

  constructor(clock: SliceClock) {
    this.#clock = clock;
  }

  /** Empties the slices that left the trailing period at `nowMs` (Unix milliseconds). */
  advance(nowMs: number): void {
    this.#clock.turn(nowMs);
    if (this.#clock.slice !== this.#head) this.#drop();
  }

  used(lane: Lane, nowMs: number): number {
    this.advance(nowMs);
    return lane === requests ? this.requestsUsed : this.tokensUsed;
  }

  add(lane: Lane, count: number, nowMs: number): void {
    this.advance(nowMs);
    this.#put(lane, this.#clock.position, count);
  }

  /**
   * Subtracts a count that was added at `chargedAtMs`, as far as its slice is still in the ring and still holds as
   * much.
   */
  refund(lane: Lane, count: number, chargedAtMs: number, nowMs: number): void {
    this.advance(nowMs);
    const age = this.#head - sliceAt(chargedAtMs, this.#clock.periodSeconds);
    if (age < 0 || age >= sliceCount || this.#slices.length <= lane) return;
    const place = lane + this.#place(age);
    const taken = Math.min(count, this.#slices[place] ?? 0);
    this.#slices[place] = (this.#slices[place] ?? 0) - taken;
    this.#count(lane, -taken);
  }

  /**
   * The smallest number of whole seconds, at least 1, after which the count is below `cap` if no request comes; 0 when
   * it is below now (spec, Errors: "possibly past the next window boundary").
   */
  retryAfterSeconds(lane: Lane, cap: number, nowMs: number): number {
    let left = this.used(lane, nowMs);
    if (left < cap) return 0;
    let age = sliceCount - 1;
    for (; age >= 0; age -= 1) {
      left -= this.#slices[lane + this.#place(age)] ?? 0;
      if (left < cap) break;
    }
    const freeMs = sliceStartMs(this.#head - age + sliceCount, this.#clock.periodSeconds);
    return Math.max(1, Math.ceil((freeMs - nowMs) / 1000));
  }

  /** The number of the newest slice with use, as of the last `advance`; -1 when nothing is counted. */
  newest(lane: Lane): number {
    const used = lane === requests ? this.requestsUsed : this.tokensUsed;
    if (used === 0) return -1;
    let age = 0;
    while (age < sliceCount && (this.#slices[lane + this.#place(age)] ?? 0) === 0) age += 1;
    return this.#head - age;
  }

  /** The oldest slice with use; Infinity when nothing is counted. */
  oldest(lane: Lane): number {
    const used = lane === requests ? this.requestsUsed : this.tokensUsed;
    if (used === 0) return Number.POSITIVE_INFINITY;
    let place = this.#place(sliceCount - 1);
    let age = sliceCount - 1;
    for (; age >= 0 && (this.#slices[lane + place] ?? 0) === 0; age -= 1)
      place = place === sliceCount - 1 ? 0 : place + 1;
    return this.#head - age;
  }

  /** The counts from the oldest slice with use up to the newest one, as of the last `advance`. */
  lane(lane: Lane): WrittenLane {
    const first = this.oldest(lane);
    if (first === Number.POSITIVE_INFINITY) return noLane;
    const oldest = lane + this.#place(this.#head - first);
    const newest = lane + this.#place(this.#head - this.newest(lane));
    const slices = this.#slices;
    if (oldest <= newest) return { first, counts: slices.slice(oldest, newest + 1) };
    return { first, counts: [...slices.slice(oldest, lane + sliceCount), ...slices.slice(lane, newest + 1)] };
  }

  /** The slices with use as pairs of slice number and count, oldest first, as of the last `advance`. */
  pairs(lane: Lane): Pair[] {
    const found: Pair[] = [];
    if (this.#slices.length <= lane) return found;
    for (let age = sliceCount - 1; age >= 0; age -= 1) {
      const count = this.#slices[lane + this.#place(age)] ?? 0;
      if (count > 0) found.push([this.#head - age, count]);
    }
    return found;
  }

  /**
   * Adds stored slices. A slice later than now counts as now (the clock was set back meanwhile); a slice that left the
   * ring and an invalid pair are skipped. Returns true when a slice was moved to now.
   */
  restore(lane: Lane, pairs: readonly Pair[], nowMs: number): boolean {
    this.advance(nowMs);
    let moved = false;
    for (const [slice, count] of pairs) {
      if (!Number.isSafeInteger(slice) || !Number.isSafeInteger(count) || count <= 0) continue;
      const age = this.#head - slice;
      if (age >= sliceCount) continue;
      if (age < 0) moved = true;
      this.#put(lane, this.#place(Math.max(0, age)), count);
    }
    return moved;
  }

  isEmpty(nowMs: number): boolean {
    this.advance(nowMs);
    return this.requestsUsed === 0 && this.tokensUsed === 0;
  }

  /** Sets the counts to 0 and frees the storage. */
  clear(): void {
    this.#slices = nothing;
    this.requestsUsed = 0;
    this.tokensUsed = 0;
  }

  #drop(): void {
    const slice = this.#clock.slice;
    const steps = Math.min(sliceCount, slice - this.#head);
    this.#head = slice;
    if (this.#slices.length === 0) return;
    for (let age = 0; age < steps; age += 1) {
      this.#vacate(requests, this.#place(age));
      if (this.#slices.length > tokens) this.#vacate(tokens, this.#place(age));
    }
  }

  #vacate(lane: Lane, position: number): void {
    const count = this.#slices[lane + position] ?? 0;
    if (count === 0) return;
    this.#slices[lane + position] = 0;
    this.#count(lane, -count);
  }

  #put(lane: Lane, position: number, count: number): void {
    if (this.#slices.length <= lane) this.#grow(lane);
    const used = lane === requests ? this.requestsUsed : this.tokensUsed;
    const added = Math.min(count, mostCount - used);
    this.#slices[lane + position] = (this.#slices[lane + position] ?? 0) + added;
    this.#count(lane, added);
  }

  /** Extends the storage to hold the lane: the slices of tokens follow those of requests. */
  #grow(lane: Lane): void {
    const missing = lane + sliceCount - this.#slices.length;
    // `concat` takes the exact room; a spread takes 40 % more.
    this.#slices = this.#slices.concat(zeros.slice(0, missing));
  }

  #count(lane: Lane, difference: number): void {
    if (lane === requests) this.requestsUsed += difference;
    else this.tokensUsed += difference;
  }

  /**
   * The index of the slice that is `age` slices before the head. The clock and the head agree after every `advance`;
   * between two of them the index follows from the number of the slice.
   */
  #place(age: number): number {
    const position = (this.#clock.slice === this.#head ? this.#clock.position : this.#head % sliceCount) - age;
    return position < 0 ? position + sliceCount : position;
  }
}

const nothing: number[] = [];
const zeros: readonly number[] = Array.from({ length: 2 * sliceCount }, () => 0);
