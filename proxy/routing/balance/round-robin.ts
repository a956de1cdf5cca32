// Smooth weighted round robin.
import type { Ballot } from './ballot.ts';

/**
 * Over any run of requests each target comes first in proportion to its weight, evenly spread; the others follow in declared order.
 * Each usable target earns its weight; the richest is chosen and pays what all earned. What an unusable one has stays as it is, so
 * it owes nothing and has saved nothing when it comes back.
 */
export function takeTurn(weights: readonly number[], credits: number[], ballot: Ballot): void {
  if (ballot.hasProbe) return;
  let total = 0;
  let richest = -1;
  for (let index = 0; index < weights.length; index += 1) {
    if (!ballot.isUsable(index)) continue;
    const weight = weights[index] ?? 0;
    total += weight;
    credits[index] = (credits[index] ?? 0) + weight;
    if (richest === -1 || (credits[index] ?? 0) > (credits[richest] ?? 0)) richest = index;
  }
  if (richest === -1) return;
  credits[richest] = (credits[richest] ?? 0) - total;
  ballot.keys[richest] = -1;
}
