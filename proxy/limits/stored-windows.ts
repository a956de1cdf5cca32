// Counters on their way to the state store and back (spec, Limits 11).
import { type CounterRow, type CounterText, leavesRingAtMs } from '../../domain/rules/counter-row.ts';
import { encodeCounts } from '../../domain/rules/counter-text.ts';
import { directChild } from '../../domain/user-path.ts';
import type { Counter, Tally } from './tally.ts';
import { requests, tokens } from './window.ts';

/** Undefined for a concurrency rule. */
function textOf({ tally, child, window }: Counter): CounterText | undefined {
  if (window === undefined) return undefined;
  const { rule } = tally.caps;
  const newest = Math.max(window.newest(requests), window.newest(tokens));
  return {
    key: rule.key,
    child,
    counts: encodeCounts(rule, window.lane(requests), window.lane(tokens)),
    expiresAtMs: newest < 0 ? undefined : leavesRingAtMs(newest, rule.periodSeconds),
  };
}

/** The rows of up to `limit` changed windows. The counters of these rows are marked as exported. */
export function takeChanged(changed: Iterable<Counter>, limit: number): CounterText[] {
  const rows: CounterText[] = [];
  for (const counter of changed) {
    if (rows.length >= limit) break;
    counter.collect();
    const row = textOf(counter);
    if (row !== undefined) rows.push(row);
  }
  return rows;
}

/** The outcome for a stored row; `dropped`: there was no room for its child. */
export type Restored = 'restored' | 'dropped' | 'unknown';

/**
 * Adds a stored row to its counter, once. Unknown is a row of another epoch or period, of a rule that became a template
 * or stopped being one, or of a rule that is gone. A row with slices later than `nowMs` counts them as now and is
 * exported again.
 */
export function restoreRow(row: CounterRow, tally: Tally | undefined, nowMs: number): Restored {
  if (tally === undefined) return 'unknown';
  const { epoch, periodSeconds, perChild, matchSubject } = tally.caps.rule;
  if (row.epoch !== epoch || row.periodSeconds !== periodSeconds || periodSeconds === 0) return 'unknown';
  // Of a template, the row without a child is the one that children beyond the bound share.
  const isOurs = row.child === '' || (perChild && directChild(row.child, matchSubject) === row.child);
  if (!isOurs) return 'unknown';
  const counter = tally.claim(row.child);
  if (counter === undefined) return 'dropped';
  const { window } = counter;
  if (window === undefined || counter.isRestored) return 'unknown';
  counter.isRestored = true;
  const movedRequests = window.restore(requests, row.requests, nowMs);
  const movedTokens = window.restore(tokens, row.tokens, nowMs);
  if (movedRequests || movedTokens) counter.touch();
  return 'restored';
}
