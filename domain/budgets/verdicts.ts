// The used-up budgets, which the control plane sends to the proxies. Proxies enforce them without asking the control plane.
import type { NanoDollars } from '../records/usage.ts';
import type { BudgetScope } from './budget.ts';

/** One subject that has spent its budget. */
export interface BudgetVerdict {
  /** The id of the budget. */
  readonly id: string;
  readonly scope: BudgetScope;
  /** Of the budget: a user path, normalised, or a label. */
  readonly subject: string;
  /** Whose spend it is: of a template, the child. */
  readonly effectiveSubject: string;
  readonly perChild: boolean;
  readonly periodSeconds: number;
  readonly amount: NanoDollars;
  /** At least the amount. */
  readonly spent: NanoDollars;
  /** Of the window. Unix milliseconds; from `endMs` on the verdict counts no more. */
  readonly startMs: number;
  readonly endMs: number;
  /** A hard budget is `enforce` here: proxies of older versions take a verdict with another mode, and all others beside it, for garbage. */
  readonly mode: 'enforce' | 'shadow';
  /** Since when spend was counted: the beginning of the window, or the last reset. Unix milliseconds; absent: told by an older version. */
  readonly fromMs?: number;
}

/** All verdicts of one moment. */
export interface BudgetVerdicts {
  /** When they were computed. Unix milliseconds. */
  readonly computedAtMs: number;
  readonly verdicts: readonly BudgetVerdict[];
  /** The number of verdicts that were left out beyond `mostVerdicts`. */
  readonly unlisted: number;
}

/** The most verdicts in one body: about a megabyte. */
export const mostVerdicts = 10_000;

/** The last Unix millisecond that a Date can hold. */
const latestMomentMs = 8.64e15;

/** The verdicts as a JSON body. Each verdict is a list instead of an object, because there may be 10,000. */
export function verdictsBody({ computedAtMs, verdicts, unlisted }: BudgetVerdicts): object {
  return {
    computed_at_ms: computedAtMs,
    unlisted,
    verdicts: verdicts.map((each) => [
      each.id,
      each.scope,
      each.subject,
      each.effectiveSubject,
      each.perChild,
      each.periodSeconds,
      each.amount,
      each.spent,
      each.startMs,
      each.endMs,
      each.mode,
      ...(each.fromMs === undefined ? [] : [each.fromMs]),
    ]),
  };
}

/** The inverse of `verdictsBody`; undefined when the body is none. Never throws, for any stored body. */
export function readVerdicts(body: unknown): BudgetVerdicts | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { computed_at_ms: computedAtMs, unlisted, verdicts: rows } = body as Readonly<Record<string, unknown>>;
  if (!isCount(computedAtMs) || !isCount(unlisted) || !Array.isArray(rows) || rows.length > mostVerdicts) {
    return undefined;
  }
  const verdicts = rows.map(readVerdict);
  if (!verdicts.every((each) => each !== undefined)) return undefined;
  return { computedAtMs, unlisted, verdicts };
}

function readVerdict(row: unknown): BudgetVerdict | undefined {
  if (!Array.isArray(row) || row.length < 11) return undefined;
  const [id, scope, subject, effectiveSubject, perChild, periodSeconds, amount, spent, startMs, endMs, mode, fromMs] =
    row as unknown[];
  if (typeof id !== 'string' || typeof subject !== 'string' || typeof effectiveSubject !== 'string') return undefined;
  if ((scope !== 'user_path' && scope !== 'label') || typeof perChild !== 'boolean') return undefined;
  if (!isCount(periodSeconds) || !isCount(amount) || !isCount(spent)) return undefined;
  if (!isMoment(startMs) || !isMoment(endMs) || (mode !== 'enforce' && mode !== 'shadow')) return undefined;
  if (fromMs !== undefined && !isMoment(fromMs)) return undefined;
  const since = fromMs === undefined ? {} : { fromMs };
  return {
    id,
    scope,
    subject,
    effectiveSubject,
    perChild,
    periodSeconds,
    amount,
    spent,
    startMs,
    endMs,
    mode,
    ...since,
  };
}

/** A whole number from 0 on. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** Unix milliseconds that a Date can hold. */
export function isMoment(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(value as number) <= latestMomentMs;
}
