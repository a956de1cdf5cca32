// What this proxy holds of one counter that the whole fleet shares: units to be used at once, and what the store has not been told.
import type { LimitAnswer, LimitItem, LimitLane, Uses } from '../../../domain/limits/exchange.ts';
import { sliceCount, sliceStartMs } from '../../../domain/rules/slice.ts';

/** Spare units up to here are held whatever the cap, so that not every request has to ask. */
export const leastSpare = 4;
/** For how much demand units are held in advance, and beyond how much they are given back. Milliseconds. */
const horizonMs = 1_000;
const mostHeldMs = 2_000;
/** How fast demand is forgotten. Milliseconds. */
const forgettingMs = 500;
/** Where it cannot be foreseen when units are free, it is asked again behind so many milliseconds. */
const blindMs = 250;
/** Without a request for the period of the rule, at most for so long, all is given back. Milliseconds. */
const longestRestMs = 60_000;
const shortestRestMs = 1_000;

/** Which counter a stock is of. */
export interface StockOf {
  readonly key: string;
  readonly lane: LimitLane;
  /** Seconds; 0: slots. */
  readonly periodSeconds: number;
  /** In use by open requests when the stock begins. */
  inUse: number;
}

/** A use that did not happen: the oldest and the newest slice that may count it. */
export type Refund = readonly [low: number, high: number, units: number];

/** What of a stock is told in one exchange. */
export interface Told {
  readonly stock: Stock;
  /** Uses of units that were granted, and of units that nobody granted. */
  readonly covered: Uses;
  readonly uncovered: Uses;
  readonly refunds: readonly Refund[];
  readonly wish: number;
  readonly cap: number;
}

/** What the store said last. */
export interface View {
  /** Milliseconds of the own clock. */
  readonly atMs: number;
  /** Used in the trailing period by all; held by others, and by open requests of that. */
  readonly used: number;
  readonly others: number;
  readonly othersOpen: number;
  /** Behind what was used or held by anybody. */
  readonly free: number;
}

export class Stock {
  readonly of: StockOf;
  /** Granted, and not in use. */
  units = 0;
  /** In use by open requests: slots, or tokens set aside. They are held, and not spare. */
  inUse: number;
  /** That of the rule, as of the last request. */
  cap = 0;
  /** Requests that need `dryUnits` or more have no room until then. -1: they may have. Milliseconds. */
  dryUntilMs = -1;
  dryUnits = 0;
  /** Others have asked for what is spare. */
  isRecalled = false;
  /** Its rule, epoch or child is gone: what it holds is given back. */
  isOver = false;
  /** It was forgotten: the counter gets another one. */
  isGone = false;
  /** With so few spare units more are asked for. */
  low = 0;
  /** Of what was spare, some was given up with the last answer: the store has to hear of it. */
  isOverdrawn = false;
  /** The store has let one request go with all that is free, because no other is open. */
  isAlone = false;
  /** The store had none to spare: only requests that wait ask. */
  isLean = false;
  view: View | undefined;
  /** The next answer is to say since when and until when units are used; and what it said, in milliseconds of the own clock. */
  isDated = false;
  span: { readonly startMs: number; readonly endMs: number } | undefined;
  /** Units used and not told; told and not answered. */
  untold = 0;
  underWay = 0;
  /** Spare units as the store knows them. */
  #spareTold = 0;
  /** There may be room since the exchange under way began, whatever its answer says. */
  #hasHeardOfRoom = false;
  #covered: [number, number][] = [];
  #uncovered: [number, number][] = [];
  #refunds: Refund[] = [];
  /** Units per millisecond; what was used since the last exchange, and when that was. */
  #demand = 0;
  #taken = 0;
  #sinceMs: number;
  #usedAtMs: number;

  constructor(of: StockOf, nowMs: number) {
    this.of = of;
    this.inUse = of.inUse;
    this.#sinceMs = nowMs;
    this.#usedAtMs = nowMs;
  }

  /** Nothing is held or used that the store has not been told. */
  get isEmpty(): boolean {
    return (
      this.units <= 0 && this.untold === 0 && this.underWay === 0 && this.#refunds.length === 0 && this.inUse === 0
    );
  }

  /** Others have found nothing free: what is not needed goes back at once. */
  get isWanted(): boolean {
    return this.dryUntilMs !== -1 || (this.view?.free ?? 0) <= 0;
  }

  /** Others that are short wait for what is spare, or was when the store heard of it last. */
  get isAwaited(): boolean {
    return this.units !== 0 || this.#spareTold !== 0;
  }

