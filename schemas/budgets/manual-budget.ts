// A budget that an operator set through the admin API, and its document in the state store.
import type { NanoDollars } from '../records/usage.ts';
import { parseMoment } from '../rules/moment.ts';
import { type Budget, budgetKey, normaliseBudgetSubject } from './budget.ts';

/** The kind of its documents; the id is the key of the budget. */
export const manualBudgetKind = 'budget';

/** The longest custom period in seconds; the same as in the configuration. */
const longestPeriodSeconds = 2_147_483_647;

/** Times are RFC 3339 texts in UTC. */
export interface ManualBudget extends Omit<Budget, 'id' | 'source'> {
  /** The operator may only tighten: where the budget of the configuration is stricter, it stays in force. */
  readonly tightens?: true;
  /** Why the operator set it. */
  readonly reason?: string;
  /** From this moment on the budget does not exist. */
  readonly expiresAt?: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** `master_key`, or the id of a managed key. */
  readonly updatedBy: string;
}

/** The budget of a document; undefined when the body is none, or its key is not the id. Unknown members are ignored. */
export function readManualBudget(id: string, body: unknown): ManualBudget | undefined {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const { scope, subject: written, per_child: perChild, period_seconds: periodSeconds, mode, tightens } = members;
  const { amount_nano_dollars: amount, reason, expires_at: expiresAt } = members;
  const { created_at: createdAt, updated_at: updatedAt, updated_by: updatedBy } = members;
  if ((scope !== 'user_path' && scope !== 'label') || typeof written !== 'string') return undefined;
  if (typeof perChild !== 'boolean' || (perChild && scope !== 'user_path')) return undefined;
  if (!isCount(periodSeconds) || periodSeconds > longestPeriodSeconds || !isCount(amount)) return undefined;
  if ((mode !== 'enforce' && mode !== 'shadow') || typeof updatedBy !== 'string') return undefined;
  if (!(tightens === undefined || tightens === true)) return undefined;
  if (!(reason === undefined || typeof reason === 'string')) return undefined;
  if (!isMoment(createdAt) || !isMoment(updatedAt) || !(expiresAt === undefined || isMoment(expiresAt)))
    return undefined;
  const { subject } = normaliseBudgetSubject(scope, written);
  if (subject === undefined || subject === '' || budgetKey(scope, subject, periodSeconds) !== id) return undefined;
  return Object.freeze({
    key: id,
    scope,
    subject,
    perChild,
    periodSeconds,
    amount,
    mode,
    ...(tightens === undefined ? {} : { tightens }),
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
    createdAt,
    updatedAt,
    updatedBy,
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
    ...(budget.tightens === undefined ? {} : { tightens: true }),
    ...(budget.reason === undefined ? {} : { reason: budget.reason }),
    ...(budget.expiresAt === undefined ? {} : { expires_at: budget.expiresAt }),
    created_at: budget.createdAt,
    updated_at: budget.updatedAt,
    updated_by: budget.updatedBy,
  };
}

/** The Unix millisecond from which the budget does not exist; infinite when it does not expire. */
export function budgetExpiryMs({ expiresAt }: Pick<ManualBudget, 'expiresAt'>): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : (parseMoment(expiresAt) ?? Number.POSITIVE_INFINITY);
}

function isCount(value: unknown): value is NanoDollars {
  return Number.isSafeInteger(value) && (value as number) >= 1;
}

function isMoment(value: unknown): value is string {
  return typeof value === 'string' && parseMoment(value) !== undefined;
}
