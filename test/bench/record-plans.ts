// How the pages of the record store are found: the indexes that their statements use, as the database explains them.
import type { Database, Value } from '../../store/records/sql/database.ts';
import { runOperation } from '../../store/records/sql/operations.ts';
import type { RecordQuery } from './record-queries.ts';

const tables = /^(combo|entry|entry_data|facet|pace|search_gram|search_segment|tally|thread|usage|usage_\w+)$/;

/** The indexes that its statements use, and the tables that are read from one end to the other. */
export async function indexesOf(
  database: Database,
  { operation, inputs }: RecordQuery,
  explain: string,
): Promise<string[]> {
  const used = new Set<string>();
  const asked: (readonly [sql: string, values: readonly Value[]])[] = [];
  const noting: Database = {
    read: (work) =>
      database.read((statements) =>
        work({
          ...statements,
          all(sql, ...values) {
            asked.push([sql, values]);
            return statements.all(sql, ...values);
          },
        }),
      ),
    write: (work, makesRoom) => database.write(work, makesRoom),
  };
  for (const input of inputs) await runOperation(noting, operation, input);
  await database.read(async (statements) => {
    for (const [sql, values] of new Map(asked.map((each) => [each[0], each])).values()) {
      for (const row of await statements.all(`${explain} ${sql}`, ...values)) {
        const text = JSON.stringify(row);
        const [, index] = /(?:USING (?:COVERING )?INDEX|Scan(?: Backward)? using|Index Scan on) (\w+)/.exec(text) ?? [];
        const [, table = ''] = /(?:SCAN|Seq Scan on) (\w+)/.exec(text) ?? [];
        const [, clustered] = /SEARCH (\w+) USING (?:INTEGER )?PRIMARY KEY/.exec(text) ?? [];
        if (index !== undefined) used.add(index);
        else if (clustered !== undefined) used.add(`key of ${clustered}`);
        else if (tables.test(table)) used.add(`(all of ${table})`);
      }
    }
  });
  return [...used].sort();
}
