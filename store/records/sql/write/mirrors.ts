// Keeps and removes comparisons of answers with those of mirrors.
import type { ComparedAnswer } from '../../../../domain/records/mirror-record.ts';
import type { RequestRecord } from '../../../../domain/records/request-record.ts';
import type { Insertion, Statements } from '../database.ts';
import type { ColumnType } from '../dialect.ts';
import { comparedColumns } from '../mirror-tables.ts';
import { plainMoment, plainText, wholeNumber } from '../plain-values.ts';

const sides = ['a', 'b'].flatMap((side) =>
  comparedColumns.map((name): [string, ColumnType] => [`${side}_${name}`, name === 'model' ? 'TEXT' : 'BIGINT']),
);

/** Those that are there already are passed over. */
const comparisons: Insertion = {
  table: 'mirror',
  columns: {
    uid: 'TEXT',
    at_ms: 'BIGINT',
    request_id: 'TEXT',
    alias: 'TEXT',
    stream: 'BIGINT',
    ...Object.fromEntries(sides),
    similarity: 'DOUBLE PRECISION',
  },
  tail: 'ON CONFLICT (uid) DO NOTHING RETURNING uid',
};

/** Gives the ids of the records that are new. */
export async function insertMirrors(statements: Statements, records: readonly RequestRecord[]): Promise<string[]> {
  const rows = records.flatMap(({ id, started_ms, request_id, mirror }) => {
    if (mirror === undefined) return [];
    const { alias, stream, primary, mirror: other, similarity = null } = mirror;
    const head = [plainText(id), plainMoment(started_ms), plainText(request_id), plainText(alias), stream ? 1 : 0];
    return [[...head, ...valuesOf(primary), ...valuesOf(other), similarity]];
  });
  if (rows.length === 0) return [];
  return (await statements.insert(comparisons, rows)).map(({ uid }) => String(uid));
}

function valuesOf(answer: ComparedAnswer): (string | number | null)[] {
  return comparedColumns.map((name) => {
    const value = answer[name] ?? null;
    if (typeof value === 'boolean') return value ? 1 : 0;
    if (typeof value === 'string') return plainText(value);
    return value === null ? null : wholeNumber(value);
  });
}

/** The oldest first, at most `most`. Gives how many were removed. */
export async function pruneMirrors(statements: Statements, beforeMs: number, most: number): Promise<number> {
  const old = 'SELECT id FROM mirror WHERE at_ms < ? ORDER BY at_ms, id LIMIT ?';
  return statements.run(`DELETE FROM mirror WHERE id IN (${old})`, beforeMs, most);
}
