// A budget as it is being written: the texts of the fields, the body and the YAML that they make. Pure.
import type { BudgetWrite } from '../../../../../schemas/types.ts';
import { localField, parseLocal, parseTime, utcTime } from '../../time.ts';
import type { Budget } from './budget.ts';

export interface Draft {
  readonly scope: Budget['scope'];
  readonly subject: string;
  /** The name of a period, or `custom`. */
  readonly period: string;
  readonly seconds: string;
  readonly amount: string;
  readonly perChild: boolean;
  readonly mode: Budget['mode'];
  readonly reason: string;
  /** `` for none, `at` for a moment, else a length such as `8h`. */
  readonly end: string;
  readonly endAt: string;
}

export const periods: readonly (readonly [value: string, text: string, seconds: number])[] = [
  ['hourly', 'An hour', 3_600],
  ['daily', 'A day', 86_400],
  ['weekly', 'A week', 604_800],
  ['monthly', 'A month', 2_592_000],
];

/** `budget` undefined: a new one, for the path of the operator. */
export function draftOf(budget: Budget | undefined, userPath: string): Draft {
  const { scope = 'user_path', subject = userPath === '/' ? '' : userPath, period_seconds = 86_400 } = budget ?? {};
  const { amount, per_child = false, mode = 'enforce', reason, expires_at, source } = budget ?? {};
  const isOverride = source === 'config';
  return {
    scope,
    subject,
    period: periods.find(([, , seconds]) => seconds === period_seconds)?.[0] ?? 'custom',
    seconds: String(period_seconds),
    amount: amount === undefined ? '' : String(amount),
    perChild: per_child,
    mode,
    reason: reason ?? '',
    end: isOverride ? '8h' : expires_at === undefined ? '' : 'at',
    endAt: expires_at === undefined ? '' : localField(parseTime(expires_at)),
  };
}

export function secondsOf({ period, seconds }: Draft): number {
  return periods.find(([value]) => value === period)?.[2] ?? Number(seconds);
}

/** The first mistake, found before anything is sent; undefined: none. */
export function mistakeIn(draft: Draft): readonly [field: keyof Draft, message: string] | undefined {
  const { subject, period, seconds, amount, end, endAt } = draft;
  if (subject.trim() === '') return ['subject', 'Say whose spending it limits.'];
  if (period === 'custom' && !/^[1-9]\d*$/.test(seconds)) return ['seconds', 'Write a whole number of seconds.'];
  if (!(Number(amount) > 0)) return ['amount', 'Write an amount in US dollars, such as 25 or 0.5.'];
  if (end === 'at' && Number.isNaN(parseLocal(endAt))) return ['endAt', 'Write the day and the time of the end.'];
  return undefined;
}

export function bodyOf(draft: Draft): BudgetWrite {
  const { scope, subject, amount, perChild, mode, reason, end, endAt } = draft;
  return {
    scope,
    subject: subject.trim(),
    budget_key: { period_seconds: secondsOf(draft) },
    amount: Number(amount),
    mode,
    ...(scope === 'user_path' ? { per_child: perChild } : {}),
    ...(reason.trim() === '' ? {} : { reason: reason.trim() }),
    ...(end === 'at' ? { expires_at: utcTime(parseLocal(endAt)) } : end === '' ? {} : { expires_in: end }),
  };
}

/** The YAML that declares it, to be put into git. */
export function yamlOf(draft: Draft): string {
  const { scope, subject, period, seconds, amount, perChild, mode } = draft;
  const [list, key] = scope === 'label' ? ['labels', 'label'] : ['user_paths', 'path'];
  const lines = [
    'budgets:',
    `  ${list}:`,
    `    - ${key}: ${JSON.stringify(subject.trim())}`,
    ...(perChild && scope === 'user_path' ? ['      per_child: true'] : []),
    '      limits:',
    period === 'custom' ? `        - period_seconds: ${seconds}` : `        - period: ${period}`,
    `          amount: ${amount}`,
    ...(mode === 'enforce' ? [] : [`          mode: ${mode}`]),
  ];
  return `${lines.join('\n')}\n`;
}