  /** Uses units, in a slice of the store. Covered: they are taken from the stock; else nobody granted them. */
  use(units: number, slice: number, isCovered: boolean): void {
    if (isCovered) this.units -= units;
    this.untold += units;
    const list = isCovered ? this.#covered : this.#uncovered;
    const last = list.at(-1);
    if (last !== undefined && last[0] === slice) last[1] += units;
    else list.push([slice, units]);
  }

  /** A request has taken so many units, or waits for them. */
  note(units: number, nowMs: number): void {
    this.#taken += units;
    this.#usedAtMs = nowMs;
  }

  /** Takes units for a request that holds them until it ends. */
  hold(units: number): void {
    this.units = Math.max(0, this.units - units);
    this.inUse += units;
  }

  /** Another cap holds. Below a lower one nothing spare may be used: the next exchange gives it back. */
  changeCap(cap: number): void {
    if (cap < this.cap) this.units = Math.min(this.units, 0);
    if (this.view !== undefined) this.view = { ...this.view, free: this.view.free + cap - this.cap };
    this.cap = cap;
    this.moisten();
  }

  /** A request that held units has ended. They are spare now, or given back. */
  release(units: number, isKept: boolean): void {
    this.inUse -= units;
    if (isKept) this.units += units;
  }

  /**
   * Takes back units that were used in the slice `high` and were not needed. `isUntold`: that was since the last exchange, so the store has
   * not heard of it; they come back to the stock if they were taken from it.
   */
  refund(units: number, low: number, high: number, isUntold: boolean): void {
    const isDone = isUntold && (this.#cancel(this.#covered, high, units) || this.#cancel(this.#uncovered, high, units));
    if (!isDone) this.#refunds.push([low, high, units]);
  }

  #cancel(list: [number, number][], slice: number, units: number): boolean {
    const found = list.find(([of, count]) => of === slice && count >= units);
    if (found === undefined) return false;
    found[1] -= units;
    if (found[1] === 0) list.splice(list.indexOf(found), 1);
    if (list === this.#covered) this.units += units;
    this.untold -= units;
    return true;
  }

  /** Adds what the store has lost, or was never told. */
  tellAgain(uses: Uses, refunds: readonly Refund[] = []): void {
    for (const [slice, units] of uses) this.use(units, slice, false);
    this.#refunds.push(...refunds);
  }

  /** What it held was counted as used: only uses that nobody granted are still to be told. */
  bury(): void {
    this.#uncover();
    this.units = 0;
    for (const [, units] of this.#covered) this.untold -= units;
    this.#covered = [];
    this.#refunds = [];
  }

  /** Requests may have taken more tokens than was held for them: nobody granted these. */
  #uncover(): void {
    while (this.units < 0) {
      const last = this.#covered.at(-1);
      const units = Math.min(-this.units, last?.[1] ?? 0);
      if (last === undefined || units === 0) {
        this.units = 0;
        return;
      }
      this.units += units;
      last[1] -= units;
      if (last[1] === 0) this.#covered.pop();
      this.#uncovered.push([last[0], units]);
    }
  }

  /** All that was to be told is forgotten: it is in what is told instead. */
  forget(): void {
    this.bury();
    this.#uncovered = [];
    this.untold = 0;
    this.underWay = 0;
  }

  /** Whether it holds more than it needs, which is given back with the next exchange. */
  hasSurplus(nowMs: number): boolean {
    return this.units > this.#most(nowMs);
  }

  /** Needed is nothing when others ask for it, or no request came for long; else what two seconds of demand take. */
  #most(nowMs: number): number {
    return this.#isUnneeded(nowMs) ? 0 : Math.max(leastSpare, Math.ceil(this.#demandAt(nowMs) * mostHeldMs));
  }

