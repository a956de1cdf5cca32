// Reads entries as lists show them: those of a page, and those that come in.
import type { AuditEntry } from '../../../../domain/records/audit-entry.ts';
import type { Statements } from '../database.ts';

/** `threadEntries`: how many entries its thread has. */
export interface ListedEntry {
  readonly entry: AuditEntry;
  readonly threadEntries: number;
}

/** In the order of the ids. */
export async function listedEntries(statements: Statements, uids: readonly string[]): Promise<ListedEntry[]> {
  if (uids.length === 0) return [];
  const rows = await statements.all(
    `SELECT uid, listed, coalesce(thread.n, 1) AS n FROM entry JOIN entry_data ON entry_data.id = entry.id
     LEFT JOIN thread ON thread.id = entry.thread WHERE ${statements.dialect.isOneOf('uid', 'TEXT')}`,
    uids,
  );
  const found = new Map(rows.map((row) => [String(row['uid']), row]));
  return uids.flatMap((uid) => {
    const row = found.get(uid);
    return row === undefined ? [] : [{ entry: entryIn(row['listed']), threadEntries: Number(row['n']) }];
  });
}

/** Entries as they come in, for those who watch. `cursor`: the number of the last one that was seen; null or undefined: it alone is asked for. */
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

/** Of older entries only those of the gateway say who has asked. */
export type StoredEntry = Omit<AuditEntry, 'asked_by'> & Partial<Pick<AuditEntry, 'asked_by'>>;

/** An entry as this room has stored it. */
export function entryIn(text: unknown): AuditEntry {
  return { asked_by: 'client', ...(JSON.parse(String(text)) as StoredEntry) };
}
