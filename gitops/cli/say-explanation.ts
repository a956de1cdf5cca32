// An explanation in words, for `model-gateway explain` and for tests that fail.

/** The members of an explanation that are told; see `schemas/admin/explanation.schema.json`. */
export interface Said {
  readonly outcome?: string;
  readonly refusal?: { readonly message: string };
  readonly targets?: readonly {
    readonly target: string;
    readonly would: string;
    readonly says: string;
    readonly conditions?: readonly Condition[];
  }[];
  readonly rules?: readonly Counted[];
  readonly budgets?: readonly Placed[];
  readonly guardrails?: readonly (Placed & { readonly kind: string; readonly mode: string })[];
}

interface Condition {
  readonly when: string;
  readonly holds?: boolean;
}

interface Placed {
  readonly id?: string;
  readonly name?: string;
  readonly source?: string;
  readonly declared_at?: string;
  readonly updated_by?: string;
  readonly reason?: string;
}

interface Counted extends Placed {
  readonly scope: string;
  readonly subject?: string;
  readonly period_label: string;
  readonly exhausted: boolean;
  readonly retry_after_seconds?: number;
}

export function sayExplanation({
  outcome = '',
  targets = [],
  rules = [],
  budgets = [],
  guardrails = [],
}: Said): string {
  return [
    outcome,
    ...section(
      'targets',
      targets.map(
        ({ target, says, conditions = [] }) => `${target}: ${[says, ...conditions.map(sayCondition)].join('; ')}`,
      ),
    ),
    ...section(
      'rules',
      rules.map((rule) => `${nameOf(rule)}: ${stateOf(rule)}${placeOf(rule)}`),
    ),
    ...section(
      'budgets',
      budgets.map((budget) => `${budget.name ?? budget.id}${placeOf(budget)}`),
    ),
    ...section(
      'guardrails',
      guardrails.map((each) => `${each.name}: ${each.kind}, ${each.mode}${placeOf(each)}`),
    ),
  ].join('\n');
}

function sayCondition({ when, holds }: Condition): string {
  return `when ${when}: ${holds ?? 'not known'}`;
}

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`\n${title}`, ...lines.map((line) => `  ${line}`)];
}

function nameOf({ name, scope, subject = '', period_label: period }: Counted): string {
  return name ?? `${scope} ${subject} ${period}`.replaceAll('  ', ' ');
}

function stateOf({ exhausted, retry_after_seconds: seconds }: Counted): string {
  return exhausted ? `used up, admits again in ${seconds ?? '?'} s` : 'has room';
}

function placeOf({ source, declared_at: line, updated_by: author, reason }: Placed): string {
  const place = source === 'config' ? line : [author, reason].filter(Boolean).join(': ');
  return place ? ` (${place})` : '';
}
