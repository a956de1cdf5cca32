// Keeps the usage records of requests: a row for each executed attempt.
import type { AttemptRecord, RequestRecord } from '../../../schemas/records/request-record.ts';
import type { AttemptUsage } from '../../../schemas/records/usage.ts';
import type { Insertion, Statements } from './database.ts';
import type { ColumnType } from './dialect.ts';
import { plainMoment, plainText, plainTextOrNull, wholeNumber } from './plain-values.ts';

const texts = (...names: string[]): Record<string, ColumnType> =>
  Object.fromEntries(names.map((name) => [name, 'TEXT' as const]));
const numbers = (...names: string[]): Record<string, ColumnType> =>
  Object.fromEntries(names.map((name) => [name, 'BIGINT' as const]));

/** Attempts that are there already are passed over. */
const usages: Insertion = {
  table: 'usage',
  columns: {
    ...texts('record'),
    ...numbers('seq', 'at_ms'),
    ...texts('request_id', 'provider_id', 'model', 'provider', 'provider_name', 'endpoint', 'user_path', 'session_id'),
    ...texts('auth_key_id', 'cache_type', 'source'),
    ...numbers('input_tokens', 'output_tokens', 'total_tokens', 'cached_input_tokens', 'cache_write_input_tokens'),
    ...numbers('reasoning_tokens', 'audio_input_tokens', 'audio_output_tokens'),
    audio_seconds: 'DOUBLE PRECISION',
    ...numbers('characters', 'images', 'input_cost', 'output_cost', 'total_cost'),
  },
  tail: 'ON CONFLICT (record, seq) DO NOTHING RETURNING id, record',
};

const labelsOfUsage: Insertion = { table: 'usage_label', columns: { usage: 'BIGINT', label: 'TEXT' } };

/** Gives the ids of the records that had usage which was not kept before. */
export async function insertUsage(statements: Statements, records: readonly RequestRecord[]): Promise<Set<string>> {
  const rows = records.flatMap((record) =>
    record.attempts.flatMap((attempt) =>
      attempt.usage === undefined ? [] : [usageRow(record, attempt, attempt.usage)],
    ),
  );
  const inserted = rows.length === 0 ? [] : await statements.insert(usages, rows);
  const labelled = new Map(
    records.flatMap(({ id, labels = [] }) =>
      labels.length === 0 ? [] : [[plainText(id), new Set(labels.map(plainText))]],
    ),
  );
  const labels = inserted.flatMap(({ id, record }) =>
    [...(labelled.get(String(record)) ?? [])].map((label) => [Number(id), label]),
  );
  if (labels.length > 0) await statements.insert(labelsOfUsage, labels);
  return new Set(inserted.map(({ record }) => String(record)));
}

function usageRow(record: RequestRecord, attempt: AttemptRecord, usage: AttemptUsage): (string | number | null)[] {
  const count = (value: number | undefined): number | null => (value === undefined ? null : wholeNumber(value));
  const { cost } = usage;
  return [
    plainText(record.id),
    wholeNumber(attempt.seq),
    plainMoment(attempt.started_ms + attempt.duration_ns / 1e6),
    plainText(record.request_id),
    plainTextOrNull(usage.provider_id),
    plainText(attempt.model),
    plainText(attempt.provider_type),
    plainText(attempt.provider_name),
    plainText(record.path),
    plainText(record.user_path),
    plainTextOrNull(record.session_id),
    plainTextOrNull(record.auth_key_id),
    plainTextOrNull(record.cache_type),
    usage.source,
    wholeNumber(usage.input_tokens),
    wholeNumber(usage.output_tokens),
    wholeNumber(usage.total_tokens),
    count(usage.cached_input_tokens),
    count(usage.cache_write_input_tokens),
    count(usage.reasoning_tokens),
    count(usage.audio_input_tokens),
    count(usage.audio_output_tokens),
    usage.audio_seconds ?? null,
    count(usage.characters),
    count(usage.images),
    count(cost?.input),
    count(cost?.output),
    count(cost?.total),
  ];
}
