// This proxy's part of the limits that a fleet shares: what it holds, what waits, and what is said to the state store, one exchange at a time.
// Pure: no timer and no connection; proxy/store/limit-link.ts has both.
import type {
  AttachAnswer,
  AttachMessage,
  DetachMessage,
  ExchangeAnswer,
  ExchangeMessage,
  LimitItem,
  LimitNotice,
} from '../../../domain/limits/exchange.ts';
import { sliceAt } from '../../../domain/rules/slice.ts';
import { type FleetCounts, noFleetCounts } from './fleet-counts.ts';
import { Session, type SessionOptions } from './session.ts';
import { Stock, type StockOf, type Told } from './stock.ts';
import { StoreTime } from './store-time.ts';
import { type OwnUse, tellAll, tellLost } from './tell-again.ts';
import { aloneStocks, groupsAsTold, lackedUnits, type Need, type Waiting, WaitingRequests } from './waiting.ts';

/** What is held may be used for so long behind the last answered exchange, less what clocks may differ by. The store gives it up later. */
const usableMs = 3_000 * 0.999;
/** The time between two exchanges that nothing asks for. */
export const beatMs = 500;
/** So many counters are told in one exchange. */
const mostItems = 256;
/** While the store recovers, it is asked so often. */
const recoveringMs = 50;
/** So many stocks are looked at in one beat, to give back what is idle. */
const visits = 1_000;

export interface FleetOptions extends SessionOptions {
  /** How many proxies share when the store was never reached. */
  readonly expected?: number;
  /** All that this proxy counted in the trailing periods: told to a store that has lost it, or never knew. */
  readonly ownUses: (nowMs: number) => Iterable<OwnUse>;
}

/** When something was used: the bounds of the store's time, and the number of the exchange that was told last. */
export interface Moment {
  readonly latestMs: number;
  readonly earliestMs: number;
  readonly exchange: number;
}

export class Fleet {
  /** How long a request waits at most, in milliseconds. */
  leaseWaitMs = 250;
  readonly counts: FleetCounts = noFleetCounts();
  /** Called when an exchange is wanted at once. */
  wake: () => void = () => {};
  readonly #options: FleetOptions;
  readonly #time = new StoreTime();
  readonly #stocks = new Map<string, Stock>();
  readonly #untold = new Set<Stock>();
  readonly #waiting = new WaitingRequests();
  readonly #session: Session;
  /** All has been told on this connection. */
  #hasTold = false;
  #isAttached = false;
  /** The store waits until all proxies have told what they hold. */
  isRecovering = false;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  /** Since when an answer, or a connection, is missing. */
  #missingSinceMs: number | undefined;
  #isLost = false;
  #beatAtMs = Number.NEGATIVE_INFINITY;
  #busyMs = 1;
  #round: Iterator<Stock> | undefined;
  #live: number;
  #rank = 0;
  /** The next exchange is to begin at once. */
  #isWanted = false;

  constructor(options: FleetOptions, nowMs: number) {
    this.#options = options;
    this.#session = new Session(options);
    this.#live = Math.max(1, options.expected ?? 1);
    this.#missingSinceMs = nowMs;
  }

