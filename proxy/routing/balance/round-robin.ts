// Smooth weighted round robin.
import type { Ballot } from './ballot.ts';

/**
 * Turns between the targets that may be the first one and whose key is `least`, the least of all; at first all keys are 0. Over any run of requests each target comes first in proportion to its weight, evenly spread; the others follow in declared order.
 * Each of them earns its weight; the richest is chosen and pays what all earned. What another one has stays as it is, so
 * it owes nothing and has saved nothing when it comes back.
 */
export function takeTurn(weights: readonly number[], credits: number[], ballot: Ballot, least = 0): void {
  if (ballot.hasProbe) return;
  let total = 0;
  let richest = -1;
  for (let index = 0; index < weights.length; index += 1) {
    if (!ballot.isForemost(index) || ballot.keys[index] !== least) continue;
    const weight = weights[index] ?? 0;
    total += weight;
    credits[index] = (credits[index] ?? 0) + weight;
    if (richest === -1 || (credits[index] ?? 0) > (credits[richest] ?? 0)) richest = index;
  }
  if (richest === -1) return;
  credits[richest] = (credits[richest] ?? 0) - total;
  ballot.keys[richest] = -1;
}
