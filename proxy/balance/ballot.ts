// The order of targets while it is being found: a place for each target, in arrays that all requests share.
import type { Route, Target } from '../snapshot/snapshot.ts';
import type { TargetState } from '../targets/target-state.ts';
import type { TargetStates } from '../targets/target-states.ts';

/** Who comes before whom, whatever the strategy: a probe, the usable, those of them without a share, those that will be usable, those that fail. */
const probe = 0;
const usable = 1;
const spare = 2;
const waiting = 3;
const broken = 4;

/** Finding an order is synchronous, so one ballot serves every request. */
export class Ballot {
  readonly states: TargetState[] = [];
  /** What a strategy gives its usable targets: the least comes first, the first declared among equals. */
  readonly keys: number[] = [];
  /** A half-open breaker takes this request: it is not a turn of the others. */
  hasProbe = false;
  readonly #ranks: number[] = [];
  readonly #order: number[] = [];

  /** Looks at the targets of a request. True when all are usable, have a share, and none has a breaker that must be tried. */
  open({ targets, weights, strategy }: Route, states: Pick<TargetStates, 'of'>, nowMs: number): boolean {
    const hasShares = strategy !== 'failover';
    let isCalm = true;
    this.hasProbe = false;
    for (let index = 0; index < targets.length; index += 1) {
      const state = states.of(targets[index] as Target);
      const found = rankOf(state, nowMs);
      const rank = found === usable && hasShares && weights[index] === 0 ? spare : found;
      this.states[index] = state;
      this.#ranks[index] = rank;
      this.keys[index] = rank === waiting ? state.usableAtMs(nowMs) : 0;
      if (rank === probe) this.hasProbe = true;
      if (rank !== usable) isCalm = false;
    }
    return isCalm;
  }

  /** Whether the strategy decides about this target. */
  isUsable(index: number): boolean {
    return this.#ranks[index] === usable;
  }

  /** All targets in their order; the same list when that is the declared one. */
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

  #isBefore(one: number, other: number): boolean {
    const [rank = 0, otherRank = 0] = [this.#ranks[one], this.#ranks[other]];
    return rank === otherRank ? (this.keys[one] ?? 0) < (this.keys[other] ?? 0) : rank < otherRank;
  }
}

function rankOf(state: TargetState, nowMs: number): number {
  const { breaker } = state;
  if (!breaker.admits(nowMs)) return broken;
  if (!state.isUsable(nowMs)) return waiting;
  return breaker.state(nowMs) === 'closed' ? usable : probe;
}
