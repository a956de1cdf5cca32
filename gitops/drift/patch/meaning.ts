// What an entry means, whatever is left to its defaults: two ways to write one are equal. And what is to be written of a wanted one. Pure.
import { isDeepStrictEqual } from 'node:util';
import { budgetPeriodSeconds } from '../../../domain/budgets/period.ts';
import { periodSeconds } from '../../../domain/rules/period.ts';
import { entries } from '../../../schemas/validation/generated/config.js';
import { asWritten, valueAsMeant } from '../literal.ts';
import { type Entry, isLimit, isListed } from '../override.ts';

type Values = Readonly<Record<string, unknown>>;

/** With defaults; of `like` only the section counts. */
export function meaningOf(like: Entry, value: Values): Values {
  const meant = structuredClone(valueAsMeant(value)) as Record<string, unknown>;
  if (isLimit(like)) {
    const { period: _, period_seconds: __, ...limit } = meant;
    const seconds = like.section === 'budgets' ? budgetPeriodSeconds(meant) : periodSeconds(meant);
    return { mode: 'enforce', ...limit, seconds };
  }
  if (!isListed(like)) return meant;
  if (like.section === 'aliases') {
    const { target, targets = [{ model: target }], ...alias } = meant;
    const all = (targets as Values[]).map((each) => ({ weight: 1, ...each }));
    return { strategy: 'round_robin', enabled: true, hedge: false, ...alias, targets: all };
  }
  // Fills in what is not written.
  if (like.section === 'guardrails') entries.guardrail(meant);
  return meant;
}

export function meansTheSame(like: Entry, one: Values, other: Values): boolean {
  return isDeepStrictEqual(meaningOf(like, one), meaningOf(like, other));
}

/** The members by which `written`, an entry of a file, becomes `wanted`: those that mean the same stay as they are. */
export function membersFor(like: Entry, written: Values, wanted: Values): Values {
  const [before, after] = [meaningOf(like, written), meaningOf(like, asWritten(wanted))];
  const isSame = (key: string): boolean => {
    if (isLimit(like) && key.startsWith('period')) return before['seconds'] === after['seconds'];
    const name = like.section === 'aliases' && key === 'target' ? 'targets' : key;
    return isDeepStrictEqual(before[name], after[name]);
  };
  const kept = Object.entries(written).filter(([key]) => isSame(key));
  const names = new Set(kept.map(([key]) => key));
  const isSaid = (key: string): boolean =>
    names.has(key) ||
    (key.startsWith('period') && (names.has('period') || names.has('period_seconds'))) ||
    (key.startsWith('target') && (names.has('target') || names.has('targets')));
  const others = Object.entries(asWritten(wanted)).filter(([key]) => {
    return !isSaid(key) && (Object.hasOwn(written, key) || !isSame(key));
  });
  return Object.fromEntries([...kept, ...others]);
}
