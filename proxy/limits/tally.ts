// The counters of one rule. Rules are data and are replaced; their tallies stay.
import type { LimitLane } from '../../domain/limits/exchange.ts';
import type { OnStoreLoss } from '../../domain/rules/on-store-loss.ts';
import type { Rule } from '../../domain/rules/rule.ts';
import { type DecisionCount, Decisions, dimensions, refusalsOf } from './decisions.ts';
import type { LimiterOptions } from './enforcement.ts';
import type { Fleet } from './fleet/fleet.ts';
import { FleetCounter } from './fleet/fleet-counter.ts';
import { SliceClock, Window } from './window.ts';

/**
 * The estimated heap of a counter in bytes: of a window with requests and tokens in its ring, of slots, of each
 * character of a child's name. Measured: 1,250, 250, and 1 or 2.
 */
const windowBytes = 1_300;
const slotsBytes = 300;
const characterBytes = 2;

/** The state that all tallies of a limiter share. */
export interface Unsaved {
  /** Counters that differ from what was exported last. */
  readonly changed: Set<Counter>;
  /** Keys of rules whose counters were dropped since the last `exportRemoved`. */
  readonly removed: Set<string>;
  /** Whether the tokens that requests set aside are the most that they can take, not what they will probably take. */
  areBounds: boolean;
  /** What this proxy holds of limits that a fleet shares; undefined: it counts alone. */
  fleet: Fleet | undefined;
  /** The rules count over the fleet, not for each proxy. */
  isShared: boolean;
  /** What holds while the store is lost, where a rule does not say it. */
  onStoreLoss: OnStoreLoss;
  /** The most children of one template that may have counters of their own. */
  maxChildren: number;
  /** The estimated heap of all counters in bytes, and its bound. Beyond the bound, new children share a counter. */
  bytes: number;
  readonly mostBytes: number;
  /** One clock per period. */
  clock(periodSeconds: number): SliceClock;
  /** Whether `exportChanged` is called periodically. */
  readonly isExported: boolean;
  /** False: token caps are shown but neither counted nor checked (spec, Errors: usage tracking off). */
  readonly tokensEnforced: boolean;
}

/** The state of tallies without any limit on their number. `mostBytes`: the most heap that their counters may take. */
export function newUnsaved({
  tokensEnforced = true,
  isExported = true,
  mostBytes = Number.POSITIVE_INFINITY,
}: LimiterOptions): Unsaved {
  const clocks = new Map<number, SliceClock>();
  return {
    changed: new Set(),
    removed: new Set(),
    tokensEnforced,
    isExported,
    areBounds: false,
    fleet: undefined,
    isShared: false,
    onStoreLoss: 'share',
    maxChildren: Number.POSITIVE_INFINITY,
    bytes: 0,
    mostBytes,
    clock(periodSeconds) {
      const clock = clocks.get(periodSeconds) ?? new SliceClock(periodSeconds);
      clocks.set(periodSeconds, clock);
      return clock;
    },
  };
}

/** The caps of a rule, each Infinity where the rule has none. */
export interface Caps {
  readonly tally: Tally;
  readonly rule: Rule;
  readonly requestsCap: number;
  readonly tokensCap: number;
  readonly slotsCap: number;
  /** `requestsCap` and `tokensCap` as header values. */
  readonly requestsText: string;
  readonly tokensText: string;
  /** Some cap is 0: nothing is admitted, even without a counter. */
  readonly isBlock: boolean;
  readonly shadow: boolean;
  /** Which request may go with less room for tokens than it wants, while no other one is open: any; one larger than the cap; none. */
  readonly alone: 'any' | 'larger' | 'none';
  /** They are counted over the fleet. */
  readonly isShared: boolean;
  readonly onStoreLoss: OnStoreLoss;
}

/** The window or the slots of a whole subject, or of one child of a template. */
export class Counter {
  readonly tally: Tally;
  /** Full path of the child; empty for the counter of a whole subject, and for the one that children beyond the bound share. */
  readonly child: string;
  /** Undefined for a concurrency rule. */
  readonly window: Window | undefined;
  /**
   * Open requests under a concurrency rule; 0 for a window. A lease takes at most one slot and gives it back at most once, so it never
   * falls below 0. Never stored.
   */
  inFlight = 0;
  /** The tokens that open requests have set aside under a token cap, and the number of those requests: see set-aside.ts. Never stored. */
  reserved = 0;
  reservers = 0;
  /** Tokens that are used although this counter has not counted them: the cap is lower by so many. */
  uncounted = 0;
  /** What this proxy holds of it, while it is counted over the fleet. */
  #shared: FleetCounter | undefined;
  /** No longer the counter of its rule and child: a holder must find the live one. */
  retired = false;
  /** Whether the stored row was added, which may happen once. */
  isRestored = false;
  #changed = false;

