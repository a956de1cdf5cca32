// The words that the forms of a plan share.
import type { Overrides } from './overrides.ts';
import type { Cause, ImpactReport, Moved, Row } from './report.ts';

const list = new Intl.ListFormat('en-US');
const thousands = new Intl.NumberFormat('en-US');

export function count(amount: number, noun: string): string {
  const ending = noun.endsWith('s') ? 'es' : 's';
  return `${thousands.format(amount)} ${noun}${amount === 1 ? '' : ending}`;
}

export function number(amount: number): string {
  return thousands.format(amount);
}

export function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** `$1,234.50`; of small sums as many digits as tell something. */
export function dollars(amount: number): string {
  const size = Math.abs(amount);
  const digits = size >= 0.01 || size === 0 ? 2 : 6;
  const text = new Intl.NumberFormat('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits }).format(
    size,
  );
  return `${amount < 0 ? '-' : ''}$${text}`;
}

/** `2026-03-31 09:14:05 UTC`. */
export function moment(time: string): string {
  return `${time.slice(0, 10)} ${time.slice(11, 19)} UTC`;
}

/** `all in /team/batch`; where they share nothing, those with the most. */
export function where({ within, user_paths: paths }: Row): string {
  if (within !== '/') return `all in ${within}`;
  return paths.map(({ user_path: path, requests }) => `${path} ${number(requests)}`).join(', ');
}

/** The headline of the refusals. */
export function sayRefusals({ refusals }: ImpactReport): string {
  const { added, removed, before, after, range } = refusals;
  const sum = (rows: readonly Cause[]): number => rows.reduce((total, { requests }) => total + requests, 0);
  const parts = [
    ...(sum(added) === 0 ? [] : [`+${count(sum(added), 'refusal')}`]),
    ...(sum(removed) === 0 ? [] : [`-${count(sum(removed), 'refusal')}`]),
  ];
  const isRange = range !== undefined && range[0] !== range[1];
  const spread = isRange
    ? `, ${number(range[0])} to ${number(range[1])} if unknown answers are half or twice as long`
    : '';
  if (parts.length === 0) return `no request would be refused that is not refused now (${number(after)} are)${spread}`;
  return `${parts.join(', ')} (${number(before)} → ${number(after)}${spread})`;
}

/** Sentences; none where operators have set nothing, or it is not known. */
export function overrideLines(overrides: Overrides | undefined): readonly string[] {
  if (overrides === undefined) return [];
  const { rules, budgets, aliases, drains, at, hidden } = overrides;
  const counts = [
    [rules, 'rule'],
    [budgets, 'budget'],
    [aliases, 'alias'],
    [drains, 'drain'],
  ] as const;
  const parts = counts.filter(([amount]) => amount > 0).map(([amount, noun]) => count(amount, noun));
  if (parts.length === 0) return [];
  return [
    ...hidden,
    `with ${list.format(parts)} of operators, as they were at ${moment(at)}; the recording may be older`,
  ];
}

export function sayMove({ model, from, to, requests, share }: Moved): string {
  return `${percent(share)} of ${model} would go to ${to} instead of ${from} (${count(requests, 'request')})`;
}

export function sayCost({ cost }: ImpactReport): string {
  const { before, after, added, is_per_day: isPerDay } = cost;
  if (Math.abs(after - before) < 0.000_001) return `the cost stays at ${dollars(before)}`;
  return `${dollars(Math.abs(added))}${isPerDay ? ' a day' : ''} ${added < 0 ? 'less' : 'more'} (${dollars(before)} → ${dollars(after)})`;
}
