// One entry with everything, and the conversation that it is part of.
import { type PackedEntries, packEntries } from '../../written-entries.ts';
import { condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import { plainText } from '../plain-values.ts';
import { spokenEntry } from './entry-forms.ts';
import { keysOf } from './entry-keys.ts';
import { entryIn, type StoredEntry } from './listed-entries.ts';

/** Of one conversation; what is longer is cut at its ends. Characters. */
const mostConversationText = 16 * 1024 * 1024;

const wholeText = 'coalesce(complete, listed)';

/** Packed, one. Only what lists show of it is read: the rest goes on as it is stored. */
export async function findEntry(statements: Statements, id: string): Promise<PackedEntries | undefined> {
  const sql = 'SELECT listed, complete FROM entry JOIN entry_data ON entry_data.id = entry.id WHERE uid = ?';
  const [row] = await statements.all(sql, plainText(id));
  if (row === undefined) return undefined;
  const whole = String(row['complete'] ?? row['listed']);
  const { id: uid, user_path: userPath, asked_by } = JSON.parse(String(row['listed'])) as StoredEntry;
  const text = asked_by === undefined ? `{"asked_by":"client",${whole.slice(1)}` : whole;
  return packEntries([{ id: uid, userPath, text }]);
}

/** Both sides of the entry get half of the room; what one does not need the other one has. */
export async function findConversation(
  statements: Statements,
  id: string,
  most: number,
): Promise<(PackedEntries & { readonly truncated: boolean }) | undefined> {
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
  const texts = rows.map(({ whole }) => {
    const spoken = spokenEntry(entryIn(whole));
    return { id: spoken.id, userPath: spoken.user_path, text: JSON.stringify(spoken) };
  });
  return { ...packEntries(texts), truncated: chosen.length < before.length + after.length };
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
