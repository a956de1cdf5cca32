// Which target of a route is tried first: the state that balancing needs between requests.
import type { Route, Target } from './snapshot/snapshot.ts';

/** Chooses the order in which the targets of a route are tried. */
export type Balance = (route: Route) => readonly Target[];

const maxRemembered = 10_000;

/**
 * Smooth weighted round robin: over any run of requests each target comes first in proportion to its weight, evenly spread.
 * The others follow in declared order, for failing over. A reload that leaves an alias as it is leaves its turn as it is.
 */
export function createBalance(): Balance {
  const credits = new Map<string, number[]>();
  return (route) => {
    const { targets, weights, strategy } = route;
    if (targets.length === 1 || strategy === 'failover') return targets;
    let credit = credits.get(route.name);
    if (credit === undefined) {
      // Aliases of old configs pile up here; forgetting a turn does no harm.
      if (credits.size >= maxRemembered) credits.clear();
      credit = targets.map(() => 0);
      credits.set(route.name, credit);
    }
    const chosen = spend(weights, credit);
    return [targets[chosen] as Target, ...targets.filter((_, index) => index !== chosen)];
  };
}

/** Each target earns its weight; the richest is chosen and pays what all earned. */
function spend(weights: readonly number[], credit: number[]): number {
  let total = 0;
  let richest = 0;
  for (const [index, weight] of weights.entries()) {
    total += weight;
    credit[index] = (credit[index] ?? 0) + weight;
    if ((credit[index] ?? 0) > (credit[richest] ?? 0)) richest = index;
  }
  credit[richest] = (credit[richest] ?? 0) - total;
  return richest;
}
