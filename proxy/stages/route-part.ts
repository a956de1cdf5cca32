// The part of a route that a caller may use, made once for all callers with the same part.
import type { Route, Target } from '../snapshot/snapshot.ts';

/** Routes with more targets than a mask has bits get their parts made anew for each request. */
const mostMasked = 30;
/** Of one route; keys rarely differ in more ways. Beyond, all are made again. */
const mostParts = 64;

/** By the targets that are in it, a bit for each. */
const partsOf = new WeakMap<Route, Map<number, Route>>();

/** The route with only the targets that are wanted; undefined when that is none. */
export function partOf(route: Route, isWanted: (target: Target) => boolean): Route | undefined {
  const { targets } = route;
  if (targets.length > mostMasked) {
    const indices = [...targets.keys()].filter((index) => isWanted(targets[index] as Target));
    if (indices.length === 0) return undefined;
    return indices.length === targets.length ? route : makePart(route, indices);
  }
  let mask = 0;
  for (let index = 0; index < targets.length; index += 1) if (isWanted(targets[index] as Target)) mask |= 1 << index;
  if (mask === 0) return undefined;
  return mask === 2 ** targets.length - 1 ? route : maskedPart(route, mask);
}

function maskedPart(route: Route, mask: number): Route {
  let parts = partsOf.get(route);
  if (parts === undefined) {
    parts = new Map();
    partsOf.set(route, parts);
  }
  let part = parts.get(mask);
  if (part === undefined) {
    if (parts.size >= mostParts) parts.clear();
    const indices = [...route.targets.keys()].filter((index) => (mask & (1 << index)) !== 0);
    part = makePart(route, indices);
    parts.set(mask, part);
  }
  return part;
}

function makePart(route: Route, indices: readonly number[]): Route {
  // Balancing goes by the name: callers with the same part of an alias share its turns, across reloads.
  const name = `${route.name}\nonly ${indices.join(' ')}`;
  const targets = indices.map((index) => route.targets[index] as Target);
  const weights = indices.map((index) => route.weights[index] ?? 1);
  const tiers = route.tiers && indices.map((index) => route.tiers?.[index] ?? 0);
  return { ...route, name, targets, weights, tiers };
}
