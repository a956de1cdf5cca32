// Sums of usage records for each session, the latest first: a page of sessions is found on an index, then those are summed.
import type { Page, UsageRow } from '../../record-store.ts';
import { allOf, between, type Condition, condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import { amountIn, measures } from '../write/usage-rollups.ts';
import { recordCondition, type SoughtUsage } from './usage-filter.ts';
import { pageOf } from './usage-page.ts';
import { totalsOf } from './usage-sums.ts';

/** `user_path` and `last_ms` are those of the latest record of the session that matches. */
export async function usageBySession(
  statements: Statements,
  sought: SoughtUsage,
  page: Page,
): Promise<{ total: number; rows: UsageRow[] }> {
  const matches = (isShort: boolean): Condition =>
    allOf(
      condition('session_id IS NOT NULL'),
      between('at_ms', sought.span),
      recordCondition(statements, sought, isShort),
    );
  const { sql, values } = matches(false);
  const { total, rows } = await pageOf(statements, page, {
    sql: `SELECT session_id, max(at_ms) AS last_ms, count(*) OVER () AS total FROM usage WHERE ${sql}
      GROUP BY session_id ORDER BY last_ms DESC, session_id`,
    values,
  });
  const sessions = rows.map((row) => String(row['session_id']));
  const ofPage = condition(statements.dialect.isOneOf('session_id', 'TEXT'), sessions);
  const ofSessions = allOf(ofPage, matches(true));
  const sums = await statements.all(
    `SELECT session_id, ${measures.map((name) => `${amountIn[name]} AS ${name}`).join(', ')} FROM usage
     WHERE ${ofSessions.sql} GROUP BY session_id`,
    ...ofSessions.values,
  );
  const latest = await statements.all(
    `SELECT session_id, user_path FROM (SELECT session_id, path,
       row_number() OVER (PARTITION BY session_id ORDER BY at_ms DESC, usage.id DESC) AS place FROM usage
       WHERE ${ofSessions.sql}) AS placed JOIN usage_path ON usage_path.id = placed.path WHERE place = 1`,
    ...ofSessions.values,
  );
  const bySession = (some: readonly Row[]): ReadonlyMap<string, Row> =>
    new Map(some.map((row) => [String(row['session_id']), row]));
  const [sumOf, latestOf] = [bySession(sums), bySession(latest)];
  return {
    total,
    rows: rows.map((row) => {
      const key = String(row['session_id']);
      return {
        key,
        user_path: String(latestOf.get(key)?.['user_path']),
        last_ms: Number(row['last_ms']),
        ...totalsOf(sumOf.get(key) ?? {}),
      };
    }),
  };
}
