// Requests to a simulated fleet, and what became of them.
import type { Admission } from '../../../../proxy/limits/admit.ts';
import type { Lease } from '../../../../proxy/limits/lease.ts';
import { createLimiter } from '../../../../proxy/limits/limiter.ts';
import { liveCounter, type MatchedCounters, type Matches } from '../../../../proxy/limits/match.ts';
import { lanesOf } from '../../../../proxy/limits/room.ts';
import type { Account } from './account.ts';
import type { SimulatedProxy } from './simulated-proxy.ts';
import type { FleetWorld } from './world.ts';

/** One request that comes. */
export interface Request {
  readonly path: string;
  /** How long it is open, in milliseconds. */
  readonly lastsMs: number;
  readonly isRefunded: boolean;
  /** The tokens that it sets aside, and those that it takes. */
  readonly wanted: number;
  readonly tokens: number;
}

interface Held {
  readonly account: Account;
  readonly key: string;
  /** Undefined: slots and tokens. */
  readonly use: ReturnType<Account['use']> | undefined;
  readonly excess: number;
}

interface Open {
  readonly lease: Lease;
  readonly held: readonly Held[];
  isOrphaned: boolean;
}

/** A proxy that was silent for so long may be taken for dead, in milliseconds. */
const silentMs = 9_000;
/** Behind a refusal with room, one more than so much later is a fault, in milliseconds. */
const patienceMs = 1_000;

export class Traffic {
  readonly world: FleetWorld;
  /** Of refusals: nothing; that they end where there is room; also that there was none. */
  readonly judges: 'nothing' | 'patience' | 'all';
  asked = 0;
  admitted = 0;
  refused = 0;
  /** Of these: where the store was lost; where there was room; with a moment to come back that was right; that had one to tell. */
  lost = 0;
  wrong = 0;
  exactSeconds = 0;
  timed = 0;
  /** The most room at a refusal beside one unit, which may be on its way; as a part of the cap. */
  worstRoom = 0;
  /** What one limiter in one place admits of the same requests, if none is open for long. */
  ideal = 0;
  readonly waits: number[] = [];
  longestWaitMs = 0;
  readonly #single = createLimiter();
  readonly #open = new Map<SimulatedProxy, Set<Open>>();

  constructor(world: FleetWorld, judges: Traffic['judges']) {
    this.world = world;
    this.judges = judges;
    this.#single.reconcile(world.rules);
  }

  /** A request comes to a proxy. One that is stopped reads it later. */
  ask(proxy: SimulatedProxy, request: Request): void {
    const { world } = this;
    if (!proxy.isUp) return;
    if (proxy.isPaused) {
      world.timeline.at(proxy.pausedUntilMs + 0.02 * world.settings.random(), () => this.ask(proxy, request));
      return;
    }
    this.asked += 1;
    const askedMs = world.timeline.nowMs;
    if (
      this.judges === 'all' &&
      this.#single.admit(this.#single.forUserPath(request.path), world.storeMs).lease !== undefined
    )
      this.ideal += 1;
    const { limiter, fleet } = proxy;
    const matches = limiter.forUserPath(request.path);
    const decide = (admission: Admission): void => {
      if (fleet !== proxy.fleet || !proxy.isUp) return;
      const waitedMs = world.timeline.nowMs - Math.max(askedMs, Math.min(proxy.pausedUntilMs, world.timeline.nowMs));
      if (waitedMs > 0) this.waits.push(waitedMs);
      if (waitedMs > fleet.leaseWaitMs + 3) world.fault('wait', `a request waited ${waitedMs} ms`);
      this.longestWaitMs = Math.max(this.longestWaitMs, waitedMs);
      if (admission.lease === undefined) this.#refused(admission, fleet.leaseWaitMs - waitedMs < 2);
      else this.#admitted(proxy, matches, admission.lease, request);
    };
    const admission = limiter.admitSoon(matches, proxy.ownMs(), { rejectedAs: 'reject', wanted: request.wanted });
    if (!(admission instanceof Promise)) {
      decide(admission);
      return;
    }
    world.pending += 1;
    void admission.then((decided) => {
      world.pending -= 1;
      decide(decided);
    });
  }

  #admitted(proxy: SimulatedProxy, matches: Matches, lease: Lease, request: Request): void {
    const { world } = this;
    this.admitted += 1;
    const held = this.#book(proxy, matches.matched(), lease, request);
    const open = { lease, held, isOrphaned: false };
    const all = this.#open.get(proxy) ?? new Set();
    this.#open.set(proxy, all.add(open));
    for (const { key } of held) world.judge(key);
    world.timeline.in(request.lastsMs, () => this.#end(proxy, matches, open, request));
  }

