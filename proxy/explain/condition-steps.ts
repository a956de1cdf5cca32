// The conditions on the way to a target, and what they are for a request.
import type { Target } from '../snapshot/snapshot.ts';
import type { TargetStep } from './explanation.ts';
import { type Question, sees } from './question.ts';
import type { Resolved } from './resolution.ts';

/** Nothing for operators of a part of the gateway, and for a target without conditions. */
export function conditionsOf(
  target: Target,
  { route, facts }: Resolved,
  question: Question,
): Pick<TargetStep, 'conditions'> {
  const conditions = route?.conditional?.ofTargets[route.targets.indexOf(target)] ?? [];
  if (conditions.length === 0 || !sees(question, undefined)) return {};
  return {
    conditions: conditions.map(({ text, holds }) => {
      const held = holds(facts);
      return { when: text, ...(held === undefined ? {} : { holds: held }) };
    }),
  };
}
