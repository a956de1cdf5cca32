// A simulated fleet: proxies with the real limiter, the real book of the store, and between them a network, clocks and faults that a seed decides.

import type { ExchangeMessage } from '../../../domain/limits/exchange.ts';
import type { CounterRow } from '../../../domain/rules/counter-row.ts';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { OnStoreLoss } from '../../../proxy/limits/enforcement.ts';
import { Fleet } from '../../../proxy/limits/fleet/fleet.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { attach, exchange } from '../../../store/state/limits/book.ts';
import { MemoryTables } from '../../support/limit-tables.ts';

export interface WorldSettings {
  readonly random: () => number;
  readonly proxies: number;
  readonly rules: readonly Rule[];
  readonly onStoreLoss: OnStoreLoss;
  /** One way of the network, in milliseconds; spikes are up to ten times as long. */
  readonly latencyMs: number;
}

/** One admitted request: when, on a clock that no one steps, in milliseconds; and by which proxy. */
export interface Admitted {
  readonly atMs: number;
  readonly path: string;
  readonly proxy: number;
  isRefunded: boolean;
}

interface Happening {
  readonly atMs: number;
  readonly order: number;
  readonly run: () => void;
}

/** When every world begins, on the store's clock. */
export const worldStartMs = 1_800_000_000_000;

/** Events in the order of their time. */
class Timeline {
  nowMs = 0;
  #order = 0;
  readonly #heap: Happening[] = [];

  at(atMs: number, run: () => void): void {
    this.#order += 1;
    const event = { atMs: Math.max(atMs, this.nowMs), order: this.#order, run };
    let place = this.#heap.push(event) - 1;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (isBefore(this.#heap[parent] as Happening, event)) break;
      this.#heap[place] = this.#heap[parent] as Happening;
      place = parent;
    }
    this.#heap[place] = event;
  }

