// Counters on their way to the state store and back: plain rows, as pairs of slice number and count (spec, Limits 11).
import type { CounterRow } from '../../domain/rules/counter-row.ts';
import { directChild } from '../../domain/user-path.ts';
import type { Counter, Tally } from './tally.ts';
import { requests, tokens } from './window.ts';

/** Undefined for a concurrency rule. */
function rowOf({ tally, child, window }: Counter): CounterRow | undefined {
  if (window === undefined) return undefined;
  const { key, epoch, periodSeconds } = tally.caps.rule;
  return { key, epoch, child, periodSeconds, requests: window.pairs(requests), tokens: window.pairs(tokens) };
}

/** The rows of up to `limit` changed windows. The counters of these rows are marked as exported. */
export function takeChanged(changed: Iterable<Counter>, limit: number): CounterRow[] {
  const rows: CounterRow[] = [];
  for (const counter of changed) {
    if (rows.length >= limit) break;
    counter.collect();
    const row = rowOf(counter);
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
