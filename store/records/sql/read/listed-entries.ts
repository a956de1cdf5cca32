// Reads the entries of a page as lists show them.
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

/** Of older entries only those of the gateway say who has asked. */
export type StoredEntry = Omit<AuditEntry, 'asked_by'> & Partial<Pick<AuditEntry, 'asked_by'>>;

/** An entry as this room has stored it. */
export function entryIn(text: unknown): AuditEntry {
  return { asked_by: 'client', ...(JSON.parse(String(text)) as StoredEntry) };
}
