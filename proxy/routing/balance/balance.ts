// The order in which the targets of a route are asked.
import type { Route, Target } from '../../snapshot/snapshot.ts';
import type { TargetStates } from '../../targets/target-states.ts';
import { Ballot } from './ballot.ts';
import { rankByCost } from './cost.ts';
import { rankByOpen, rankByQuota } from './least-first.ts';
import { rankByLatency } from './least-latency.ts';
import { takeTurn } from './round-robin.ts';
import { rankByThread } from './session-affinity.ts';
import { Turns } from './turns.ts';

/** The facts besides the route on which an order depends. */
export interface BalanceContext {
  /** Unix milliseconds. */
  readonly nowMs: number;
  /** Names the conversation a request belongs to; undefined: unknown. Read once, and only where the strategy goes by it. */
  readonly thread: string | undefined;
}

/**
 * Gives all targets of a route in the order in which they are to be asked. The strategy chooses among the usable ones with a share; those
 * without one follow, and then those of the next tier in the same way. Behind them, as a last resort, stand those that rest or have used up what their provider grants, the soonest usable
 * first, those whose breaker is open, and those that an operator has taken out, which are not asked. A target whose breaker is half-open comes first: the request is its probe.
 */
export type Balance = (route: Route, context: BalanceContext) => readonly Target[];

/** `turns`: what is remembered of routes; with copies of it, the order is the one of the next request, which still has its turn. */
export function createBalance(
  states: Pick<TargetStates, 'of' | 'drainOf'>,
  turns: Pick<Turns, 'of'> = new Turns(),
): Balance {
  const ballot = new Ballot();
  return (route, context) => {
    const { targets, strategy } = route;
    if (targets.length === 1) return targets;
    const isCalm = ballot.open(route, states, context.nowMs);
    if (strategy === 'failover') return isCalm ? targets : ballot.ordered(targets);
    if (strategy === 'cost') rankByCost(targets, ballot);
    else if (strategy === 'least_latency') rankByLatency(targets.length, turns.of(route), ballot);
    else if (strategy === 'least_busy') rankByOpen(route, turns.of(route), ballot);
    else if (strategy === 'quota') rankByQuota(route, turns.of(route), ballot, context.nowMs);
    else {
      const thread = strategy === 'session_affinity' ? context.thread : undefined;
      if (thread === undefined) takeTurn(route.weights, turns.of(route).credits, ballot);
      else rankByThread(route, thread, ballot);
    }
    return ballot.ordered(targets);
  };
}
