// The guardrails of the configuration and of operators together, in the order in which they look at a request. Pure.
import type { Guardrail } from '../../schemas/types.ts';
import type { ManualGuardrail } from './manual-guardrail.ts';

export interface MergedGuardrail {
  readonly guardrail: Guardrail;
  /** Undefined: the configuration declares it. */
  readonly manual?: ManualGuardrail;
  /** It stands in the place of one of the configuration. */
  readonly overridesConfig: boolean;
}

/**
 * By their numbers; of equal ones those of the configuration first, as written, then those of operators by name. One of an operator replaces
 * one of the configuration with the same name.
 */
export function mergeGuardrails(
  config: readonly Guardrail[],
  manual: readonly ManualGuardrail[],
): readonly MergedGuardrail[] {
  const declared = new Set(config.map(({ name }) => name));
  const replaced = new Set(manual.map(({ name }) => name));
  const merged = [
    ...config
      .filter(({ name }) => !replaced.has(name))
      .map((guardrail): MergedGuardrail => ({ guardrail, overridesConfig: false })),
    ...manual
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .map((each): MergedGuardrail => {
        return { guardrail: each.guardrail, manual: each, overridesConfig: declared.has(each.name) };
      }),
  ];
  return merged.sort((one, other) => one.guardrail.order - other.guardrail.order);
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
