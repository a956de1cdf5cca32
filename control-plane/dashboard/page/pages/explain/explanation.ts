// The answer of /admin/explain, and where on the line a request would end.
import type { RuleFacts } from '../../parts/rule-use.ts';

export interface ExplainedRule extends RuleFacts {
  readonly retry_after_seconds?: number;
}

/** Absent members are for operators who may see where a thing comes from. */
export interface Origin {
  readonly source?: 'config' | 'manual';
  readonly declared_at?: string;
  readonly updated_by?: string;
}

export interface ExplainedAlias extends Origin {
  readonly name: string;
  readonly family?: string;
  readonly strategy: string;
  readonly targets: readonly string[];
  readonly user_paths?: readonly string[];
}

export interface SpentBudget {
  readonly id: string;
  readonly effective_subject: string;
  readonly mode: 'enforce' | 'shadow';
  readonly period_label: string;
  readonly period_end: string;
  readonly amount?: number;
  readonly spent?: number;
}

export interface ExplainedTarget {
  readonly target: string;
  readonly relay?: 'bytes' | 'translated';
  readonly translated_to?: string;
  readonly is_assumed?: true;
  readonly weight?: number;
  readonly would: 'ask' | 'last_resort' | 'skip';
  readonly says: string;
  readonly until?: string;
  readonly first_byte_ms?: number;
  readonly hedge_after_ms?: number;
  readonly learned_remaining?: Readonly<Record<string, number>>;
  readonly rules: readonly ExplainedRule[];
}

export interface NearMiss extends Origin {
  readonly kind: 'alias' | 'model' | 'rule';
  readonly name: string;
  readonly says: string;
}

export interface Explanation {
  readonly request: {
    readonly user_path: string;
    readonly model: string;
    readonly stream: boolean;
    readonly endpoint?: string;
    readonly key?: {
      readonly name: string;
      readonly user_path?: string;
      readonly any_user_path: boolean;
      readonly allowed_models: readonly string[];
      readonly state: 'active' | 'expired' | 'revoked';
    };
  };
  readonly outcome: string;
  readonly refusal?: {
    readonly status: number;
    readonly code: string;
    readonly message: string;
    readonly retry_after_seconds?: number;
    readonly rule?: string;
  };
  readonly resolution: {
    readonly kind: 'alias' | 'family' | 'bare_id' | 'model' | 'unknown';
    readonly aliases: readonly ExplainedAlias[];
    readonly strategy?: string;
    readonly attempts?: number;
    readonly hedge?: true;
  };
  readonly counted?: { readonly says: string };
  readonly budgets: readonly SpentBudget[];
  readonly rate_limits_enabled: boolean;
  readonly rules: readonly ExplainedRule[];
  readonly targets: readonly ExplainedTarget[];
  readonly near_misses: readonly NearMiss[];
  readonly config_revision: string;
  readonly instance: string;
  readonly server_time: string;
}

/** The stages of the line, in their order. */
export const stages = ['consumer', 'budgets', 'rules', 'name', 'targets'] as const;
export type Stage = (typeof stages)[number];

const stageOfCode: Readonly<Record<string, Stage>> = {
  invalid_api_key: 'consumer',
  user_path_denied: 'consumer',
  budget_exceeded: 'budgets',
  model_not_found: 'name',
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
