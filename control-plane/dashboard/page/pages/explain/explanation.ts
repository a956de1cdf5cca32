// The answer of /admin/explain, and where on the line a request would end.
import type { ExplanationAnswer } from '../../../../../schemas/types.ts';

export type Explanation = ExplanationAnswer;
export type ExplainedRule = Explanation['rules'][number];
export type ExplainedAlias = Explanation['resolution']['aliases'][number];
export type ExplainedTarget = Explanation['targets'][number];
export type ExplainedGuardrail = Explanation['guardrails'][number];
export type NearMiss = Explanation['near_misses'][number];
/** Where a thing comes from; absent members are for operators who may see that. */
export type Origin = Pick<ExplainedAlias, 'source' | 'declared_at' | 'updated_by'>;

/** The stages of the line, in their order. */
export const stages = ['consumer', 'budgets', 'rules', 'name', 'guardrails', 'targets'] as const;
export type Stage = (typeof stages)[number];

const stageOfCode: Readonly<Record<string, Stage>> = {
  invalid_api_key: 'consumer',
  user_path_denied: 'consumer',
  budget_exceeded: 'budgets',
  model_not_found: 'name',
  no_target_matches: 'name',
  model_access_denied: 'name',
};

/** Where the request would be refused; undefined: nowhere. */
export function endOf({ refusal, rules }: Explanation): Stage | undefined {
  if (refusal === undefined) return undefined;
  const known = stageOfCode[refusal.code];
  if (known !== undefined) return known;
  return rules.some((rule) => isNamed(rule, refusal.rule)) ? 'rules' : 'targets';
}

/** A refusal names a rule or a budget by its name, or by its id when it has none. */
export function isNamed({ id, name }: { readonly id: string; readonly name?: string }, label?: string): boolean {
  return label !== undefined && (name ?? id) === label;
}