  /** Units per millisecond: without a request it is forgotten, also while nothing is told. */
  #demandAt(nowMs: number): number {
    return this.#taken > 0 ? this.#demand : this.#demand * Math.exp((this.#sinceMs - nowMs) / forgettingMs);
  }

  #isUnneeded(nowMs: number): boolean {
    const restMs = Math.max(shortestRestMs, Math.min(longestRestMs, this.of.periodSeconds * 1000));
    return this.isOver || this.isRecalled || nowMs - this.#usedAtMs > restMs;
  }

  /** Nothing is held, used or told any more, and no request came for long. */
  isSpent(nowMs: number): boolean {
    if (!this.isEmpty) return false;
    return this.isOver || nowMs - this.#usedAtMs > longestRestMs;
  }

  /** What is told now. `busyMs`: how long an exchange takes. */
  tell(nowMs: number, busyMs: number): { readonly told: Told; readonly item: LimitItem } {
    this.#uncover();
    this.#learn(nowMs, busyMs);
    this.units = Math.min(this.units, this.#most(nowMs));
    const wish = this.#wish(nowMs);
    this.isRecalled = false;
    const covered = this.#covered;
    const uncovered = this.#uncovered;
    const refunds = this.#refunds;
    this.#covered = [];
    this.#uncovered = [];
    this.#refunds = [];
    this.underWay = this.untold;
    this.untold = 0;
    const { key, periodSeconds: period } = this.of;
    const uses = uncovered.length === 0 ? covered : [...covered, ...uncovered];
    const held = this.units + this.inUse;
    const item = { key, period, cap: this.cap, held, spare: this.units, uses, refunds, wish };
    const asked = { least: leastSpare, dated: this.isDated };
    this.isDated = false;
    return { told: { stock: this, covered, uncovered, refunds, wish, cap: this.cap }, item: { ...item, ...asked } };
  }

  /** Updates the demand. */
  #learn(nowMs: number, busyMs: number): void {
    const passedMs = nowMs - this.#sinceMs;
    if (passedMs > 0) {
      const rate = this.#taken / passedMs;
      if (rate > this.#demand) this.#demand += (rate - this.#demand) / 2;
      else this.#demand = rate + (this.#demand - rate) * Math.exp(-passedMs / forgettingMs);
      this.#taken = 0;
      this.#sinceMs = nowMs;
    }
    this.low = Math.floor(this.#demand * (3 * busyMs + 2));
  }

  /** How many spare units are wanted beside those that are there. */
  #wish(nowMs: number): number {
    if (this.#demand === 0 || this.#isUnneeded(nowMs)) return 0;
    return Math.max(0, Math.max(leastSpare, Math.ceil(this.#demand * horizonMs)) - this.units);
  }

  /**
   * Takes what the store granted, and what it said. What it granted under a cap that is lower now is left: the next exchange gives it back.
   * `asked`: the spare units that were wished for, the cap, and how many units the smallest request needed that waited. `freeAtMs`: the own
   * moment at which units are free; undefined: unknown.
   */
  take(
    said: LimitAnswer,
    asked: { wish: number; cap: number; units: number },
    atMs: number,
    freeAtMs: number | undefined,
  ): void {
    if (asked.cap <= this.cap) this.units += said.granted;
    this.underWay = 0;
    this.#spareTold = said.spare;
    const { used, others, othersOpen } = said;
    this.view = { atMs, used, others, othersOpen, free: said.free + this.cap - asked.cap };
    // More was used than the cap, for example while the store was lost: what is spare is given back unused.
    this.isOverdrawn = said.free < 0 && this.units > 0;
    if (this.isOverdrawn) this.units = Math.max(0, this.units + said.free);
    this.isLean = asked.wish > 0 && said.granted === 0;
    const isDry = said.freeInMs !== 0 && said.recallMs === 0 && !this.#hasHeardOfRoom;
    this.dryUntilMs = isDry ? (freeAtMs ?? atMs + blindMs) : -1;
    this.#hasHeardOfRoom = false;
    this.dryUnits = asked.units;
  }

  /** Notes in which slices units are used, as the store said; `ownMs` gives the moment of the own clock that is one of the store's. */
  noteSpan({ oldest, newest }: LimitAnswer, ownMs: (storeMs: number) => number): void {
    if (newest === -1) return;
    const { periodSeconds } = this.of;
    const [startMs, endMs] = [sliceStartMs(oldest, periodSeconds), sliceStartMs(newest + sliceCount, periodSeconds)];
    this.span = { startMs: Math.round(ownMs(startMs)), endMs: Math.round(ownMs(endMs)) };
  }

  /** A request has waited as long as it may: for this moment there is no room for it. */
  timeOut(units: number, untilMs: number): void {
    // What the store has said is worth more, unless it was said of larger requests.
    if (this.dryUntilMs > untilMs && this.dryUnits <= units) return;
    this.dryUntilMs = untilMs + 1;
    this.dryUnits = units;
  }

  /** The store says that there may be room again. `isAsking`: an exchange is under way, whose answer may be older. */
  hearOfRoom(isAsking: boolean): void {
    this.moisten();
    this.#hasHeardOfRoom = isAsking;
  }

  /** There may be room again. */
  moisten(): void {
    this.dryUntilMs = -1;
    this.isLean = false;
  }
}
