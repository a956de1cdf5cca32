// A budget that an operator set through the admin API, and its document in the state store.
import type { NanoDollars } from '../records/usage.ts';
import { type Authorship, authorshipBody, readAuthorship } from '../rules/authorship.ts';
import { type Budget, budgetKey, normaliseBudgetSubject } from './budget.ts';
import { isBudgetMode } from './mode.ts';

/** The kind of its documents; the id is the key of the budget. */
export const manualBudgetKind = 'budget';

/** The longest custom period in seconds; the same as in the configuration. */
const longestPeriodSeconds = 2_147_483_647;

export interface ManualBudget extends Omit<Budget, 'id' | 'source'>, Authorship {}

/** The budget of a document; undefined when the body is none, or its key is not the id. Unknown members are ignored. */
export function readManualBudget(id: string, body: unknown): ManualBudget | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const { scope, subject: written, per_child: perChild, period_seconds: periodSeconds, mode } = members;
  const { amount_nano_dollars: amount } = members;
  const authorship = readAuthorship(members);
  if ((scope !== 'user_path' && scope !== 'label') || typeof written !== 'string') return undefined;
  if (typeof perChild !== 'boolean' || (perChild && scope !== 'user_path')) return undefined;
  if (!isCount(periodSeconds) || periodSeconds > longestPeriodSeconds || !isCount(amount)) return undefined;
  if (!isBudgetMode(mode) || authorship === undefined) return undefined;
  const { subject: matchSubject, shown } = normaliseBudgetSubject(scope, written);
  if (matchSubject === undefined || matchSubject === '') return undefined;
  if (budgetKey(scope, matchSubject, periodSeconds) !== id) return undefined;
  return Object.freeze({
    key: id,
    scope,
    subject: shown,
    matchSubject,
    perChild,
    periodSeconds,
    amount,
    mode,
    ...authorship,
  });
}

/** The body for `readManualBudget`; the key is the id of the document. */
export function manualBudgetBody(budget: ManualBudget): object {
  return {
    scope: budget.scope,
    subject: budget.subject,
    per_child: budget.perChild,
    period_seconds: budget.periodSeconds,
    amount_nano_dollars: budget.amount,
    mode: budget.mode,
    ...authorshipBody(budget),
  };
}

function isCount(value: unknown): value is NanoDollars {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}
