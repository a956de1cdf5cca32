// Decides which writes to budgets a scoped operator may make. Pure.
import { sayDollars } from '../../../domain/budgets/money.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { countsInScopes, denied, isOwnPath, refuseOthers, tightened, userPathOf } from '../../managed/own-path.ts';
import { type KnownBudgets, refuseBudgetsBeyond } from './changes.ts';
import type { BudgetName, BudgetWrite } from './read-write.ts';

const noun = 'budget';

/**
 * The write that this operator may make; at its own path as `tightened` says. Throws 403 `admin_scope_denied` naming the member that would
 * loosen a budget of others, and 409 `too_many_budgets` when a scope of its own holds `mostBudgets` of them.
 */
export function delegatedWrite(
  known: KnownBudgets,
  write: BudgetWrite,
  operator: Operator,
  mostBudgets: number,
): BudgetWrite {
  if (isScoped(operator) && known.manual.get(write.key) === undefined) {
    const paths = [...known.manual.all().values()].map(userPathOf);
    for (const { count, where } of countsInScopes(operator, known, paths))
      refuseBudgetsBeyond(count, mostBudgets, where);
  }
  return tightened({ known, noun }, write, operator, ({ amount }) => {
    if (write.amount > amount)
      throw denied(`send an amount above the ${sayDollars(amount)} of the configuration`, 'amount');
  });
}

/** The budget, when this operator may delete it. Throws 403 `admin_scope_denied` for one of others at its own path. */
export function delegatedRemoval(known: KnownBudgets, name: BudgetName, operator: Operator): BudgetName {
  if (isOwnPath(name, operator)) refuseOthers({ known, noun }, name);
  return name;
}

/** The budget, when this operator may reset it. Throws 403 `admin_scope_denied` at its own path, where that gives it more to spend. */
export function delegatedReset(name: BudgetName, operator: Operator): BudgetName {
  if (isOwnPath(name, operator)) throw denied('reset a budget of its own path');
  return name;
}
