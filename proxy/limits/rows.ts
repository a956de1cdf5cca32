// Counters on their way to the state store and back: plain rows, as pairs of slice number and count (spec, Limits 11).
import type { CounterRow } from '../../schemas/rules/counter-row.ts';
import { directChild } from '../../schemas/user-path.ts';
import type { Counter, Tally } from './tally.ts';
import { requests, tokens } from './window.ts';

/** Undefined for a gauge. */
export function rowOf({ tally, child, window }: Counter): CounterRow | undefined {
  if (window === undefined) return undefined;
  const { key, epoch, periodSeconds } = tally.terms.rule;
  return { key, epoch, child, periodSeconds, requests: window.pairs(requests), tokens: window.pairs(tokens) };
}

/**
 * Adds a stored row to its counter. False when there is no such counter any more: another epoch or period, a rule that became a
 * template or stopped being one. What was moved to now is marked for the next export, so that it is moved once.
 */
export function restoreRow(row: CounterRow, tally: Tally | undefined, nowMs: number): boolean {
  if (tally === undefined) return false;
  const { epoch, periodSeconds, perChild, matchSubject } = tally.terms.rule;
  if (row.epoch !== epoch || row.periodSeconds !== periodSeconds || periodSeconds === 0) return false;
  const isOurs = perChild ? directChild(row.child, matchSubject) === row.child : row.child === '';
  if (!isOurs) return false;
  const counter = tally.open(row.child);
  const { window } = counter;
  if (window === undefined) return false;
  const movedRequests = window.restore(requests, row.requests, nowMs);
  const movedTokens = window.restore(tokens, row.tokens, nowMs);
  if (movedRequests || movedTokens) counter.touch();
  return true;
}
