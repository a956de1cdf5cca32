// One entry with everything, and the conversation that it is part of.
import type { AuditEntry } from '../../../../domain/records/audit-entry.ts';
import { condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import { plainText } from '../plain-values.ts';
import { spokenEntry } from './entry-forms.ts';
import { keysOf } from './entry-keys.ts';
import { entryIn } from './listed-entries.ts';

/** Of one conversation; what is longer is cut at its ends. Characters. */
const mostConversationText = 16 * 1024 * 1024;

const wholeText = 'coalesce(complete, listed)';

export async function findEntry(statements: Statements, id: string): Promise<AuditEntry | undefined> {
  const sql = `SELECT ${wholeText} AS whole FROM entry JOIN entry_data ON entry_data.id = entry.id WHERE uid = ?`;
  const [row] = await statements.all(sql, plainText(id));
  return row === undefined ? undefined : entryIn(row['whole']);
}

/** Both sides of the entry get half of the room; what one does not need the other one has. */
export async function findConversation(
  statements: Statements,
  id: string,
  most: number,
): Promise<{ entries: AuditEntry[]; truncated: boolean } | undefined> {
  const found = await statements.all('SELECT uid, started_ms, thread FROM entry WHERE uid = ?', plainText(id));
  const [anchor] = keysOf(found);
  if (anchor === undefined) return undefined;
  const around = (sign: '<' | '>', order: 'ASC' | 'DESC'): Promise<Row[]> => {
    const { sql, values } = condition(
      `thread = ? AND thread > 0 AND (started_ms, uid) ${sign} (?, ?)`,
      anchor.thread,
      anchor.startedMs,
      anchor.uid,
    );
    const sized = `SELECT entry.id, length(${wholeText}) AS size FROM entry JOIN entry_data ON entry_data.id = entry.id`;
    const ordered = `ORDER BY started_ms ${order}, uid ${order} LIMIT ?`;
    return statements.all(`${sized} WHERE ${sql} ${ordered}`, ...values, most);
  };
  const [before, after] = [await around('<', 'DESC'), await around('>', 'ASC')];
  const chosen = nearest(before, after, most - 1);
  const isOf = statements.dialect.isOneOf('entry.id', 'BIGINT');
  const rows = await statements.all(
    `SELECT ${wholeText} AS whole FROM entry JOIN entry_data ON entry_data.id = entry.id
     WHERE uid = ? OR ${isOf} ORDER BY started_ms, uid`,
    anchor.uid,
    chosen,
  );
  const entries = rows.map(({ whole }) => spokenEntry(entryIn(whole)));
  return { entries, truncated: chosen.length < before.length + after.length };
}

/** The numbers of rows from both lists in turn, as many as there is room for. */
function nearest(before: readonly Row[], after: readonly Row[], most: number): number[] {
  const chosen: number[] = [];
  let text = 0;
  for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
    for (const row of [before[at], after[at]]) {
      if (row === undefined) continue;
      text += Number(row['size']);
      if (chosen.length >= most || text > mostConversationText) return chosen;
      chosen.push(Number(row['id']));
    }
  }
  return chosen;
}
