// The stocks of one counter that the whole fleet shares: one for each cap that its rule may have.
import { counterKey, type LimitLane } from '../../../domain/limits/exchange.ts';
import type { Fleet, Moment } from './fleet.ts';
import type { Stock } from './stock.ts';

/** The counter of this proxy beside it. */
export interface OwnCounter {
  readonly key: string;
  readonly epoch: number;
  /** 0: slots. */
  readonly periodSeconds: number;
  readonly child: string;
  /** Slots, or tokens set aside, of open requests. */
  open(): number;
  /** That of the rule in force; Infinity: it does not limit the lane. */
  cap(lane: LimitLane): number;
}

export class FleetCounter {
  readonly fleet: Fleet;
  readonly #of: OwnCounter;
  readonly #stocks: Partial<Record<LimitLane, Stock>> = {};

  constructor(fleet: Fleet, of: OwnCounter) {
    this.fleet = fleet;
    this.#of = of;
  }

  stock(lane: LimitLane, nowMs: number): Stock {
    const found = this.#stocks[lane];
    if (found !== undefined && !found.isGone) return found;
    const { periodSeconds, child } = this.#of;
    // Slots are held by open requests whatever is reset.
    const key = counterKey(lane === 'slots' ? { ...this.#of, epoch: 0 } : this.#of, lane, child);
    const stock = this.fleet.stock(
      { key, lane, periodSeconds, inUse: lane === 'requests' ? 0 : this.#of.open() },
      nowMs,
    );
    this.#stocks[lane] = stock;
    const cap = this.#of.cap(lane);
    if (stock.cap !== cap) this.fleet.setCap(stock, cap);
    return stock;
  }

  /** That of a lane, if requests have used it lately. */
  known(lane: LimitLane): Stock | undefined {
    const stock = this.#stocks[lane];
    return stock?.isGone === false ? stock : undefined;
  }

  /** Uses one unit, or several tokens: of what is held, else of what nobody granted. */
  use(lane: LimitLane, units: number, nowMs: number): void {
    const stock = this.stock(lane, nowMs);
    this.fleet.use(stock, units, nowMs, this.fleet.isValid(nowMs) && stock.units >= units);
  }

  /** Uses the tokens of a finished request. What was set aside for it is released behind it, in the same turn. */
  charge(tokens: number, nowMs: number): void {
    this.fleet.use(this.stock('tokens', nowMs), tokens, nowMs, this.fleet.isValid(nowMs));
  }

  /** Moves units from what is spare to what open requests hold. */
  hold(lane: LimitLane, units: number, nowMs: number): void {
    const stock = this.stock(lane, nowMs);
    stock.hold(units);
    this.fleet.noteTaken(stock, units, nowMs);
  }

  /** An open request holds units no more. */
  release(lane: LimitLane, units: number): void {
    const stock = this.known(lane);
    if (stock !== undefined) this.fleet.release(stock, units);
  }

  /** Takes back a request that was used at `moment` and not carried out. */
  refund(moment: Moment, nowMs: number): void {
    this.fleet.refund(this.stock('requests', nowMs), moment);
  }

  /** The caps of the rule have changed: a lower one gives back at once what is spare, and a lane without one gives back all. */
  followCaps(): void {
    for (const [lane, stock] of Object.entries(this.#stocks) as [LimitLane, Stock][]) {
      const cap = this.#of.cap(lane);
      if (stock.isGone || cap === stock.cap) continue;
      if (cap === Number.POSITIVE_INFINITY) this.fleet.end(stock);
      else this.fleet.setCap(stock, cap);
    }
  }

  /** Whether nothing is held, and all is told. */
  get isIdle(): boolean {
    return Object.values(this.#stocks).every((stock) => stock.isGone || stock.isEmpty);
  }

  /** The counter is gone. Slots are held until their requests end. */
  end(): void {
    for (const stock of Object.values(this.#stocks))
      if (stock.of.lane !== 'slots' && !stock.isGone) this.fleet.end(stock);
  }
}
