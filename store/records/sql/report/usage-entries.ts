// Usage records as the log shows them.
import type { AskedBy } from '../../../../domain/records/request-record.ts';
import type { UsageOrigin } from '../../../../domain/records/usage.ts';
import type { UsageEntry } from '../../record-store.ts';
import type { Row, Statements } from '../database.ts';

const optionalCounts = [
  'cached_input_tokens',
  'cache_write_input_tokens',
  'reasoning_tokens',
  'audio_input_tokens',
  'audio_output_tokens',
  'audio_seconds',
  'characters',
  'images',
] as const;

/** In the order of the numbers, each of which is one of a record. */
export async function usageEntries(statements: Statements, ids: readonly number[]): Promise<UsageEntry[]> {
  if (ids.length === 0) return [];
  const { isOneOf } = statements.dialect;
  const rows = await statements.all(
    `SELECT usage.*, usage_model.model AS model_name, usage_model.provider, usage_model.provider_name, usage_path.user_path,
       usage_path.asked_by
     FROM usage JOIN usage_model ON usage_model.id = usage.model JOIN usage_path ON usage_path.id = usage.path
     WHERE ${isOneOf('usage.id', 'BIGINT')}`,
    ids,
  );
  const labelled = await statements.all(
    `SELECT usage_label.usage, usage_label_name.label FROM usage_label
     JOIN usage_label_name ON usage_label_name.id = usage_label.label
     WHERE ${isOneOf('usage_label.usage', 'BIGINT')} ORDER BY usage_label_name.label`,
    ids,
  );
  const labels = Map.groupBy(labelled, (row) => Number(row['usage']));
  const byId = new Map(rows.map((row) => [Number(row['id']), row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    return row === undefined
      ? []
      : [
          entryOf(
            row,
            (labels.get(id) ?? []).map(({ label }) => String(label)),
          ),
        ];
  });
}

function entryOf(row: Row, labels: readonly string[]): UsageEntry {
  const text = (name: string): string => String(row[name]);
  const amount = (name: string): number => Number(row[name]);
  const cost = (name: string): number | null => (row[name] === null ? null : amount(name));
  const optional = <Value>(names: readonly string[], read: (name: string) => Value): Record<string, Value> =>
    Object.fromEntries(
      names.filter((name) => row[name] !== null && row[name] !== '').map((name) => [name, read(name)]),
    );
  return {
    id: `${text('record')}-${text('seq')}`,
    request_id: text('request_id'),
    ...optional(['provider_id', 'session_id', 'auth_key_id', 'cache_type'], text),
    at_ms: amount('at_ms'),
    model: text('model_name'),
    provider: text('provider'),
    provider_name: text('provider_name'),
    endpoint: text('endpoint'),
    user_path: text('user_path'),
    asked_by: text('asked_by') as AskedBy,
    ...(labels.length === 0 ? {} : { labels }),
    source: text('source') as UsageOrigin,
    input_tokens: amount('input_tokens'),
    output_tokens: amount('output_tokens'),
    total_tokens: amount('total_tokens'),
    ...optional(optionalCounts, amount),
    input_cost: cost('input_cost'),
    output_cost: cost('output_cost'),
    total_cost: cost('total_cost'),
  };
}
