// Entries as a table: a row for each, with what lists show of it.
import type { AuditEntry } from '../../../domain/records/audit-entry.ts';
import type { EntryFilter, RecordStore } from '../../../store/records/record-store.ts';
import { type Table, tableOf } from '../records/table.ts';

/** Those of the entry itself, under their names there. */
const own = [
  'timestamp',
  'id',
  'request_id',
  'session_id',
  'user_path',
  'auth_key_id',
  'asked_by',
  'method',
  'path',
  'requested_model',
  'resolved_model',
  'provider_name',
  'stream',
  'cache_type',
  'status_code',
  'error_type',
] as const;
const columns = [
  ...own,
  'error_code',
  'error_message',
  'rule',
  'labels',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'cached_input_tokens',
  'total_cost',
];

/** Costs are in US dollars. */
export function entryTable(records: Pick<RecordStore, 'entries'>, filter: EntryFilter): Promise<Table> {
  return tableOf(
    columns,
    async (page) => {
      const { entries, total } = await records.entries(filter, page);
      return { total, rows: entries.map(rowOf) };
    },
    { idOf: ({ id }) => id },
  );
}

function rowOf(entry: AuditEntry): Readonly<Record<string, unknown>> {
  const { data, usage, duration_ns } = entry;
  const { error_code, error_message, rule, labels } = data;
  return {
    ...Object.fromEntries(own.map((name) => [name, entry[name]])),
    error_code,
    error_message,
    rule,
    labels,
    duration_ms: duration_ns / 1e6,
    input_tokens: usage?.input_tokens,
    output_tokens: usage?.output_tokens,
    total_tokens: usage?.total_tokens,
    cached_input_tokens: usage?.cached_input_tokens,
    total_cost: usage?.total_cost,
  };
}
