// The parts of a route that its conditions leave, each made when it is first asked for.
import type { Flattened } from '../../domain/aliases/flatten.ts';
import { conditionOf } from '../../domain/conditions/condition.ts';
import type { ConditionalTargets, Route } from './snapshot.ts';

/** Whether targets with this condition count. */
export type IsOn = (when: string) => boolean;

/** Of one route; conditions rarely differ in more ways. Beyond, all are made again. */
const mostParts = 64;

/** `partWhere`: the route with only the targets whose conditions are on. Undefined: no target has a condition. */
export function conditionalTargets(
  { leaves }: Flattened,
  partWhere: (isOn: IsOn) => Route | undefined,
): ConditionalTargets | undefined {
  const texts = [...new Set(leaves.flatMap(({ when }) => when))];
  if (texts.length === 0) return undefined;
  const parts = new Map<string, Route | undefined>();
  return Object.freeze({
    conditions: texts.map(conditionOf),
    ofTargets: leaves.map(({ when }) => when.map(conditionOf)),
    without(refused: readonly number[]) {
      const key = refused.join();
      if (parts.has(key)) return parts.get(key);
      if (parts.size >= mostParts) parts.clear();
      const off = new Set(refused.map((place) => texts[place]));
      const part = partWhere((when) => !off.has(when));
      parts.set(key, part);
      return part;
    },
  });
}
