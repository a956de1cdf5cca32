// The differences between the budgets of two configurations: which are looser, which are tighter. Pure.
import {
  budgetKey,
  budgetTitle,
  type DeclaredBudget,
  declaredBudgets,
  normaliseBudgetSubject,
} from '../../domain/budgets/budget.ts';
import { type BudgetMode, compareStrictness } from '../../domain/budgets/mode.ts';
import type { Budgets } from '../../schemas/types.ts';
import { type ConfigChange, describeChange } from './config-change.ts';

/** A budget as a change shows it. */
interface ShownBudget {
  readonly amount: number;
  readonly mode: BudgetMode;
  readonly per_child?: true;
}

/** The changes of budgets, sorted by name. A budget is the same while scope, subject and period are. */
export function diffBudgets(before: Budgets, after: Budgets): ConfigChange[] {
  const [old, present] = [byKey(before), byKey(after)];
  const changes = [...new Set([...old.keys(), ...present.keys()])].flatMap((key) =>
    changeOf(old.get(key), present.get(key)),
  );
  return changes.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function byKey(budgets: Budgets): Map<string, DeclaredBudget> {
  return new Map(
    declaredBudgets(budgets).map((each) => {
      const named = normaliseBudgetSubject(each.scope, each.subject);
      const key = budgetKey(each.scope, named.subject ?? each.subject, each.periodSeconds);
      return [key, { ...each, subject: named.shown ?? each.subject }];
    }),
  );
}

function changeOf(former: DeclaredBudget | undefined, present: DeclaredBudget | undefined): ConfigChange[] {
  const one = present ?? former;
  if (one === undefined) return [];
  const name = budgetTitle(one);
  const [before, after] = [shown(former), shown(present)];
  const effect = effectOf(former, present);
  const effects = effect === undefined ? {} : { effect };
  if (before === undefined || after === undefined) {
    const change = before === undefined ? 'added' : 'removed';
    const sides = before === undefined ? { after } : { before };
    return [describeChange({ kind: 'budget', name, change, ...effects, ...sides }, say(after ?? before))];
  }
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const change = { kind: 'budget', name, change: effect ?? 'changed', ...effects, before, after } as const;
  return [describeChange(change, `${say(before)} → ${say(after)}`)];
}

function shown(budget: DeclaredBudget | undefined): ShownBudget | undefined {
  if (budget === undefined) return undefined;
  const { perChild, limit } = budget;
  return { amount: limit.amount, mode: limit.mode, ...(perChild ? { per_child: true } : {}) };
}

function say(budget: ShownBudget | undefined): string {
  if (budget === undefined) return '';
  const { amount, mode, per_child: perChild } = budget;
  return [`amount ${amount}`, ...(mode === 'enforce' ? [] : [mode]), ...(perChild ? ['per_child'] : [])].join(', ');
}

/**
 * A budget in shadow refuses nothing. With one for each child the whole may spend more than with one for all, and one that is hard refuses more than
 * one that is not. Undefined: neither is certain.
 */
function effectOf(
  former: DeclaredBudget | undefined,
  present: DeclaredBudget | undefined,
): 'loosened' | 'tightened' | undefined {
  const [from, to] = [enforcedAmount(former), enforcedAmount(present)];
  const byAmount = Math.sign(to - from);
  const isEither = from === Number.POSITIVE_INFINITY || to === Number.POSITIVE_INFINITY;
  if (from === to && isEither) return undefined;
  const signs =
    isEither || former === undefined || present === undefined ? [byAmount] : [byAmount, ...others(former, present)];
  const [isLoosened, isTightened] = [signs.some((sign) => sign > 0), signs.some((sign) => sign < 0)];
  if (isLoosened === isTightened) return undefined;
  return isLoosened ? 'loosened' : 'tightened';
}

/** Of two that are enforced: above 0 for what loosens, below for what tightens. */
function others(former: DeclaredBudget, present: DeclaredBudget): number[] {
  return [Number(present.perChild) - Number(former.perChild), compareStrictness(former.limit.mode, present.limit.mode)];
}

function enforcedAmount(budget: DeclaredBudget | undefined): number {
  return budget === undefined || budget.limit.mode === 'shadow' ? Number.POSITIVE_INFINITY : budget.limit.amount;
}