  constructor(tally: Tally, child: string, clock: SliceClock | undefined) {
    this.tally = tally;
    this.child = child;
    this.window = clock && new Window(clock);
  }

  /** Undefined: this proxy counts alone. */
  get shared(): FleetCounter | undefined {
    const { caps, unsaved } = this.tally;
    if (!caps.isShared || unsaved.fleet === undefined) return undefined;
    if (this.#shared === undefined) {
      const { key, epoch, periodSeconds } = caps.rule;
      const open = (): number => (this.window === undefined ? this.inFlight : this.reserved);
      const cap = (lane: LimitLane): number => capOf(this.tally.caps, lane) - (lane === 'tokens' ? this.uncounted : 0);
      this.#shared = new FleetCounter(unsaved.fleet, { key, epoch, periodSeconds, child: this.child, open, cap });
    }
    return this.#shared;
  }

  /** The caps of its rule have changed. */
  followCaps(): void {
    this.#shared?.followCaps();
  }

  /** An open request holds units of it no more, whether it is counted over the fleet now or was before. */
  releaseShared(lane: LimitLane, units: number): void {
    this.#shared?.release(lane, units);
  }

  /** Marks the counter for the next export. */
  touch(): void {
    if (this.#changed) return;
    this.#changed = true;
    this.tally.unsaved.changed.add(this);
  }

  /** Marks the counter as exported. */
  collect(): void {
    this.#changed = false;
    this.tally.unsaved.changed.delete(this);
  }

  /** The estimated heap, in bytes. */
  get bytes(): number {
    return (this.window ? windowBytes : slotsBytes) + characterBytes * this.child.length;
  }

  /** Takes the counter out of service. A lease may still give back here what it holds, which changes no live counter. */
  retire(): void {
    this.tally.unsaved.bytes -= this.bytes;
    this.retired = true;
    this.window?.clear();
    this.#shared?.end();
    this.collect();
  }

  /**
   * Whether the counter may be evicted at `nowMs`: it has no use, no open request holds anything of it and, where changes are exported, it
   * has no unexported change, because a stored row would outlive it.
   */
  isIdle(nowMs: number): boolean {
    if (this.reservers > 0 || (this.#changed && this.tally.unsaved.isExported)) return false;
    if (this.#shared?.isIdle === false) return false;
    return this.window ? this.window.isEmpty(nowMs) : this.inFlight === 0;
  }
}

function areOther(now: Caps, former: Caps): boolean {
  return (
    now.requestsCap !== former.requestsCap || now.tokensCap !== former.tokensCap || now.slotsCap !== former.slotsCap
  );
}

function capOf({ requestsCap, tokensCap, slotsCap }: Caps, lane: LimitLane): number {
  return { requests: requestsCap, tokens: tokensCap, slots: slotsCap }[lane];
}

/** The counters of one rule key, and the decisions of the rule. */
export class Tally {
  readonly unsaved: Unsaved;
  caps: Caps;
  readonly decisions = new Decisions();
  /** The number of requests counted on the counter that children beyond the bound share. */
  overflowed = 0;
  readonly #counters = new Map<string, Counter>();
  /** Undefined for a concurrency rule. */
  readonly #clock: SliceClock | undefined;

  constructor(rule: Rule, unsaved: Unsaved) {
    this.unsaved = unsaved;
    this.#clock = rule.periodSeconds === 0 ? undefined : unsaved.clock(rule.periodSeconds);
    this.caps = this.#termsOf(rule);
    if (!rule.perChild) this.open('');
  }

  /**
   * Takes a new version of the same rule. Caps and mode keep the counters; another epoch empties the windows but not the slots of
   * open requests; a rule that became a template, or stopped being one, starts anew (spec, States and transitions).
   */
  revise(rule: Rule): void {
    const former = this.caps;
    const { epoch, perChild } = former.rule;
    this.caps = this.#termsOf(rule);
    if (areOther(this.caps, former)) for (const counter of this.#counters.values()) counter.followCaps();
    if (rule.perChild !== perChild || (rule.epoch !== epoch && this.#clock !== undefined)) this.drop();
    if (!rule.perChild) this.open('');
  }

  /**
   * The counter of exactly this child; the empty string means the whole subject. Undefined when nothing is counted
   * there.
   */
  own(child: string): Counter | undefined {
    return this.#counters.get(child);
  }

  /** The counter that applies to a child: its own, or the one that children beyond the bound share. */
  find(child: string): Counter | undefined {
    return this.#counters.get(child) ?? (this.#isFull() ? this.#counters.get('') : undefined);
  }

  /**
   * The counter that applies to a child, created when missing. A child beyond the bound gets its own as soon as there
   * is room.
   */
  open(child: string): Counter {
    return this.claim(child) ?? (this.claim('') as Counter);
  }

  /** The counter of exactly this child, created when missing; undefined when there is no room for it. */
  claim(child: string): Counter | undefined {
    const found = this.#counters.get(child);
    if (found !== undefined) return found;
    if (child !== '' && this.#isFull()) return undefined;
    // A slice of a longer path would keep the whole path in memory; joining copies.
    const counter = new Counter(this, child.split('').join(''), this.#clock);
    this.#counters.set(counter.child, counter);
    this.unsaved.bytes += counter.bytes;
    return counter;
  }

  /** Whether children share a counter now. */
  get isOverflowing(): boolean {
    return this.caps.rule.perChild && this.overflowed > 0 && this.#counters.has('');
  }

  #isFull(): boolean {
    const { maxChildren, bytes, mostBytes } = this.unsaved;
    const children = this.#counters.size - (this.#counters.has('') ? 1 : 0);
    return children >= maxChildren || bytes >= mostBytes;
  }

  /** The decisions so far. Refusals are listed from 0, so that a metric shows the first one as a change. */
  decided(): DecisionCount[] {
    const { rule, requestsCap, tokensCap, slotsCap } = this.caps;
    const caps = { requests: requestsCap, tokens: tokensCap, concurrent: slotsCap };
    const capped = dimensions.filter((dimension) => caps[dimension] !== Number.POSITIVE_INFINITY);
    return this.decisions.counts(rule, capped, refusalsOf(rule));
  }

  counters(): MapIterator<Counter> {
    return this.#counters.values();
  }

  evict(counter: Counter): void {
    counter.retire();
    this.#counters.delete(counter.child);
  }

  evictIdle(nowMs: number): void {
    for (const counter of this.#counters.values()) if (counter.isIdle(nowMs)) this.evict(counter);
  }

  /**
   * For a rule that was removed: drops every counter except the slots of open requests, which are given back when these
   * end.
   */
  part(): void {
    if (this.#clock === undefined) this.evictIdle(0);
    else this.drop();
  }

  /** Drops every counter, and marks the stored rows for deletion. */
  drop(): void {
    this.unsaved.removed.add(this.caps.rule.key);
    for (const counter of this.#counters.values()) counter.retire();
    this.#counters.clear();
  }

  get size(): number {
    return this.#counters.size;
  }

  #termsOf(rule: Rule): Caps {
    const isWindow = this.#clock !== undefined;
    const requestsCap = (isWindow ? rule.maxRequests : undefined) ?? Number.POSITIVE_INFINITY;
    const tokensCap =
      (isWindow && this.unsaved.tokensEnforced ? rule.maxTokens : undefined) ?? Number.POSITIVE_INFINITY;
    const slotsCap = (isWindow ? undefined : rule.maxRequests) ?? Number.POSITIVE_INFINITY;
    return {
      tally: this,
      rule,
      requestsCap,
      tokensCap,
      slotsCap,
      requestsText: String(requestsCap),
      tokensText: String(tokensCap),
      isBlock: Math.min(requestsCap, tokensCap, slotsCap) === 0,
      shadow: rule.mode === 'shadow',
      alone: this.unsaved.areBounds ? 'larger' : 'any',
      isShared: this.unsaved.isShared,
      onStoreLoss: rule.onStoreLoss ?? this.unsaved.onStoreLoss,
    };
  }
}
