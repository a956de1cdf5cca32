// The order of targets while it is being found: a place for each target, in arrays that all requests share.
import type { Route, Target } from '../../snapshot/snapshot.ts';
import type { TargetState } from '../../targets/target-state.ts';
import type { TargetStates } from '../../targets/target-states.ts';

/**
 * Who comes before whom, whatever the strategy: a probe, the usable, those of them without a share, those that will be usable, those that fail,
 * those that an operator has taken out. Each tier has two ranks of its own, for its usable targets and for those of them without a share.
 */
const probe = 0;
const usable = 1;
const spare = 2;
const ranksOfTier = 2;
/** No target has it. */
const none = -1;
/** Behind all tiers: an alias has fewer targets than there are ranks. */
const waiting = 65_533;
const broken = 65_534;
const drained = 65_535;

/** Room at first; no alias of practice has more targets. */
const usualTargets = 16;

/** Finding an order is synchronous, so one ballot serves every request. Its numbers stand in typed arrays, where none is an object. */
export class Ballot {
  readonly states: TargetState[] = [];
  /** The score of each usable target: the least comes first, the first declared among equals. */
  keys = new Float64Array(usualTargets);
  /** A half-open breaker takes this request: it is not a turn of the others. */
  hasProbe = false;
  #ranks = new Uint16Array(usualTargets);
  /** The rank of the targets that the strategy chooses the first one from: the usable ones of the lowest tier that has any. */
  #foremost = none;
  #order = new Uint32Array(usualTargets);

  /** Looks at the targets of a request. True when all are usable, have a share, and none has a breaker that must be tried. */
  open(
    { targets, weights, tiers, strategy }: Route,
    states: Pick<TargetStates, 'of' | 'drainOf'>,
    nowMs: number,
  ): boolean {
    const hasShares = strategy !== 'failover';
    let isCalm = true;
    this.hasProbe = false;
    this.#foremost = none;
    if (targets.length > this.keys.length) this.#grow(targets.length);
    for (let index = 0; index < targets.length; index += 1) {
      const target = targets[index] as Target;
      const state = states.of(target);
      const found = states.drainOf(target) === undefined ? rankOf(state, nowMs) : drained;
      const rank = found === usable && hasShares && weights[index] === 0 ? spare : found;
      const placed = rank === usable || rank === spare ? rank + ranksOfTier * (tiers?.[index] ?? 0) : rank;
      this.states[index] = state;
      this.#ranks[index] = placed;
      if (rank === usable && (this.#foremost === none || placed < this.#foremost)) this.#foremost = placed;
      this.keys[index] = rank === waiting ? state.usableAtMs(nowMs) : 0;
      if (rank === probe) this.hasProbe = true;
      if (rank !== usable) isCalm = false;
    }
    return isCalm;
  }

  /** Whether the strategy decides about this target. */
  isUsable(index: number): boolean {
    const rank = this.#ranks[index] ?? drained;
    return rank < waiting && rank % ranksOfTier === usable;
  }

  /** Whether this target may be the first one: it is usable, and none of a lower tier is. */
  isForemost(index: number): boolean {
    return this.#ranks[index] === this.#foremost;
  }

  /** All targets in their order; the declared list itself when that is the order. */
  ordered(targets: readonly Target[]): readonly Target[] {
    const order = this.#order;
    let isDeclared = true;
    for (let index = 0; index < targets.length; index += 1) {
      let place = index;
      for (; place > 0 && this.#isBefore(index, order[place - 1] ?? 0); place -= 1)
        order[place] = order[place - 1] ?? 0;
      order[place] = index;
      if (place !== index) isDeclared = false;
    }
    if (isDeclared) return targets;
    const found: Target[] = [];
    for (let place = 0; place < targets.length; place += 1) found.push(targets[order[place] ?? 0] as Target);
    return found;
  }

  #grow(count: number): void {
    this.keys = new Float64Array(count);
    this.#ranks = new Uint16Array(count);
    this.#order = new Uint32Array(count);
  }

  #isBefore(one: number, other: number): boolean {
    const rank = this.#ranks[one] ?? 0;
    const otherRank = this.#ranks[other] ?? 0;
    return rank === otherRank ? (this.keys[one] ?? 0) < (this.keys[other] ?? 0) : rank < otherRank;
  }
}

function rankOf(state: TargetState, nowMs: number): number {
  if (!state.breaker.admits(nowMs)) return broken;
  if (!state.isUsable(nowMs)) return waiting;
  return state.breaker.isClosed ? usable : probe;
}
