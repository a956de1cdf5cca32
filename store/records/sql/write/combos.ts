// The dictionary of what filters ask for: method, path, model, provider, user path, status and the like, each combination once.
import { hash } from 'node:crypto';
import type { RequestRecord } from '../../../../domain/records/request-record.ts';
import { foldUserPath } from '../../../../domain/user-path.ts';
import { askedByOf } from '../asked-by.ts';
import type { Insertion, Statements } from '../database.ts';
import { plainText, plainTextOrNull, wholeNumber } from '../plain-values.ts';

const combos: Insertion = {
  table: 'combo',
  columns: {
    key: 'TEXT',
    n: 'BIGINT',
    method: 'TEXT',
    path: 'TEXT',
    requested_model: 'TEXT',
    provider: 'TEXT',
    provider_name: 'TEXT',
    user_path: 'TEXT',
    error_type: 'TEXT',
    status_code: 'BIGINT',
    stream: 'BIGINT',
    asked_by: 'TEXT',
  },
  tail: 'ON CONFLICT (key) DO UPDATE SET n = combo.n + excluded.n RETURNING id, key',
};

/** The number of each record's combo. Counts the records there. */
export async function countCombos(
  statements: Statements,
  records: readonly RequestRecord[],
): Promise<ReadonlyMap<RequestRecord, number>> {
  const members = new Map<string, { readonly columns: readonly (string | number | null)[]; n: number }>();
  const keys = new Map<RequestRecord, string>();
  for (const record of records) {
    const columns = columnsOf(record);
    // As before there was the last column, so that the combos of older records are found.
    const key = JSON.stringify(askedByOf(record) === 'client' ? columns.slice(0, -1) : columns);
    keys.set(record, key);
    const known = members.get(key);
    if (known === undefined) members.set(key, { columns, n: 1 });
    else known.n += 1;
  }
  const short = new Map([...members.keys()].map((key) => [key, hash('sha256', key, 'base64url')]));
  const rows = [...members].map(([key, { columns, n }]) => [short.get(key) ?? key, n, ...columns]);
  const stored = await statements.insert(combos, rows);
  const ids = new Map(stored.map(({ id, key }) => [String(key), Number(id)]));
  return new Map(records.map((record) => [record, ids.get(short.get(keys.get(record) ?? '') ?? '') ?? 0]));
}

/** -1: it is not known. */
function streamNumber(stream: boolean | undefined): number {
  return stream === undefined ? -1 : Number(stream);
}

function columnsOf(record: RequestRecord): (string | number | null)[] {
  return [
    plainText(record.method),
    plainText(record.path),
    plainTextOrNull(record.requested_model),
    plainTextOrNull(record.provider),
    plainTextOrNull(record.provider_name),
    plainText(foldUserPath(record.user_path)),
    plainTextOrNull(record.error_type),
    wholeNumber(record.status_code),
    streamNumber(record.stream),
    askedByOf(record),
  ];
}
