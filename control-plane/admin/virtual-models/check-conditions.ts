// Checks the conditions of an alias that an operator writes.
import { readCondition } from '../../../domain/conditions/condition.ts';
import type { Alias } from '../../../schemas/types.ts';
import { loadExpressionParser } from '../../../schemas/validation/parse-expression.ts';
import { invalid } from '../../managed/read-body.ts';

/** Rejects with 400 naming the member, and the place in the condition. */
export async function checkConditions({ when, targets }: Pick<Alias, 'when' | 'targets'>): Promise<void> {
  const places = [{ member: 'when', text: when }];
  for (const [index, target] of targets.entries()) places.push({ member: `targets[${index}].when`, text: target.when });
  if (places.some(({ text }) => text !== undefined)) await loadExpressionParser();
  for (const { member, text } of places) {
    if (text === undefined) continue;
    const { problem, foreseen } = { foreseen: undefined, ...readCondition(text) };
    if (problem !== undefined) throw invalid(member, problem);
    if (foreseen === 'never') throw invalid(member, 'is false for every request; leave it out');
  }
}
