// One proxy of a simulated fleet: the real limiter and the real session with the store, on a clock of its own and a network that fails.

import type { ExchangeMessage } from '../../../../domain/limits/exchange.ts';
import type { CounterRow } from '../../../../domain/rules/counter-row.ts';
import { Fleet } from '../../../../proxy/limits/fleet/fleet.ts';
import { createLimiter, type Limiter } from '../../../../proxy/limits/limiter.ts';
import { attach, exchange } from '../../../../store/state/limits/book.ts';
import { exported } from '../../../support/counter-rows.ts';
import { worldStartMs } from './simulated-store.ts';
import type { FleetWorld } from './world.ts';

/** A connection whose answers stay out for so long is cut. Milliseconds. */
const patienceMs = 2_000;
/** A process that was stopped reads what came meanwhile before its timers count. */
const wakingMs = 0.03;

export interface Connection {
  readonly proxy: SimulatedProxy;
  isCut: boolean;
  /** Answered so far. */
  answers: number;
}

export class SimulatedProxy {
  readonly world: FleetWorld;
  readonly index: number;
  readonly #rate: number;
  readonly #aheadMs: number;
  #boots = 0;
  isUp = true;
  /** It hears and says nothing before. Milliseconds from the start, as below. */
  reachableAtMs = 0;
  pausedUntilMs = 0;
  /** Its connection ends while the next exchange is under way. */
  isToBeCut = false;
  /** The last time that the store took something from it. */
  heardAtMs = 0;
  limiter!: Limiter;
  fleet!: Fleet;
  connection: Connection | undefined;
  /** What its last flush kept. */
  #rows = new Map<string, CounterRow>();
  #generation: string | undefined;
  #pumpAtMs = Number.POSITIVE_INFINITY;

  constructor(world: FleetWorld, index: number) {
    this.world = world;
    this.index = index;
    const { random, mostAheadMs } = world.settings;
    this.#rate = 1 + (random() * 2 - 1) * 190e-6;
    this.#aheadMs = (random() * 2 - 1) * mostAheadMs;
    this.start();
  }

