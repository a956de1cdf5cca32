// The guardrails that would look at a request and at its answer, in their order.
import { guardrailsFor } from '../guardrails/applying.ts';
import type { Guardrail } from '../guardrails/guardrail.ts';
import type { Route } from '../snapshot/snapshot.ts';
import type { GuardrailStep } from './explanation.ts';
import { type ExplainSources, type Question, sees } from './question.ts';

/** None where the name leads nowhere. At every endpoint requests are looked at, or refused where a guardrail is enforced. */
export function guardrailSteps(
  question: Question,
  userPath: string,
  route: Route | undefined,
  { snapshot }: Pick<ExplainSources, 'snapshot'>,
): GuardrailStep[] {
  if (route === undefined) return [];
  return guardrailsFor(snapshot.guardrails, userPath, question.model, route).map((guardrail) =>
    stepOf(guardrail, question),
  );
}

function stepOf(
  { name, kind, mode, order, input, output, source, updatedBy, userPaths }: Guardrail,
  question: Question,
): GuardrailStep {
  const isSeen = sees(question, undefined) || userPaths?.every((path) => sees(question, path)) === true;
  return {
    name,
    kind,
    mode,
    order,
    on: [...(input === undefined ? [] : (['input'] as const)), ...(output === undefined ? [] : (['output'] as const))],
    ...(isSeen && source !== undefined ? { source: 'config', declared_at: source } : {}),
    ...(isSeen && updatedBy !== undefined ? { source: 'manual', updated_by: updatedBy } : {}),
  };
}
