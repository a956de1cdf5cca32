// Removes usage records that were kept for their time, a portion at a time.
import type { Statements } from './database.ts';

/** Gives how many were removed. */
export async function pruneUsage(statements: Statements, beforeMs: number, most: number): Promise<number> {
  const old = await statements.all('SELECT id FROM usage WHERE at_ms < ? ORDER BY at_ms LIMIT ?', beforeMs, most);
  if (old.length === 0) return 0;
  const ids = old.map(({ id }) => Number(id));
  const { isOneOf } = statements.dialect;
  await statements.run(`DELETE FROM usage_label WHERE ${isOneOf('usage', 'BIGINT')}`, ids);
  await statements.run(`DELETE FROM usage WHERE ${isOneOf('id', 'BIGINT')}`, ids);
  return ids.length;
}
