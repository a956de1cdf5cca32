// A simulated fleet: proxies with the real limiter, the real book of the store, and between them a network and faults that a seed decides.
import { counterKey, type LimitNotice } from '../../../../domain/limits/exchange.ts';
import type { OnStoreLoss } from '../../../../domain/rules/on-store-loss.ts';
import type { Rule } from '../../../../domain/rules/rule.ts';
import { Account } from './account.ts';
import { type Connection, SimulatedProxy } from './simulated-proxy.ts';
import { SimulatedStore, worldStartMs } from './simulated-store.ts';
import { Timeline } from './timeline.ts';

export interface WorldSettings {
  readonly random: () => number;
  readonly proxies: number;
  readonly rules: readonly Rule[];
  readonly onStoreLoss: OnStoreLoss;
  /** One way of the network, in milliseconds; spikes are up to ten times as long. */
  readonly latencyMs: number;
  /** By how much the clocks of the proxies differ from the store's at most. */
  readonly mostAheadMs: number;
  /** Every wrong booking is a fault: nothing that the store knows is lost, and nothing is admitted without it. */
  readonly isExact: boolean;
}

export class FleetWorld {
  readonly settings: WorldSettings;
  readonly timeline = new Timeline();
  readonly store = new SimulatedStore();
  /** By the key of the counter. */
  readonly accounts = new Map<string, Account>();
  /** What was found to be wrong, each kind once. */
  readonly faults = new Map<string, string>();
  readonly proxies: SimulatedProxy[];
  rules: readonly Rule[];
  exchanges = 0;
  connections = 0;
  /** Promises of limiters that are not kept yet. */
  pending = 0;
  #heardAtMs = 0;
  #lagMs = 0;
  #isSet = false;

  constructor(settings: WorldSettings) {
    this.settings = settings;
    this.rules = settings.rules;
    this.proxies = Array.from({ length: settings.proxies }, (_, index) => new SimulatedProxy(this, index));
  }

  /** The store's time: it goes on from the last message when its clock was set back. */
  get storeMs(): number {
    return Math.floor(worldStartMs + (this.#isSet ? this.#heardAtMs : this.timeline.nowMs) - this.#lagMs);
  }

  /** The store takes a message. */
  heard(): void {
    const { nowMs } = this.timeline;
    if (this.#isSet) this.#lagMs += nowMs - this.#heardAtMs;
    this.#isSet = false;
    this.#heardAtMs = nowMs;
  }

  /** The clock of the store is set back. */
  setBack(ms: number): void {
    this.store.stepMs -= ms;
    this.#isSet = true;
  }

  /** The account of a lane of a counter. */
  account(
    rule: Rule,
    lane: Account['lane'],
    child: string,
    cap: number,
  ): { readonly key: string; readonly of: Account } {
    const key = counterKey(lane === 'slots' ? { ...rule, epoch: 0 } : rule, lane, child);
    const found = this.accounts.get(key) ?? new Account(lane, rule.periodSeconds, cap);
    found.cap = cap;
    found.mostCap = Math.max(found.mostCap, cap);
    this.accounts.set(key, found);
    return { key, of: found };
  }

  fault(kind: string, what: string): void {
    if (!this.faults.has(kind)) this.faults.set(kind, `at ${this.timeline.nowMs.toFixed(2)} ms: ${what}`);
  }

  /** Compares what the store knows of a counter with what happened. */
  judge(key: string): void {
    const account = this.accounts.get(key);
    if (account === undefined || !this.settings.isExact) return;
    const missing = account.missing(this.store.tables.counter(key), this.storeMs);
    if (missing > 0)
      this.fault(`wrong booking of ${account.lane}`, `${missing} of ${account.cap} are not known: ${key}`);
  }

  #latencyMs(): number {
    const { random, latencyMs } = this.settings;
    return latencyMs * (0.5 + random()) * (random() < 0.01 ? 1 + random() * 9 : 1);
  }

  canReach({ isReachable }: SimulatedProxy): boolean {
    return isReachable && this.store.awakeAtMs <= this.timeline.nowMs + 1_000;
  }

  /**
   * To the store, which takes it once it is awake and the proxy is not cut off. What is on its way when the connection ends is lost, or
   * arrives now or later.
   */
  send(connection: Connection, take: () => void): void {
    const { run } = this.store;
    let isLate = false;
    const arrive = (): void => {
      const { proxy } = connection;
      const afterMs = Math.max(this.store.awakeAtMs, proxy.reachableAtMs);
      if (this.store.run !== run) return;
      if (this.timeline.nowMs < afterMs) this.timeline.at(afterMs + 0.01 + this.settings.random(), arrive);
      else if (!connection.isCut || isLate || this.settings.random() < 0.3) take();
      else if (this.settings.random() < 0.5) {
        isLate = true;
        this.timeline.in(this.settings.random() * 400, arrive);
      }
    };
    this.timeline.in(this.#latencyMs(), arrive);
  }

  /** To the proxy, which takes it once it is awake. */
  reply(connection: Connection, take: () => void): void {
    const arrive = (): void => {
      const { proxy } = connection;
      if (connection.isCut || !proxy.isUp) return;
      const afterMs = Math.max(proxy.reachableAtMs, proxy.pausedUntilMs);
      if (this.timeline.nowMs < afterMs) this.timeline.at(afterMs + 0.01, arrive);
      else take();
    };
    this.timeline.in(this.#latencyMs(), arrive);
  }

  tell(notice: LimitNotice): void {
    for (const proxy of this.proxies) {
      const { connection } = proxy;
      if (connection === undefined) continue;
      this.reply(connection, () => {
        proxy.fleet.told(notice, proxy.ownMs());
        proxy.pumpIn(0);
      });
    }
  }

  /** The store ends, and is back `downMs` later with what it held `lostMs` before. */
  crash(lostMs: number, downMs: number): void {
    if (lostMs === Number.POSITIVE_INFINITY) this.store.loseAll();
    else this.store.loseTail(this.timeline.nowMs - lostMs);
    this.store.awakeAtMs = this.timeline.nowMs + downMs;
    for (const proxy of this.proxies) proxy.cut();
  }

  /** Runs until `untilMs`. What requests were promised is kept behind each event, before the next one. */
  async run(untilMs: number): Promise<void> {
    while (this.timeline.step(untilMs)) if (this.pending > 0) await Promise.resolve();
  }
}
