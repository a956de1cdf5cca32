// What really happened under one counter of a simulated fleet, and what must hold of it: the judge of the store and of all proxies.
import type { LimitLane } from '../../../../domain/limits/exchange.ts';
import { sliceAt, sliceCount } from '../../../../domain/rules/slice.ts';
import type { Fleet } from '../../../../proxy/limits/fleet/fleet.ts';
import type { Stock } from '../../../../proxy/limits/fleet/stock.ts';
import type { Counter } from '../../../../store/state/limits/counter.ts';

/** Units that were really used: when, in milliseconds from the start of the world, on a clock that nobody sets. */
interface Use {
  readonly atMs: number;
  readonly slice: number;
  readonly units: number;
  isRefunded: boolean;
}

export class Account {
  readonly lane: LimitLane;
  readonly periodSeconds: number;
  /** That of now, and the highest so far. */
  cap: number;
  mostCap: number;
  /** Open slots, without those of proxies that were silent for so long that the store has given their slots to others. */
  open = 0;
  mostOpen = 0;
  /** Tokens of open requests beyond what was set aside for them, and the most there were at once. */
  excess = 0;
  mostExcess = 0;
  /** Units that dead proxies had used and not told. */
  buried = 0;
  /** Since when it was refused again and again although there was room; undefined: it was not. Milliseconds. */
  refusedSinceMs: number | undefined;
  refusedAtMs = 0;
  readonly stocks = new Map<Stock, Fleet>();
  readonly #uses: Use[] = [];
  readonly #bySlice = new Map<number, number>();

  constructor(lane: LimitLane, periodSeconds: number, cap: number) {
    this.lane = lane;
    this.periodSeconds = periodSeconds;
    this.cap = cap;
    this.mostCap = cap;
  }

  /** Notes a use at a moment, and at what time of the store that was. */
  use(atMs: number, storeMs: number, units: number): Use {
    const slice = sliceAt(storeMs, this.periodSeconds);
    const use = { atMs, slice, units, isRefunded: false };
    this.#uses.push(use);
    this.#bySlice.set(slice, (this.#bySlice.get(slice) ?? 0) + units);
    return use;
  }

  refund(use: Use): void {
    use.isRefunded = true;
    this.#bySlice.set(use.slice, (this.#bySlice.get(use.slice) ?? 0) - use.units);
  }

  /** Units used in the trailing period, as exact slices tell it; `more`: and in so many slices before it. */
  used(storeMs: number, more: number = 0): number {
    const head = sliceAt(storeMs, this.periodSeconds);
    let sum = 0;
    for (let slice = head; slice > head - sliceCount - more; slice -= 1) sum += this.#bySlice.get(slice) ?? 0;
    return sum;
  }

  /** Whole seconds until `units` are free if nothing else happens. */
  freeInSeconds(units: number, storeMs: number): number {
    const head = sliceAt(storeMs, this.periodSeconds);
    let free = this.cap - this.used(storeMs);
    for (let slice = head - sliceCount + 1; slice <= head; slice += 1) {
      free += this.#bySlice.get(slice) ?? 0;
      if (free >= units) return Math.ceil((((slice + sliceCount) * 50 * this.periodSeconds) / 3 - storeMs) / 1000);
    }
    return 0;
  }

  /**
   * For every slice, what the store counts from it on and what it holds covers what was used from it on. Returns by how many units that
   * fails at most; 0: it holds.
   */
  missing(counter: Counter | undefined, storeMs: number): number {
    let have = (counter?.held ?? 0) + this.buried;
    if (this.lane === 'slots') return Math.max(0, this.open - have);
    // Tokens are told behind their use.
    if (this.lane === 'tokens') for (const { untold, underWay } of this.stocks.keys()) have += untold + underWay;
    const head = sliceAt(storeMs, this.periodSeconds);
    let need = 0;
    let worst = 0;
    for (let slice = head; slice > head - sliceCount; slice -= 1) {
      need += this.#bySlice.get(slice) ?? 0;
      have += counter?.slices.get(slice) ?? 0;
      worst = Math.max(worst, need - have);
    }
    return worst;
  }

  /** The most units that any trailing period holds. */
  worstWindow(): number {
    const uses = this.#uses.filter(({ isRefunded }) => !isRefunded);
    const periodMs = this.periodSeconds * 1000;
    let first = 0;
    let sum = 0;
    let worst = 0;
    for (const { atMs, units } of uses) {
      sum += units;
      for (; (uses[first]?.atMs ?? atMs) <= atMs - periodMs; first += 1) sum -= uses[first]?.units ?? 0;
      worst = Math.max(worst, sum);
    }
    return worst;
  }

  /** What a proxy has not told when it dies is never told. */
  die(fleet: Fleet): void {
    for (const [stock, owner] of this.stocks) {
      if (owner !== fleet) continue;
      if (this.lane === 'tokens') this.buried += stock.untold + stock.underWay;
      this.stocks.delete(stock);
    }
  }

  get total(): number {
    let sum = 0;
    for (const { units, isRefunded } of this.#uses) if (!isRefunded) sum += units;
    return sum;
  }
}
