// Entries as they come in, for those who watch.
import type { AuditEntry } from '../../../../domain/records/audit-entry.ts';
import type { Statements } from '../database.ts';
import { entryIn } from '../read/listed-entries.ts';

/** `cursor`: the number of the last entry that was seen; null or undefined: only the present one is asked for. */
export async function arrivedEntries(
  statements: Statements,
  cursor: number | null | undefined,
  most: number,
): Promise<{ entries: AuditEntry[]; cursor: number }> {
  if (cursor === undefined || cursor === null) {
    const [row] = await statements.all('SELECT last_entry FROM progress');
    return { entries: [], cursor: Number(row?.['last_entry']) };
  }
  const sql = 'SELECT id, listed FROM entry_data WHERE id > ? ORDER BY id LIMIT ?';
  const rows = await statements.all(sql, cursor, most);
  return { entries: rows.map(({ listed }) => entryIn(listed)), cursor: Number(rows.at(-1)?.['id'] ?? cursor) };
}
