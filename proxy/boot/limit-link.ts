// The connection of this proxy to the limits that a fleet shares: timers, exchanges one after the other, and what the log says of it.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { exchangeVersion } from '../../domain/limits/exchange.ts';
import type { Log } from '../../plane/log-events.ts';
import type { LimitLine, LimitStore } from '../../store/state/limits/limit-store.ts';
import type { Fleet } from '../limits/fleet/fleet.ts';
import type { KeptSession } from './limit-session-file.ts';

export interface LimitLinkParts {
  readonly store: Pick<LimitStore, 'connect'>;
  readonly fleet: Fleet;
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Keeps what the next process of this instance has to know. */
  readonly keep: (session: KeptSession) => void;
}

export interface LimitLink {
  /** Whether the config in force has caps that hold for the fleet: connects, once it may. */
  follow(isShared: boolean): void;
  /**
   * From now on it may connect: what this proxy has counted before is there. Resolves when it is connected, if it is wanted; at the latest
   * behind `patienceMs`.
   */
  start(patienceMs: number): Promise<void>;
  /** Caps hold for the fleet, and the store does not answer for them. */
  isLost(): boolean;
  /** Gives back all that is held. Waits for the store no longer than a request does. */
  close(): Promise<void>;
}

/** A timer lasts at least so long, in milliseconds. */
const shortestPauseMs = 1;

export function linkLimits(parts: LimitLinkParts): LimitLink {
  return new Link(parts);
}

class Link implements LimitLink {
  readonly #parts: LimitLinkParts;
  #line: LimitLine | undefined;
  #isWanted = false;
  #mayBegin = false;
  #hasBegun = false;
  #isClosed = false;
  #isAwake = false;
  #timer: NodeJS.Timeout | undefined;
  #wasLost = false;
  #kept = '';
  #isTooOld = false;
  /** Called behind the next answer. */
  #answered: () => void = () => {};

  constructor(parts: LimitLinkParts) {
    this.#parts = parts;
  }

  follow(isShared: boolean): void {
    this.#isWanted = isShared;
    this.#begin();
  }

  async start(patienceMs: number): Promise<void> {
    this.#mayBegin = true;
    this.#begin();
    if (!this.#hasBegun) return;
    await new Promise<void>((resolve) => {
      this.#answered = resolve;
      setTimeout(resolve, patienceMs);
    });
  }

  #begin(): void {
    if (this.#hasBegun || !this.#isWanted || !this.#mayBegin || this.#isClosed) return;
    this.#hasBegun = true;
    const { fleet, store, log } = this.#parts;
    fleet.wake = () => this.#wake();
    fleet.begin(this.#nowMs());
    store.connect({
      ready: (line) => this.#attach(line),
      lost: (error) => {
        this.#line = undefined;
        fleet.detached(this.#nowMs());
        log.warn({ err: error }, 'the connection for shared limits has ended; it is made again');
        this.#wake();
      },
      told: (notice) => {
        fleet.told(notice, this.#nowMs());
        this.#wake();
      },
    });
    this.#wake();
  }

  isLost(): boolean {
    return this.#isWanted && this.#hasBegun && this.#wasLost;
  }

  #nowMs(): number {
    return Math.floor(this.#parts.nowMs());
  }

  /** All that is asked for in one turn of the event loop goes into one exchange. */
  #wake(): void {
    if (this.#isAwake || this.#isClosed) return;
    this.#isAwake = true;
    setImmediate(() => {
      this.#isAwake = false;
      this.#goOn();
    });
  }

  /** Decides what has waited long enough, begins an exchange if one is due, and sets the timer for the next step. */
  #goOn(): void {
    if (this.#isClosed) return;
    const { fleet } = this.#parts;
    const nowMs = this.#nowMs();
    fleet.pass(nowMs);
    this.#tellLoss(fleet.isLost);
    if (this.#line !== undefined && fleet.isDue(nowMs)) this.#exchange(this.#line);
    clearTimeout(this.#timer);
    const nextMs = Math.min(fleet.nextMs(), this.#wasLost ? Number.POSITIVE_INFINITY : fleet.lostAtMs);
    if (nextMs === Number.POSITIVE_INFINITY) return;
    // An answer that came while this process was busy is read before a deadline counts: the step is taken in a turn of its own.
    this.#timer = setTimeout(() => this.#wake(), Math.max(shortestPauseMs, nextMs - nowMs)).unref();
  }

  #tellLoss(isLost: boolean): void {
    if (isLost === this.#wasLost) return;
    this.#wasLost = isLost;
    const { log } = this.#parts;
    if (isLost) log.error('the state store does not answer for shared limits: on_store_loss says what holds');
    else log.info('the state store answers for shared limits again');
  }

  #attach(line: LimitLine): void {
    if (this.#isClosed || this.#isTooOld) return;
    const { fleet } = this.#parts;
    this.#line = undefined;
    const sentMs = this.#nowMs();
    const message = fleet.attachMessage(randomUUID(), line.server);
    line.attach(message).then(
      (answer) => {
        if (answer.version > exchangeVersion) {
          this.#isTooOld = true;
          this.#parts.log.error(
            'shared limits of the state store were written by a newer version of the gateway: on_store_loss says what holds',
          );
          return;
        }
        this.#line = line;
        fleet.attached(answer, sentMs, this.#nowMs());
        this.#wake();
      },
      // The line tells its end.
      () => undefined,
    );
  }

  #exchange(line: LimitLine): void {
    const { fleet } = this.#parts;
    line.exchange(fleet.message(this.#nowMs())).then(
      (answer) => {
        if (this.#line !== line) return;
        const isKnown = fleet.answered(answer, this.#nowMs());
        this.#keep();
        this.#answered();
        if (isKnown) this.#wake();
        else this.#attach(line);
      },
      () => undefined,
    );
  }

  #keep(): void {
    const { fleet, keep } = this.#parts;
    const { toldGeneration: generation, live } = fleet;
    const session = { live, ...(generation === undefined ? {} : { generation }) };
    const text = JSON.stringify(session);
    if (text === this.#kept) return;
    this.#kept = text;
    keep(session);
  }

  async close(): Promise<void> {
    const { fleet } = this.#parts;
    const line = this.#line;
    if (line !== undefined && !fleet.isLost) {
      const timeIsOver = pause(fleet.leaseWaitMs, undefined, { ref: false });
      const givenBack = new Promise<void>((resolve) => {
        this.#answered = () => {
          if (fleet.isGivenBack) resolve();
        };
      });
      fleet.giveAllBack();
      this.#wake();
      await Promise.race([givenBack, timeIsOver]);
      if (fleet.isGivenBack)
        await Promise.race([line.detach(fleet.detachMessage()), timeIsOver]).catch(() => undefined);
    }
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
