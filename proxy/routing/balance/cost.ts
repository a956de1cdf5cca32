// The cheapest target comes first.
import type { Target } from '../../snapshot/snapshot.ts';
import type { Ballot } from './ballot.ts';

/** Prompts are longer than answers: prices are compared for three tokens of input and one of output, the usual blend. */
const inputShare = 3;

/** The cheapest first, by the rates of usual requests; those without a price follow, and equals stay in declared order. */
export function rankByCost(targets: readonly Target[], ballot: Ballot): void {
  for (let index = 0; index < targets.length; index += 1) {
    if (!ballot.isUsable(index)) continue;
    // A model that writes no tokens has no price for them.
    const { input, output = 0 } = targets[index]?.price?.tokens ?? {};
    ballot.keys[index] = input === undefined ? Number.POSITIVE_INFINITY : inputShare * input + output;
  }
}
