// The strategies that compare figures of the moment, and take turns where these are equal: the fewest open requests, the most room left.
import type { Route } from '../../snapshot/snapshot.ts';
import type { Ballot } from './ballot.ts';
import { takeTurn } from './round-robin.ts';
import type { Turn } from './turns.ts';

/** The fewest open requests for its weight first; those with as few take turns by weight. */
export function rankByOpen({ weights, targets }: Route, turn: Turn, ballot: Ballot): void {
  for (let index = 0; index < targets.length; index += 1)
    if (ballot.isUsable(index)) ballot.keys[index] = (ballot.states[index]?.open ?? 0) / (weights[index] ?? 1);
  takeTurnAmongLeast(weights, turn, ballot);
}

/**
 * The largest share of its provider's own limits left first, by the tightest of them; a target of which none is known has all of them left. Those
 * with as much take turns by weight.
 */
export function rankByQuota({ weights, targets }: Route, turn: Turn, ballot: Ballot, nowMs: number): void {
  for (let index = 0; index < targets.length; index += 1)
    if (ballot.isUsable(index)) ballot.keys[index] = ballot.states[index]?.quota.pressure(nowMs) ?? 0;
  takeTurnAmongLeast(weights, turn, ballot);
}

function takeTurnAmongLeast(weights: readonly number[], { credits }: Turn, ballot: Ballot): void {
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < weights.length; index += 1)
    if (ballot.isForemost(index)) least = Math.min(least, ballot.keys[index] ?? 0);
  takeTurn(weights, credits, ballot, least);
}