  next(): Happening | undefined {
    const [first] = this.#heap;
    const last = this.#heap.pop();
    if (first === undefined || last === undefined || this.#heap.length === 0) return first;
    let place = 0;
    for (;;) {
      const left = 2 * place + 1;
      if (left >= this.#heap.length) break;
      const right = left + 1;
      const isRight =
        right < this.#heap.length && isBefore(this.#heap[right] as Happening, this.#heap[left] as Happening);
      const child = isRight ? right : left;
      if (isBefore(last, this.#heap[child] as Happening)) break;
      this.#heap[place] = this.#heap[child] as Happening;
      place = child;
    }
    this.#heap[place] = last;
    return first;
  }
}

function isBefore(one: Happening, other: Happening): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

interface Connection {
  readonly proxy: SimulatedProxy;
  readonly number: number;
  isCut: boolean;
}

/** The store: the book, and whether it can be reached. */
class Store {
  readonly tables = new MemoryTables();
  run = 1;
  /** It takes nothing before: it is stopped, or down. */
  awakeAtMs = 0;
  stepMs = 0;
  copies: { readonly atMs: number; readonly copy: ReturnType<MemoryTables['copy']> }[] = [];

  clockMs(nowMs: number): number {
    return Math.floor(worldStartMs + nowMs + this.stepMs);
  }
}

class SimulatedProxy {
  readonly world: FleetWorld;
  readonly index: number;
  /** Its clock: rate and distance to the store's. */
  readonly rate: number;
  readonly aheadMs: number;
  boots = 0;
  isUp = true;
  /** It hears and says nothing before. */
  reachableAtMs = 0;
  pausedUntilMs = 0;
  limiter!: Limiter;
  fleet!: Fleet;
  connection: Connection | undefined;
  rows = new Map<string, CounterRow>();
  leases = new Set<Lease>();
  #pumpAtMs = Number.POSITIVE_INFINITY;

  constructor(world: FleetWorld, index: number) {
    this.world = world;
    this.index = index;
    const { random } = world.settings;
    this.rate = 1 + (random() * 2 - 1) * 190e-6;
    this.aheadMs = (random() * 2 - 1) * 5_000;
    this.start(undefined);
  }

  ownMs(): number {
    return Math.floor(worldStartMs + this.world.timeline.nowMs * this.rate + this.aheadMs);
  }

  start(generation: string | undefined): void {
    this.boots += 1;
    const { rules, onStoreLoss } = this.world.settings;
    this.limiter = createLimiter();
    const limiter = this.limiter;
    this.fleet = new Fleet(
      {
        instance: `p${this.index}`,
        boot: `${this.index}.${this.boots}`,
        ...(generation === undefined ? {} : { generation }),
        ownUses: (nowMs) => limiter.ownUses(nowMs),
      },
      this.ownMs(),
    );
    this.fleet.wake = () => this.pumpIn(0.05);
    this.limiter.share(this.fleet);
    this.limiter.reconcile(rules, { isShared: true, onStoreLoss });
    this.limiter.restore(this.rows.values(), this.ownMs());
    this.isUp = true;
    this.connectIn(0.2);
  }

  kill(): void {
    this.isUp = false;
    if (this.connection !== undefined) this.connection.isCut = true;
    this.connection = undefined;
    for (const lease of this.leases) this.world.ended(lease);
    this.leases.clear();
  }

  flush(): void {
    for (const row of this.limiter.exportChanged()) this.rows.set(`${row.key} ${row.child}`, row);
  }

  connectIn(delayMs: number): void {
    this.world.in(delayMs, () => this.#connect());
  }

  #connect(): void {
    const { world } = this;
    if (!this.isUp || this.connection !== undefined) return;
    if (!world.canReach(this)) {
      this.connectIn(100);
      return;
    }
    const connection = { proxy: this, number: world.connections, isCut: false };
    world.connections += 1;
    this.connection = connection;
    const sentMs = this.ownMs();
    const message = this.fleet.attachMessage(`g${world.connections}`, `run ${world.store.run}`);
    world.send(connection, () => {
      const answer = attach(world.store.tables, message, world.store.clockMs(world.timeline.nowMs));
      world.reply(connection, () => {
        this.fleet.attached(answer, sentMs, this.ownMs());
        this.pumpIn(0);
      });
    });
  }

  cut(): void {
    if (this.connection === undefined) return;
    this.connection.isCut = true;
    this.connection = undefined;
    this.fleet.detached(this.ownMs());
    this.connectIn(20 + this.world.settings.random() * 200);
  }

  pumpIn(delayMs: number): void {
    const atMs = this.world.timeline.nowMs + delayMs;
    if (atMs >= this.#pumpAtMs && this.#pumpAtMs > this.world.timeline.nowMs) return;
    this.#pumpAtMs = atMs;
    const { fleet } = this;
    this.world.timeline.at(atMs, () => {
      if (this.#pumpAtMs !== atMs || fleet !== this.fleet || !this.isUp) return;
      this.#pumpAtMs = Number.POSITIVE_INFINITY;
      this.#pump();
    });
  }

  #pump(): void {
    const { world } = this;
    if (world.timeline.nowMs < this.pausedUntilMs) {
      this.pumpIn(this.pausedUntilMs - world.timeline.nowMs);
      return;
    }
    const nowMs = this.ownMs();
    this.fleet.pass(nowMs);
    const { connection } = this;
    if (connection !== undefined && this.fleet.isDue(nowMs)) {
      const message = this.fleet.message(nowMs);
      world.exchanges += 1;
      world.send(connection, () => this.#exchange(connection, message));
    }
    const nextMs = Math.min(this.fleet.nextMs(), nowMs + 250);
    this.pumpIn(Math.max(0.2, nextMs - nowMs));
  }

  #exchange(connection: Connection, message: ExchangeMessage): void {
    const { world } = this;
    const clockMs = world.store.clockMs(world.timeline.nowMs);
    const answer = exchange(world.store.tables, message, clockMs, (notice) => world.tell(notice));
    world.reply(connection, () => {
      if (!this.fleet.answered(answer, this.ownMs())) this.cut();
      this.pumpIn(0);
    });
  }
}

export class FleetWorld {
  readonly settings: WorldSettings;
  readonly timeline = new Timeline();
  readonly store = new Store();
  readonly proxies: SimulatedProxy[];
  readonly admitted: Admitted[] = [];
  refused = 0;
  asked = 0;
  exchanges = 0;
  connections = 1;
  /** The longest wait of a request on its proxy, in milliseconds. */
  longestWaitMs = 0;
  /** Open requests that hold slots, and the most there were at once. */
  inFlight = 0;
  mostInFlight = 0;
  readonly #open = new Set<Lease>();
  readonly refusals: { readonly atMs: number; readonly path: string; readonly seconds: number }[] = [];

  constructor(settings: WorldSettings) {
    this.settings = settings;
    this.proxies = Array.from({ length: settings.proxies }, (_, index) => new SimulatedProxy(this, index));
  }

  in(delayMs: number, run: () => void): void {
    this.timeline.at(this.timeline.nowMs + delayMs, run);
  }

  #latencyMs(): number {
    const { random, latencyMs } = this.settings;
    return latencyMs * (0.5 + random()) * (random() < 0.01 ? 1 + random() * 9 : 1);
  }

  canReach({ reachableAtMs }: SimulatedProxy): boolean {
    const { nowMs } = this.timeline;
    return nowMs >= reachableAtMs && this.store.awakeAtMs <= nowMs + 1_000;
  }

  /** To the store, which takes it once it is awake. */
  send(connection: Connection, take: () => void): void {
    const arrive = (): void => {
      if (connection.isCut) return;
      if (this.timeline.nowMs < this.store.awakeAtMs) {
        this.timeline.at(this.store.awakeAtMs + 0.01, arrive);
        return;
      }
      if (this.timeline.nowMs < connection.proxy.reachableAtMs) return;
      take();
    };
    this.in(this.#latencyMs(), arrive);
  }

  /** To the proxy, which takes it once it is awake. */
  reply(connection: Connection, take: () => void): void {
    const arrive = (): void => {
      const { proxy } = connection;
      if (connection.isCut || !proxy.isUp || this.timeline.nowMs < proxy.reachableAtMs) return;
      if (this.timeline.nowMs < proxy.pausedUntilMs) this.timeline.at(proxy.pausedUntilMs + 0.01, arrive);
      else take();
    };
    this.in(this.#latencyMs(), arrive);
  }

  tell(notice: Parameters<Fleet['told']>[0]): void {
    for (const proxy of this.proxies) {
      const { connection } = proxy;
      if (connection === undefined) continue;
      this.reply(connection, () => {
        proxy.fleet.told(notice, proxy.ownMs());
        proxy.pumpIn(0);
      });
    }
  }

  /** A request comes to a proxy; it lasts `lastsMs`. */
  ask(index: number, path: string, lastsMs: number, refundShare: number): void {
    const proxy = this.proxies[index] as SimulatedProxy;
    if (!proxy.isUp || this.timeline.nowMs < proxy.pausedUntilMs) return;
    this.asked += 1;
    const askedMs = this.timeline.nowMs;
    const matches = proxy.limiter.forUserPath(path);
    const { fleet } = proxy;
    const decided = (admission: ReturnType<Limiter['admit']>): void => {
      this.longestWaitMs = Math.max(this.longestWaitMs, this.timeline.nowMs - askedMs);
      const { lease, rejection } = admission;
      if (lease === undefined) {
        this.refused += 1;
        this.refusals.push({ atMs: this.timeline.nowMs, path, seconds: rejection.retryAfterSeconds });
        return;
      }
      const entry = { atMs: this.timeline.nowMs, path, proxy: index, isRefunded: false };
      this.admitted.push(entry);
      this.#open.add(lease);
      proxy.leases.add(lease);
      this.inFlight += 1;
      this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
      const isRefunded = this.settings.random() < refundShare;
      this.in(lastsMs, () => {
        if (fleet !== proxy.fleet || !this.#open.has(lease)) return;
        if (isRefunded) {
          entry.isRefunded = true;
          lease.refund(proxy.ownMs());
        } else lease.release();
        proxy.leases.delete(lease);
        this.ended(lease);
      });
    };
    const admission = proxy.limiter.admitSoon(matches, proxy.ownMs(), { rejectedAs: 'reject', wanted: 0 });
    if (admission instanceof Promise) void admission.then(decided);
    else decided(admission);
  }

  ended(lease: Lease): void {
    if (this.#open.delete(lease)) this.inFlight -= 1;
  }

  /** Runs until `untilMs`. What requests were promised is done behind each event, before the next one. */
  async run(untilMs: number): Promise<void> {
    for (;;) {
      const event = this.timeline.next();
      if (event === undefined || event.atMs > untilMs) return;
      this.timeline.nowMs = event.atMs;
      event.run();
      await Promise.resolve();
    }
  }
}

/** The most that any trailing period holds, and when it ended. `times` in order. */
export function worstWindow(
  times: readonly number[],
  periodMs: number,
): { readonly count: number; readonly atMs: number } {
  let first = 0;
  let worst = { count: 0, atMs: 0 };
  for (const [index, atMs] of times.entries()) {
    while ((times[first] ?? atMs) <= atMs - periodMs) first += 1;
    if (index - first + 1 > worst.count) worst = { count: index - first + 1, atMs };
  }
  return worst;
}