  #book(proxy: SimulatedProxy, matched: MatchedCounters, lease: Lease, { wanted, tokens }: Request): Held[] {
    const { world } = this;
    const { nowMs } = world.timeline;
    return matched.flatMap(({ caps, counter, child }) => {
      if (counter === undefined) return [];
      return lanesOf(caps, wanted).map(({ lane, cap }) => {
        const { key, of: account } = world.account(caps.rule, lane, child, cap);
        account.refusedSinceMs = undefined;
        const stock = counter.shared?.known(lane);
        if (stock !== undefined) account.stocks.set(stock, proxy.fleet);
        if (lane === 'slots') {
          account.open += 1;
          account.mostOpen = Math.max(account.mostOpen, account.open);
        }
        const excess = lane === 'tokens' ? Math.max(0, tokens - lease.reservedOn(counter)) : 0;
        account.excess += excess;
        account.mostExcess = Math.max(account.mostExcess, account.excess);
        const use = lane === 'requests' ? account.use(nowMs, world.storeMs, 1) : undefined;
        return { account, key, use, excess };
      });
    });
  }

  #end(proxy: SimulatedProxy, matches: Matches, open: Open, { isRefunded, tokens }: Request): void {
    const { world } = this;
    if (this.#open.get(proxy)?.has(open) !== true) return;
    if (proxy.isPaused) {
      world.timeline.at(proxy.pausedUntilMs + 0.04, () =>
        this.#end(proxy, matches, open, { isRefunded, tokens } as Request),
      );
      return;
    }
    this.#open.get(proxy)?.delete(open);
    if (isRefunded) open.lease.refund(proxy.ownMs());
    else {
      proxy.limiter.charge(matches, tokens, proxy.ownMs(), open.lease);
      open.lease.release();
    }
    this.#close(open);
    for (const { account, use, excess } of open.held) {
      if (isRefunded && use !== undefined) account.refund(use);
      // The store hears of it with the next exchange.
      world.timeline.in(1_000, () => {
        account.excess -= excess;
      });
    }
    if (!isRefunded && tokens > 0) this.#bookTokens(proxy, matches.matched(), tokens);
    for (const { key } of open.held) world.judge(key);
  }

  /** Tokens count under the rules in force when they are known. */
  #bookTokens(proxy: SimulatedProxy, matched: MatchedCounters, tokens: number): void {
    const { world } = this;
    for (const match of matched) {
      const stock = liveCounter(match)?.shared?.known('tokens');
      if (stock === undefined || match.caps.tokensCap === Number.POSITIVE_INFINITY) continue;
      const { of: account } = world.account(match.caps.rule, 'tokens', match.child, match.caps.tokensCap);
      account.stocks.set(stock, proxy.fleet);
      account.use(world.timeline.nowMs, world.storeMs, tokens);
    }
  }

  #close({ held, isOrphaned }: Open): void {
    if (!isOrphaned) for (const { account } of held) if (account.lane === 'slots') account.open -= 1;
  }

  /** All that a proxy had open ends with it. */
  killed(proxy: SimulatedProxy): void {
    for (const open of this.#open.get(proxy) ?? []) {
      this.#close(open);
      for (const { account, excess } of open.held) account.excess -= excess;
    }
    this.#open.delete(proxy);
    for (const account of this.world.accounts.values()) account.die(proxy.fleet);
  }

  /** Slots of proxies that were silent for long may be given to others. */
  orphan(): void {
    for (const [proxy, all] of this.#open) {
      if (this.world.timeline.nowMs - proxy.heardAtMs < silentMs) continue;
      for (const open of all) {
        this.#close(open);
        open.isOrphaned = true;
      }
    }
  }

  get open(): number {
    let sum = 0;
    for (const all of this.#open.values()) sum += all.size;
    return sum;
  }

  #refused({ rejection }: Extract<Admission, { lease?: undefined }>, isTimedOut: boolean): void {
    const { world } = this;
    const { nowMs } = world.timeline;
    this.refused += 1;
    if (rejection.exhausted.some(({ isStoreLost }) => isStoreLost)) {
      this.lost += 1;
      return;
    }
    if (this.judges === 'nothing') return;
    let isWrong = true;
    let seconds = 0;
    for (const { rule, subject, dimension, cap } of rejection.exhausted) {
      if (dimension !== 'requests') return;
      const { of: account } = world.account(rule, 'requests', rule.perChild ? subject : '', cap);
      // Behind a step of the store's clock a proxy books uses up to half a second later, until it hears the time.
      const late = this.judges === 'patience' ? Math.ceil(120 / rule.periodSeconds) : 0;
      const room = cap - account.used(world.storeMs, late) - (late > 0 ? 2 + 0.05 * cap : 0);
      // A use near the end of a slice may be booked in the next one.
      const sure = cap - account.used(world.storeMs, 1);
      this.worstRoom = Math.max(this.worstRoom, (sure - 1) / cap);
      seconds = Math.max(seconds, account.freeInSeconds(1, world.storeMs));
      if (room <= 0) {
        isWrong = false;
        account.refusedSinceMs = undefined;
        continue;
      }
      if (account.refusedSinceMs === undefined || nowMs - account.refusedAtMs > patienceMs / 2)
        account.refusedSinceMs = nowMs;
      account.refusedAtMs = nowMs;
      if (nowMs - account.refusedSinceMs > patienceMs)
        world.fault('refused with room', `${room} of ${cap} were free for a second: ${rule.key}`);
    }
    if (isWrong) this.wrong += 1;
    else if (!isTimedOut) {
      this.timed += 1;
      if (rejection.retryAfterSeconds === seconds) this.exactSeconds += 1;
    }
  }
}