  /** Its clock, in whole Unix milliseconds. */
  ownMs(): number {
    return Math.floor(worldStartMs + this.world.timeline.nowMs * this.#rate + this.#aheadMs);
  }

  get isPaused(): boolean {
    return this.world.timeline.nowMs < this.pausedUntilMs;
  }

  get isReachable(): boolean {
    return this.world.timeline.nowMs >= this.reachableAtMs;
  }

  start(): void {
    this.#boots += 1;
    const limiter = createLimiter();
    this.limiter = limiter;
    this.fleet = new Fleet(
      {
        instance: `p${this.index}`,
        boot: `${this.index}.${this.#boots}`,
        expected: this.world.settings.proxies,
        ...(this.#generation === undefined ? {} : { generation: this.#generation }),
        ownUses: (nowMs) => limiter.ownUses(nowMs),
      },
      this.ownMs(),
    );
    this.fleet.wake = () => this.pumpIn(0.05);
    limiter.share(this.fleet);
    this.follow();
    limiter.restore(this.#rows.values(), this.ownMs());
    this.isUp = true;
    this.pausedUntilMs = 0;
    this.#connectIn(0.2);
    this.pumpIn(0.1);
  }

  /** Puts the rules of the world in force. */
  follow(): void {
    const { onStoreLoss } = this.world.settings;
    this.limiter.reconcile(this.world.rules, { isShared: true, onStoreLoss });
  }

  kill(): void {
    this.isUp = false;
    if (this.connection !== undefined) this.connection.isCut = true;
    this.connection = undefined;
  }

  /** Keeps the counters, and to which store all was told, for the next process. */
  flush(): void {
    for (const key of this.limiter.exportRemoved()) {
      for (const [name, row] of this.#rows) if (row.key === key) this.#rows.delete(name);
    }
    for (const row of exported(this.limiter)) this.#rows.set(`${row.key} ${row.child}`, row);
    this.#generation = this.fleet.toldGeneration;
  }

  #connectIn(delayMs: number): void {
    const { fleet } = this;
    this.world.timeline.in(delayMs, () => {
      if (this.isUp && fleet === this.fleet) this.#connect();
    });
  }

  #connect(): void {
    const { world } = this;
    if (this.connection !== undefined) return;
    if (this.isPaused || !world.canReach(this)) {
      this.#connectIn(50 + 100 * world.settings.random());
      return;
    }
    const connection = { proxy: this, isCut: false, answers: 0 };
    this.connection = connection;
    world.connections += 1;
    const sentMs = this.ownMs();
    const message = this.fleet.attachMessage(`g${world.connections}`, `run ${world.store.run}`);
    this.#beImpatient(connection);
    world.send(connection, () => {
      this.heardAtMs = world.timeline.nowMs;
      world.heard();
      const answer = attach(world.store.tables, message, world.store.clockMs(world.timeline.nowMs));
      world.reply(connection, () => {
        connection.answers += 1;
        this.fleet.attached(answer, sentMs, this.ownMs());
        this.pumpIn(0);
      });
    });
  }

  #beImpatient(connection: Connection): void {
    const { answers } = connection;
    this.world.timeline.in(patienceMs, () => {
      if (this.connection === connection && connection.answers === answers && !this.isPaused) this.cut();
    });
  }

  /** The connection ends. What is on its way back is lost; what is on its way to the store may still arrive. */
  cut(): void {
    if (this.connection === undefined) return;
    this.connection.isCut = true;
    this.connection = undefined;
    this.fleet.detached(this.ownMs());
    this.#connectIn(5 + this.world.settings.random() * 200);
    this.pumpIn(0.1);
  }

  pumpIn(delayMs: number): void {
    const { timeline } = this.world;
    const atMs = Math.max(timeline.nowMs + delayMs, this.isPaused ? this.pausedUntilMs + wakingMs : 0);
    if (atMs >= this.#pumpAtMs && this.#pumpAtMs > timeline.nowMs) return;
    this.#pumpAtMs = atMs;
    const { fleet } = this;
    timeline.at(atMs, () => {
      if (this.#pumpAtMs !== atMs || fleet !== this.fleet || !this.isUp) return;
      this.#pumpAtMs = Number.POSITIVE_INFINITY;
      if (this.isPaused) this.pumpIn(0);
      else this.#pump();
    });
  }

  #pump(): void {
    const { world } = this;
    const nowMs = this.ownMs();
    this.fleet.pass(nowMs);
    const { connection } = this;
    if (connection !== undefined && this.fleet.isDue(nowMs)) {
      const message = this.fleet.message(nowMs);
      world.exchanges += 1;
      this.#beImpatient(connection);
      world.send(connection, () => this.#exchange(connection, message));
      if (this.isToBeCut) world.timeline.in(4 * world.settings.latencyMs * world.settings.random(), () => this.cut());
      this.isToBeCut = false;
    }
    this.pumpIn(
      Math.max(
        0.2,
        Math.min(this.fleet.nextMs(), this.fleet.isLost ? nowMs + 250 : this.fleet.lostAtMs, nowMs + 250) - nowMs,
      ),
    );
  }

  #exchange(connection: Connection, message: ExchangeMessage): void {
    const { world } = this;
    const { timeline, store } = world;
    this.heardAtMs = timeline.nowMs;
    world.heard();
    const answer = exchange(store.tables, message, store.clockMs(timeline.nowMs), (notice) => world.tell(notice));
    for (const { key } of message.items) world.judge(key);
    world.reply(connection, () => {
      connection.answers += 1;
      if (!this.fleet.answered(answer, this.ownMs())) this.cut();
      this.pumpIn(0);
    });
  }
}
