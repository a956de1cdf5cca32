// The known endpoints of a model's name.
import type { Target } from '../snapshot/snapshot.ts';
import { namingEndpoints } from './naming-endpoints.ts';

/** `schemas/model-api/model.schema.json`. */
export interface Capabilities {
  /** Where a request that names the model is served. */
  readonly endpoints: readonly string[];
}

const endpoints = [...namingEndpoints.values()];
/** By target: a bit for each endpoint. A target stays the same object until another configuration is in force. */
const masks = new WeakMap<Target, number>();
/** By mask: most models have those of another. */
const known = new Map<number, Capabilities>();

/**
 * Those of a name that leads to these targets: what at least one of them can be asked, because requests go to those that can. An endpoint
 * of which it is not known whether the server has it is none of them.
 */
export function capabilitiesOf(targets: readonly Target[]): Capabilities {
  let mask = 0;
  for (const target of targets) mask |= maskOf(target);
  let found = known.get(mask);
  if (found === undefined) {
    const paths = endpoints.filter((_, bit) => (mask & (1 << bit)) !== 0).map(({ path }) => path);
    found = Object.freeze({ endpoints: Object.freeze(paths) });
    known.set(mask, found);
  }
  return found;
}

function maskOf(target: Target): number {
  let mask = masks.get(target);
  if (mask === undefined) {
    mask = 0;
    for (const [bit, { mannerOf, answersAlone }] of endpoints.entries()) {
      const manner = mannerOf(target);
      if (answersAlone || (manner !== undefined && manner.isAssumed !== true)) mask |= 1 << bit;
    }
    masks.set(target, mask);
  }
  return mask;
}
