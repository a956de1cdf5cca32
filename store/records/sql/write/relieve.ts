// Makes room: the oldest bodies go first, then the oldest entries. Usage records and their sums stay.
import type { Relief } from '../../record-store.ts';
import type { Statements } from '../database.ts';
import { pruneEntries } from './prune.ts';

/** Removes the bodies of at most `most` entries behind the one with the number `after`; where none is left, as many of the oldest entries. */
export async function relieveRecords(statements: Statements, after: number, most: number): Promise<Relief> {
  const oldest = await statements.all(
    'SELECT id FROM entry_data WHERE id > ? AND complete IS NOT NULL ORDER BY id LIMIT ?',
    after,
    most,
  );
  const ids = oldest.map(({ id }) => Number(id));
  if (ids.length === 0) {
    return { bodies: 0, entries: await pruneEntries(statements, Number.MAX_SAFE_INTEGER, most), last: after };
  }
  await statements.run(
    `UPDATE entry_data SET complete = NULL WHERE ${statements.dialect.isOneOf('id', 'BIGINT')}`,
    ids,
  );
  return { bodies: ids.length, entries: 0, last: ids.at(-1) ?? after };
}
