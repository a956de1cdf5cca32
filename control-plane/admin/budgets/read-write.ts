// Reads the bodies of budget writes: normalises them and checks what the schemas cannot express. Pure.
import { type BudgetScope, budgetKey } from '../../../domain/budgets/budget.ts';
import type { BudgetMode } from '../../../domain/budgets/mode.ts';
import { nanoDollarsOf } from '../../../domain/budgets/money.ts';
import { budgetPeriodSeconds } from '../../../domain/budgets/period.ts';
import type { Anchors } from '../../../domain/budgets/window.ts';
import type { NanoDollars } from '../../../domain/records/usage.ts';
import type { BudgetDelete } from '../../../schemas/types.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { createBodyReader, invalid, readExpiry, readWords } from '../../managed/read-body.ts';
import { readPathSubject } from '../../managed/read-subject.ts';

interface BudgetSubject {
  readonly scope: BudgetScope;
  /** The subject to show: a user path, normalised, or a label. */
  readonly subject: string;
  /** The subject to compare. */
  readonly matchSubject: string;
}

/** The budget that a request names. */
export interface BudgetName extends BudgetSubject {
  readonly key: string;
  readonly periodSeconds: number;
}

/** The budget of a PUT. An absent `perChild` comes from the configuration when it declares the same budget. */
export interface BudgetWrite extends BudgetName {
  readonly perChild?: boolean;
  readonly amount: NanoDollars;
  readonly mode: BudgetMode;
  readonly reason?: string;
  readonly expiresAtMs?: number;
  /** The writer may only tighten this budget, as `ManualBudget` says. */
  readonly tightens?: true;
}

const readWriteBody = createBodyReader(bodies.budgetWrite);
const readDeleteBody = createBodyReader(bodies.budgetDelete);
const readResetOneBody = createBodyReader(bodies.budgetResetOne);
const readResetBody = createBodyReader(bodies.budgetReset, { confirmation: 'reset_not_confirmed' });
const readSettingsBody = createBodyReader(bodies.budgetSettingsWrite);

/** The body of PUT /admin/budgets (`schemas/admin/budget-write.schema.json`). Throws the refusal. */
export function readWrite(body: unknown, nowMs: number): BudgetWrite {
  const given = readWriteBody(body);
  const { per_child: perChild, amount, mode } = given;
  const reason = readWords(given.reason);
  const named = nameOf(given);
  const expiresAtMs = readExpiry(given, nowMs);
  return {
    ...named,
    ...(perChild === undefined ? {} : { perChild }),
    amount: nanoDollarsOf(amount),
    mode,
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
  };
}

/** The body of DELETE /admin/budgets (`schemas/admin/budget-delete.schema.json`). Throws the refusal. */
export function readDelete(body: unknown): BudgetName {
  return nameOf(readDeleteBody(body));
}

/** The body of POST /admin/budgets/reset-one (`schemas/admin/budget-reset-one.schema.json`). Throws the refusal. */
export function readResetOne(body: unknown): BudgetName {
  return nameOf(readResetOneBody(body));
}

/** Refuses a body of POST /admin/budgets/reset that does not confirm exactly. */
export function checkConfirmation(body: unknown): void {
  readResetBody(body);
}

/** The body of PUT /admin/budgets/settings (`schemas/admin/budget-settings-write.schema.json`). Throws the refusal. */
export function readSettingsWrite(body: unknown): Partial<Anchors> {
  return readSettingsBody(body);
}

/** The period is in `budget_key` or beside the subject, never in both. */
function nameOf(given: BudgetDelete): BudgetName {
  const subject = readSubject(given);
  const periodSeconds = budgetPeriodSeconds(given.budget_key ?? given);
  return { ...subject, periodSeconds, key: budgetKey(subject.scope, subject.matchSubject, periodSeconds) };
}

function readSubject({ scope, subject = '', user_path: userPath = '' }: BudgetDelete): BudgetSubject {
  if (scope !== 'label') return readPathSubject({ subject, user_path: userPath });
  // A pattern for this would need syntax that not every validator supports.
  if (/\p{Cs}/u.test(subject)) throw invalid('subject', 'must not have unpaired surrogates');
  return { scope, subject, matchSubject: subject };
}
