// The entries of the configuration that say what operators have set. Pure.
import type { MergedAlias } from '../../domain/aliases/merge-aliases.ts';
import type { MergedBudget } from '../../domain/budgets/merge-budgets.ts';
import { dollarsOf } from '../../domain/budgets/money.ts';
import { budgetPeriodLabel, budgetPeriods } from '../../domain/budgets/period.ts';
import type { MergedRule } from '../../domain/rules/merge.ts';
import type { RulePrerequisites } from '../../domain/rules/obstacle.ts';
import { namedPeriods, periodLabel } from '../../domain/rules/period.ts';
import { explainUnenforced } from '../../domain/rules/unenforced.ts';
import type { AliasTarget, Guardrail } from '../../schemas/types.ts';
import type { Entry, LimitEntry, ListedEntry, SubjectList } from './override.ts';

/** The entry, or why there is none. */
export type Entrance = { readonly entry: Entry } | { readonly kept_out: string };

const listOf: Readonly<Record<MergedRule['scope'] | MergedBudget['scope'], SubjectList>> = {
  user_path: 'user_paths',
  provider: 'providers',
  model: 'models',
  label: 'labels',
};

/** `rule`: of an operator, with the caps that it takes from the configuration. `isDeclared`: the configuration has one with its key. */
export function ruleEntrance(rule: MergedRule, isDeclared: boolean, prerequisites: RulePrerequisites): Entrance {
  const { obstacle, overridesConfig, periodSeconds, maxRequests, maxTokens, mode, name, onStoreLoss } = rule;
  const isBeside = obstacle !== undefined && isDeclared && !overridesConfig;
  if (maxRequests === 0 || maxTokens === 0)
    return { kept_out: 'it is a block, which has an end; the configuration has none' };
  if (obstacle === 'no_cap' || obstacle === 'not_entitled' || isBeside)
    return { kept_out: `it is not enforced: ${explainUnenforced(rule, prerequisites) ?? obstacle}` };
  const limit = {
    ...period(periodLabel(periodSeconds), periodSeconds, namedPeriods),
    ...(maxRequests === undefined ? {} : { max_requests: maxRequests }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(name === undefined ? {} : { name }),
    ...(mode === 'enforce' ? {} : { mode }),
    ...(onStoreLoss === undefined ? {} : { on_store_loss: onStoreLoss }),
  };
  return { entry: limitEntry('rate_limits', rule, limit) };
}

export function budgetEntrance(budget: MergedBudget): Entrance {
  const { obstacle, periodSeconds, amount, mode } = budget;
  if (obstacle === 'not_entitled')
    return { kept_out: 'it is not enforced: per_child needs the entitlement quota_templates' };
  const limit = {
    ...period(budgetPeriodLabel(periodSeconds), periodSeconds, budgetPeriods),
    amount: dollarsOf(amount),
    ...(mode === 'enforce' ? {} : { mode }),
  };
  return { entry: limitEntry('budgets', budget, limit) };
}

function limitEntry(
  section: LimitEntry['section'],
  { scope, subject, perChild }: Pick<MergedRule | MergedBudget, 'scope' | 'subject' | 'perChild'>,
  limit: LimitEntry['limit'],
): LimitEntry {
  return { section, list: listOf[scope], subject, per_child: perChild, limit };
}

function period(label: string, seconds: number, named: Readonly<Record<string, number>>): object {
  return Object.hasOwn(named, label) ? { period: label } : { period_seconds: seconds };
}

export function aliasEntrance({ alias, problem }: Pick<MergedAlias, 'alias' | 'problem'>): Entrance {
  if (problem !== undefined) return { kept_out: `the configuration would refuse it: ${problem}` };
  const { enabled, hedge, targets, source, ...others } = alias;
  const [only, ...more] = targets;
  const isPlain = more.length === 0 && only !== undefined && Object.keys(withoutWeight(only)).length === 1;
  const leadsTo = isPlain ? { target: only.model } : { targets: targets.map(withoutWeight) };
  const entry = {
    source,
    ...leadsTo,
    ...others,
    ...(enabled ? {} : { enabled }),
    ...(hedge === false ? {} : { hedge }),
  };
  return { entry: { section: 'aliases', entry } satisfies ListedEntry };
}

/** Without a weight of 1, which holds where none is written. */
function withoutWeight({ weight, ...target }: AliasTarget): object {
  return weight === 1 ? target : { ...target, weight };
}

/** Without a user, a query, or a path that may be a key. */
const plainAddress = /^https?:\/\/[\w.-]+(:\d+)?\/?$/;

export function guardrailEntrance(guardrail: Guardrail): Entrance {
  const { webhook } = guardrail;
  if (webhook !== undefined && !plainAddress.test(webhook.url))
    return { kept_out: 'the address of its webhook may hold a secret, which is not shown; write the entry by hand' };
  return { entry: { section: 'guardrails', entry: { ...guardrail } } };
}
