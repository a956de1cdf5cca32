// Guardrails for tests, as the loader and the compiler make them of YAML.
import { stringify } from 'yaml';
import { compileGuardrails } from '../../../proxy/guardrails/compile-guardrails.ts';
import type { Guardrail } from '../../../proxy/guardrails/guardrail.ts';
import { mergeGuardrails } from '../../../schemas/guardrails/merge-guardrails.ts';
import { one } from '../../gitops/load-fixtures.ts';

/** Compiles guardrails; those without a name are called `g1`, `g2` and so on. */
export function railsOf(guardrails: readonly object[]): readonly Guardrail[] {
  const named = guardrails.map((written, index) => ({ name: `g${index + 1}`, ...written }));
  const { config, problems } = one(stringify({ guardrails: named }));
  if (config === undefined) throw new Error(JSON.stringify(problems));
  return compileGuardrails(mergeGuardrails(config.guardrails, []), new Map());
}
