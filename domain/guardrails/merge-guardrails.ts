// The guardrails of the configuration and of operators together, in the order in which they look at a request. Pure.
import type { Guardrail } from '../../schemas/types.ts';
import { type MergedEntry, mergeEntries } from '../documents/manual-entry.ts';
import type { ManualGuardrail } from './manual-guardrail.ts';

export type MergedGuardrail = MergedEntry<Guardrail>;

/** By their numbers; of equal ones in the order of `mergeEntries`. */
export function mergeGuardrails(
  config: readonly Guardrail[],
  manual: readonly ManualGuardrail[],
): readonly MergedGuardrail[] {
  return mergeEntries(config, manual, ({ name }) => name).sort((one, other) => one.value.order - other.value.order);
}

export const guardrailKinds = [
  'system_prompt',
  'regex',
  'keywords',
  'pii',
  'schema',
  'limits',
  'webhook',
  'llm',
] as const;
export type GuardrailKind = (typeof guardrailKinds)[number];

/** The block that says what it does. Throws for a guardrail without one. */
export function kindOf(guardrail: Guardrail): GuardrailKind {
  const kind = guardrailKinds.find((name) => guardrail[name] !== undefined);
  if (kind === undefined) throw new Error(`the guardrail ${guardrail.name} has no kind`);
  return kind;
}
