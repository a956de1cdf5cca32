// Decides which writes to budgets a scoped operator may make: any write below its own path, only tightening writes at the path itself,
// because other operators limit it there. Pure.
import { sayDollars } from '../../../domain/budgets/money.ts';
import { isSamePath, isWithin } from '../../../domain/user-path.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { type Refusal, refusal } from '../../errors.ts';
import { scopesOf } from '../../managed/scopes.ts';
import { type KnownBudgets, refuseBudgetsBeyond } from './changes.ts';
import type { BudgetName, BudgetWrite } from './read-write.ts';

/**
 * The write that this operator may make. At its own path it is marked `tightens`, so that it cannot loosen a budget that the configuration
 * declares later. Throws 403 `admin_scope_denied` naming the member that would loosen a budget of others, and 409 `too_many_budgets` when a
 * scope of its own holds `mostBudgets` of them.
 */
export function delegatedBudget(
  known: KnownBudgets,
  write: BudgetWrite,
  operator: Operator,
  mostBudgets: number,
): BudgetWrite {
  if (!isScoped(operator)) return write;
  if (!known.manual.has(write.key)) refuseOneMore(known, operator, mostBudgets);
  if (!isOwnPath(write, operator)) return write;
  refuseOthers(known, write);
  const declared = known.config.get(write.key);
  if (declared === undefined) return { ...write, tightens: true };
  if (write.amount > declared.amount)
    throw denied(`send an amount above the ${sayDollars(declared.amount)} of the configuration`, 'amount');
  if (declared.mode === 'enforce' && write.mode === 'shadow')
    throw denied('send mode "shadow" for a budget that the configuration enforces', 'mode');
  if ((write.perChild ?? declared.perChild) !== declared.perChild)
    throw denied('change per_child of a budget of the configuration', 'per_child');
  return { ...write, tightens: true };
}

/** The budget, when this operator may delete it. Throws 403 `admin_scope_denied` for one of others at its own path. */
export function delegatedBudgetRemoval(known: KnownBudgets, name: BudgetName, operator: Operator): BudgetName {
  if (isOwnPath(name, operator)) refuseOthers(known, name);
  return name;
}

/** The budget, when this operator may reset it. Throws 403 `admin_scope_denied` at its own path, where that gives it more to spend. */
export function delegatedBudgetReset(name: BudgetName, operator: Operator): BudgetName {
  if (isOwnPath(name, operator)) throw denied('reset a budget of its own path');
  return name;
}

function isOwnPath({ scope, subject }: BudgetName, operator: Operator): boolean {
  return isScoped(operator) && scope === 'user_path' && isSamePath(subject, operator.userPath);
}

/** A budget at the own path without `tightens` was set by an operator with more rights; an unreadable one may have been. */
function refuseOthers({ manual, unreadable }: KnownBudgets, { key }: BudgetName): void {
  const standing = manual.get(key);
  const isOfOthers = standing === undefined ? unreadable.has(key) : standing.tightens !== true;
  if (isOfOthers) throw denied('change a budget of its own path that an operator with more rights has set');
}

function refuseOneMore(known: KnownBudgets, operator: Operator, mostBudgets: number): void {
  const paths = [...known.manual.values()].flatMap(({ scope, subject }) => (scope === 'user_path' ? [subject] : []));
  for (const scope of scopesOf(operator, known.keys())) {
    const count = paths.filter((path) => isWithin(path, scope)).length;
    refuseBudgetsBeyond(count, mostBudgets, `at and below ${scope}`);
  }
}

function denied(what: string, param?: string): Refusal {
  return refusal('admin_scope_denied', { ...(param === undefined ? {} : { param }), fill: { what } });
}
