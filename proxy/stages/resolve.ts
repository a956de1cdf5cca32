// Stage 2: a model name becomes an ordered list of places to try (spec: What the service does 2 and 4).
import { refusal } from '../errors.ts';
import type { Route, Snapshot, Target } from '../snapshot/snapshot.ts';

/** Chooses the order in which the targets of a route are tried. */
export type Balance = (route: Route) => readonly Target[];

/** Where a model name leads. Throws 404 `model_not_found`. */
export function resolve(model: string, snapshot: Snapshot): Route {
  const route = snapshot.routes.get(model);
  if (route === undefined) throw refusal('model_not_found', { param: 'model', fill: { model } });
  return route;
}

const maxRemembered = 10_000;

/**
 * Smooth weighted round robin: over any run of requests each target comes first in proportion to its weight, evenly spread.
 * The others follow in declared order, for failing over. A reload that leaves an alias as it is leaves its turn as it is.
 */
export function createBalance(): Balance {
  const credits = new Map<string, number[]>();
  return (route) => {
    const { targets } = route;
    if (targets.length === 1) return targets;
    let credit = credits.get(route.name);
    if (credit === undefined) {
      // Aliases of old configs pile up here; forgetting a turn does no harm.
      if (credits.size >= maxRemembered) credits.clear();
      credit = targets.map(() => 0);
      credits.set(route.name, credit);
    }
    const chosen = spend(targets, credit);
    return [targets[chosen] as Target, ...targets.filter((_, index) => index !== chosen)];
  };
}

/** Each target earns its weight; the richest is chosen and pays what all earned. */
function spend(targets: readonly Target[], credit: number[]): number {
  let total = 0;
  let richest = 0;
  for (const [index, { weight }] of targets.entries()) {
    total += weight;
    credit[index] = (credit[index] ?? 0) + weight;
    if ((credit[index] ?? 0) > (credit[richest] ?? 0)) richest = index;
  }
  credit[richest] = (credit[richest] ?? 0) - total;
  return richest;
}
