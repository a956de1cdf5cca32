// The store's time as a proxy knows it: between two bounds that each exchange narrows, so that no clocks need to agree.

/** Clocks run differently by at most this share. */
const drift = 200e-6;
/** An exchange narrows the bounds for so long, in milliseconds. */
const memoryMs = 10_000;
/** Of the exchanges within so many milliseconds, the narrowest bounds are kept. */
const stepMs = 1_000;

/** Store time is at most, or at least, own time + `offsetMs`, as seen at `atMs` of the own clock. */
interface Bound {
  atMs: number;
  offsetMs: number;
}

export class StoreTime {
  #uppers: Bound[] = [];
  #lowers: Bound[] = [];
  #upper: Bound | undefined;
  #lower: Bound | undefined;

  /** Notes an exchange: when it was sent and answered on the own clock, and the store's time in it. Whole milliseconds. */
  note(sentMs: number, answeredMs: number, storeMs: number): void {
    // Both clocks cut to whole milliseconds: the store's moment was below storeMs + 1, and the answer came before answeredMs + 1.
    const upper = { atMs: sentMs, offsetMs: storeMs + 1 - sentMs };
    const lower = { atMs: answeredMs, offsetMs: storeMs - answeredMs - 1 };
    this.#upper = narrowest(this.#uppers, upper, 1);
    this.#lower = narrowest(this.#lowers, lower, -1);
    if (this.earliest(answeredMs) <= this.latest(answeredMs)) return;
    // The store's clock was set: what was known before is wrong.
    this.#uppers = [];
    this.#lowers = [];
    this.#upper = narrowest(this.#uppers, upper, 1);
    this.#lower = narrowest(this.#lowers, lower, -1);
  }

  /** Whether an exchange was noted. */
  get isKnown(): boolean {
    return this.#upper !== undefined;
  }

  /** The store's time is not later than this. `nowMs`: own clock, whole milliseconds. */
  latest(nowMs: number): number {
    const { atMs, offsetMs } = this.#upper ?? unknown;
    return Math.ceil(nowMs + 1 + offsetMs + drift * Math.abs(nowMs - atMs));
  }

  /** The store's time is not earlier than this. */
  earliest(nowMs: number): number {
    const { atMs, offsetMs } = this.#lower ?? unknown;
    return Math.floor(nowMs + offsetMs - drift * Math.abs(nowMs - atMs));
  }

  /** The moment of the own clock that is likely to be `storeMs` of the store's. */
  ownMs(storeMs: number, nowMs: number): number {
    const middle = (this.latest(nowMs) + this.earliest(nowMs)) / 2;
    return nowMs + storeMs - middle;
  }
}

/** Without an exchange the own clock is taken for the store's. */
const unknown: Bound = { atMs: 0, offsetMs: 0 };

/** Keeps a bound, and gives the one that is narrowest at its moment. `sign`: 1 for upper bounds, -1 for lower ones. */
function narrowest(bounds: Bound[], next: Bound, sign: 1 | -1): Bound {
  const last = bounds.at(-1);
  const width = ({ atMs, offsetMs }: Bound): number => sign * offsetMs + drift * (next.atMs - atMs);
  if (last === undefined || next.atMs - last.atMs >= stepMs) bounds.push(next);
  else if (width(next) < width(last)) bounds[bounds.length - 1] = { atMs: last.atMs, offsetMs: sign * width(next) };
  while ((bounds[0] as Bound).atMs < next.atMs - memoryMs) bounds.shift();
  let best = bounds[0] as Bound;
  for (const bound of bounds) if (width(bound) < width(best)) best = bound;
  return { atMs: next.atMs, offsetMs: sign * width(best) };
}
