// The guardrails that cannot work as things stand: the model that they ask is unknown, they cannot be compiled, or a
// secret of theirs was never read.
import type { Snapshot } from './snapshot.ts';

/** Their names, in order. A guardrail that is enforced, and not open, refuses all that it is for. */
export function unusableGuardrails({ guardrails, routes }: Pick<Snapshot, 'guardrails' | 'routes'>): string[] {
  const isUnknown = (model: string): boolean => (routes.get(model) ?? routes.inAnyCase(model)) === undefined;
  return guardrails
    .filter(({ isCompiled, asks }) => !isCompiled || (asks !== undefined && isUnknown(asks)))
    .map(({ name }) => name);
}