  /** The store may be asked from now on: it counts as lost when it does not answer. */
  begin(nowMs: number): void {
    if (this.#missingSinceMs !== undefined) this.#missingSinceMs = nowMs;
  }

  /** The stock of a counter. */
  stock(of: StockOf, nowMs: number): Stock {
    const found = this.#stocks.get(of.key);
    if (found !== undefined) {
      // A rule may come back while what it held is given back.
      found.isOver = false;
      return found;
    }
    const stock = new Stock(of, nowMs);
    this.#stocks.set(of.key, stock);
    return stock;
  }

  /** What is held may be used. */
  isValid(nowMs: number): boolean {
    return nowMs < this.#validUntilMs;
  }

  /** The store has granted nothing for `leaseWaitMs`, as `pass` found: a process that was stopped reads what came meanwhile before. */
  get isLost(): boolean {
    return this.#isLost;
  }

  /** How many proxies share the limits, as the store last said. */
  get live(): number {
    return this.#live;
  }

  /** The generation of the store to which all was told; undefined: to none yet. */
  get toldGeneration(): string | undefined {
    return this.#hasTold ? this.#session.generation : undefined;
  }

  /** When the store counts as lost, if it does not answer. */
  get lostAtMs(): number {
    return (this.#missingSinceMs ?? Number.POSITIVE_INFINITY) + this.leaseWaitMs;
  }

  /** The part of a cap that this proxy may use while the store is lost. */
  share(cap: number): number {
    return Math.floor(cap / this.#live) + (this.#rank < cap % this.#live ? 1 : 0);
  }

  /** The present moment, for a use that may be taken back. `nowMs`: own clock, whole milliseconds. */
  moment(nowMs: number): Moment {
    return {
      latestMs: this.#time.latest(nowMs),
      earliestMs: this.#time.earliest(nowMs),
      exchange: this.#session.sequence,
    };
  }

  /** Uses units of a stock. Covered: it holds them; else nobody granted them. */
  use(stock: Stock, units: number, nowMs: number, isCovered: boolean): void {
    stock.use(units, sliceAt(this.#time.latest(nowMs), stock.of.periodSeconds), isCovered);
    this.noteTaken(stock, units, nowMs);
  }

  /** Notes that a request has taken units, and has more fetched when few are left. */
  noteTaken(stock: Stock, units: number, nowMs: number): void {
    stock.note(units, nowMs);
    this.#untold.add(stock);
    if (stock.units <= stock.low && !stock.isLean) this.#want();
  }

  /** Takes back a use that was not carried out. */
  refund(stock: Stock, { latestMs, earliestMs, exchange }: Moment): void {
    const { periodSeconds } = stock.of;
    const isUntold = exchange === this.#session.sequence;
    stock.refund(1, sliceAt(earliestMs, periodSeconds), sliceAt(latestMs, periodSeconds), isUntold);
    this.changed(stock, stock.isWanted);
  }

  /** An open request holds units no more: they are kept, or go to others that want them. */
  release(stock: Stock, units: number): void {
    const isWanted = stock.isWanted || !this.#isAttached;
    stock.release(units, !isWanted);
    this.changed(stock, isWanted);
  }

  /** The cap of a rule has changed: what was granted under a higher one is given back unused. */
  setCap(stock: Stock, cap: number): void {
    const isLower = cap < stock.cap;
    stock.changeCap(cap);
    if (isLower) this.changed(stock, true);
  }

  /** The store hears of a change. `isUrgent`: now, else with the next exchange. */
  changed(stock: Stock, isUrgent: boolean): void {
    this.#untold.add(stock);
    if (isUrgent) this.#want();
  }

  /** A counter is gone: what it holds is given back. What was used of it is told all the same: its rule may come back. */
  end(stock: Stock): void {
    stock.isOver = true;
    this.changed(stock, false);
  }

  /** Lets a request wait. */
  wait(waiting: Waiting): void {
    this.#waiting.add(waiting);
    this.#want();
    // Its time may be over before the exchange under way is answered.
    this.wake();
  }

  /** Whether the exchange of this number was answered. */
  hasAnswered(exchange: number): boolean {
    return this.#session.sequence >= exchange && this.#session.underWay === undefined;
  }

  #want(): void {
    if (this.#isWanted) return;
    this.#isWanted = true;
    if (this.#session.underWay === undefined) this.wake();
  }

  /** What a new connection begins with. `fresh`: a random text; `server`: which run of the server it leads to. */
  attachMessage(fresh: string, server: string): AttachMessage {
    this.#isAttached = false;
    return this.#session.attachMessage({ fresh, server, live: this.#live });
  }

  /** The store knows this proxy now: all is told that it may have lost. */
  attached(answer: AttachAnswer, sentMs: number, nowMs: number): void {
    this.#note(answer, sentMs, nowMs);
    const { generation, isOpen } = this.#session;
    const isNewStore = answer.generation !== generation;
    const lost = this.#session.attached(answer);
    const isBehind = lost.answered.length > 0;
    if (isBehind || (isNewStore && generation !== undefined)) this.counts.recoveries += 1;
    if (answer.former !== 'unknown') tellLost(answer, lost, this.#stocks.values());
    else if (isNewStore || isOpen) tellAll(this.#options.ownUses(nowMs), this.#stocks.values(), this.#time, nowMs);
    this.#isAttached = true;
    this.#hasTold = false;
    for (const stock of this.#stocks.values()) this.#untold.add(stock);
    this.#isWanted = false;
    this.#want();
  }

  /** The connection ended. */
  detached(nowMs: number): void {
    this.#isAttached = false;
    this.isRecovering = false;
    this.#missingSinceMs ??= nowMs;
  }

  /** A clean end: everything is given back with the next exchanges. */
  giveAllBack(): void {
    for (const stock of this.#stocks.values()) {
      stock.isRecalled = true;
      this.#untold.add(stock);
    }
    this.#want();
  }

  /** Whether nothing is held, and all is told. */
  get isGivenBack(): boolean {
    return this.#session.underWay === undefined && this.#untold.size === 0;
  }

  detachMessage(): DetachMessage {
    return this.#session.detachMessage();
  }

  /** Whether an exchange has to begin now. */
  isDue(nowMs: number): boolean {
    if (!this.#isAttached || this.#session.underWay !== undefined) return false;
    return this.#isWanted || nowMs >= this.#beatAtMs || !this.#hasTold || this.#waiting.isWanting(nowMs);
  }

  /** When to look again at the latest. */
  nextMs(): number {
    const isAsking = !this.#isAttached || this.#session.underWay !== undefined;
    return Math.min(this.#waiting.nextMs(isAsking), isAsking ? Number.POSITIVE_INFINITY : this.#beatAtMs);
  }

  /** The next exchange; nothing may be under way. */
  message(nowMs: number): ExchangeMessage {
    this.#isWanted = false;
    const beat = nowMs >= this.#beatAtMs;
    if (beat) this.#beginBeat(nowMs);
    const groups = this.#waiting.groups(nowMs);
    const chosen = this.#choose(groups);
    const told: Told[] = [];
    const items: LimitItem[] = [];
    for (const stock of chosen.keys()) {
      const { told: one, item } = stock.tell(nowMs, this.#busyMs);
      told.push(one);
      items.push(item);
    }
    this.#hasTold ||= this.#untold.size === 0;
    this.counts[beat ? 'beat' : groups.length > 0 ? 'ask' : 'refill'] += 1;
    const address = this.#session.begin({ sentMs: nowMs, told, groups });
    this.#missingSinceMs ??= nowMs;
    return {
      ...address,
      beat,
      told: this.#hasTold,
      items,
      groups: groupsAsTold(groups, items, (stock) => chosen.get(stock) ?? -1),
    };
  }

  #beginBeat(nowMs: number): void {
    this.#beatAtMs = nowMs + beatMs;
    this.#round ??= this.#stocks.values();
    for (let visited = 0; visited < visits; visited += 1) {
      const { value: stock, done } = this.#round.next();
      if (done) {
        this.#round = undefined;
        return;
      }
      stock.isLean = false;
      if (stock.hasSurplus(nowMs)) this.#untold.add(stock);
      if (this.#untold.has(stock) || !stock.isSpent(nowMs)) continue;
      stock.isGone = true;
      if (this.#stocks.get(stock.of.key) === stock) this.#stocks.delete(stock.of.key);
    }
  }

  /** The stocks to be told, with their places: those that requests wait for, and as many others as fit. */
  #choose(groups: readonly { readonly needs: readonly Need[] }[]): Map<Stock, number> {
    const chosen = new Map<Stock, number>();
    for (const { needs } of groups) {
      for (const { stock } of needs) if (!chosen.has(stock)) chosen.set(stock, chosen.size);
    }
    for (const stock of this.#untold) {
      if (chosen.size >= mostItems) break;
      if (!chosen.has(stock)) chosen.set(stock, chosen.size);
    }
    for (const stock of chosen.keys()) this.#untold.delete(stock);
    return chosen;
  }

  /** Takes an answer; false: it is none to what was asked, and the connection must begin anew. */
  answered(answer: ExchangeAnswer, nowMs: number): boolean {
    const { underWay } = this.#session;
    if (underWay === undefined || answer.status !== 'done' || answer.sequence !== underWay.sequence) {
      this.detached(nowMs);
      return false;
    }
    if (this.#isLost && this.#untold.size > 0) this.#isWanted = true;
    this.#session.end(nowMs);
    this.#note(answer, underWay.sentMs, nowMs);
    const pauses = new Map<Stock, number>();
    const lacked = lackedUnits(underWay.groups, answer.admitted);
    const alone = aloneStocks(underWay.groups, answer.admitted);
    for (const [index, { stock, wish, cap }] of underWay.told.entries()) {
      const said = answer.answers[index];
      if (said === undefined) continue;
      const freeAtMs = said.freeInMs > 0 ? this.#time.ownMs(answer.now + said.freeInMs, nowMs) : undefined;
      stock.take(said, { wish, cap, units: lacked.get(stock) ?? 1 }, nowMs, freeAtMs);
      stock.noteSpan(said, (storeMs) => this.#time.ownMs(storeMs, nowMs));
      stock.isAlone = alone.has(stock);
      if (stock.isOverdrawn || cap > stock.cap) this.changed(stock, true);
      if (said.recallMs > 0) pauses.set(stock, said.recallMs);
    }
    this.#run(nowMs, pauses);
    if (this.#untold.size > 0 && !this.#hasTold) this.#isWanted = true;
    if (this.#isWanted) this.wake();
    return true;
  }

  #note(answer: { now: number; live: number; rank: number; recovering: boolean }, sentMs: number, nowMs: number): void {
    this.#time.note(sentMs, nowMs, answer.now);
    this.#busyMs += (nowMs - sentMs - this.#busyMs) / 8;
    this.#validUntilMs = sentMs + usableMs;
    // A store that recovers grants nothing: it is as good as lost until it has.
    this.#missingSinceMs = answer.recovering ? (this.#missingSinceMs ?? sentMs) : undefined;
    this.#isLost &&= answer.recovering;
    if (answer.recovering) this.#beatAtMs = Math.min(this.#beatAtMs, nowMs + recoveringMs);
    this.#live = Math.max(1, answer.live);
    this.#rank = answer.rank;
    this.isRecovering = answer.recovering;
  }

  #run(nowMs: number, pauses: ReadonlyMap<Stock, number>): void {
    const pauseMs = this.isRecovering ? recoveringMs : 0;
    this.#waiting.run(nowMs, (needs) => {
      let askAtMs = needs.length === 0 ? Number.POSITIVE_INFINITY : nowMs + pauseMs;
      for (const { stock } of needs) askAtMs = Math.max(askAtMs, nowMs + (pauses.get(stock) ?? 0), stock.dryUntilMs);
      return askAtMs;
    });
    if (this.#waiting.isWanting(nowMs)) this.#want();
  }

  /** A notice to all proxies. */
  told({ kind, key }: LimitNotice, nowMs: number): void {
    const stock = this.#stocks.get(key);
    if (stock === undefined) return;
    if (kind === 'return') {
      if (!stock.isAwaited) return;
      this.counts.recalls += 1;
      stock.isRecalled = true;
      this.changed(stock, true);
      return;
    }
    stock.hearOfRoom(this.#session.underWay !== undefined);
    this.#run(nowMs, new Map());
  }

  /** Decides what has waited long enough; while the store is lost nothing waits. */
  pass(nowMs: number): void {
    this.#isLost = nowMs >= this.lostAtMs;
    if (this.#isLost) this.#run(nowMs, new Map());
    else this.#waiting.expire(nowMs);
  }

  /** For metrics. */
  get status(): { readonly stocks: number; readonly waiting: number } {
    return { stocks: this.#stocks.size, waiting: this.#waiting.size };
  }
}
