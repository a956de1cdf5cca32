// Keeps the usage records of requests: a row for each executed attempt, and the sums that it counts in.
import type { AttemptRecord, RequestRecord } from '../../../../domain/records/request-record.ts';
import type { AttemptUsage } from '../../../../domain/records/usage.ts';
import { foldUserPath } from '../../../../domain/user-path.ts';
import { askedByOf } from '../asked-by.ts';
import type { Insertion, Row, Statements } from '../database.ts';
import type { ColumnType } from '../dialect.ts';
import { plainMoment, plainText, plainTextOrNull, wholeNumber } from '../plain-values.ts';
import { dictionaries, numbersOf } from './usage-names.ts';
import { type Measured, measures, sumUsage } from './usage-rollups.ts';

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
    ...texts('request_id', 'provider_id'),
    ...numbers('model', 'path'),
    ...texts('endpoint', 'session_id', 'auth_key_id', 'cache_type', 'source'),
    ...numbers('input_tokens', 'output_tokens', 'total_tokens', 'cached_input_tokens', 'cache_write_input_tokens'),
    ...numbers('reasoning_tokens', 'audio_input_tokens', 'audio_output_tokens'),
    audio_seconds: 'DOUBLE PRECISION',
    ...numbers('characters', 'images', 'input_cost', 'output_cost', 'total_cost', 'requests', 'attempts'),
  },
  tail: 'ON CONFLICT (record, seq) DO NOTHING RETURNING id, record, seq',
};

const labelsOfUsage: Insertion = { table: 'usage_label', columns: { usage: 'BIGINT', label: 'BIGINT' } };

/**
 * No attempt uses or costs more (10,000 dollars): a provider that reports nonsense shall not make a sum of 64 bits overflow, which would
 * keep out all that comes after.
 */
const mostCounted = 10 ** 12;
const mostCost = 10 ** 13;

/** An attempt that has usage, with the request that it belongs to. */
interface Used {
  readonly record: RequestRecord;
  readonly attempt: AttemptRecord;
  readonly usage: AttemptUsage;
  /** The one of its record that stands for the request. */
  readonly isRequest: boolean;
}

/** Gives the ids of the records that had usage which was not kept before. */
export async function insertUsage(statements: Statements, records: readonly RequestRecord[]): Promise<Set<string>> {
  const used = records.flatMap(usedBy);
  if (used.length === 0) return new Set();
  const named = await nameAll(statements, used);
  const keyOf = (row: Row): string => `${Number(row['seq'])} ${String(row['record'])}`;
  const byAttempt = new Map(named.map((each) => [keyOf(each.row), each]));
  const columns = Object.keys(usages.columns);
  const rows = [...byAttempt.values()].map(({ row }) => columns.map((name) => row[name] ?? null));
  const inserted = await statements.insert(usages, rows);
  const fresh = inserted.flatMap((row) => {
    const found = byAttempt.get(keyOf(row));
    return found === undefined ? [] : [{ ...found, id: Number(row['id']) }];
  });
  const labels = fresh.flatMap(({ id, measured }) => measured.labels.map((label) => [id, label]));
  if (labels.length > 0) await statements.insert(labelsOfUsage, labels);
  await sumUsage(
    statements,
    fresh.map(({ measured }) => measured),
    1,
  );
  return new Set(inserted.map(({ record }) => String(record)));
}

/** Each attempt of a record that has usage. */
function usedBy(record: RequestRecord): Used[] {
  const used = record.attempts.flatMap((attempt) =>
    attempt.usage === undefined ? [] : { attempt, usage: attempt.usage },
  );
  const answered =
    used.findLast(({ attempt }) => attempt.success) ??
    used.findLast(({ usage }) => usage.total_tokens > 0) ??
    used.at(-1);
  return used.map((each) => ({ record, ...each, isRequest: record.counts_as === undefined && each === answered }));
}

type UsageValues = Readonly<Record<string, string | number | null>>;

/** Rows of the table, and what they count for. */
async function nameAll(
  statements: Statements,
  used: readonly Used[],
): Promise<{ readonly row: UsageValues; readonly measured: Measured }[]> {
  const labelsOf = used.map(({ record }) => [...new Set((record.labels ?? []).map(plainText))]);
  const models = await numbersOf(statements, dictionaries.model, used.map(modelName));
  const paths = await numbersOf(statements, dictionaries.path, used.map(pathName));
  const names = [...new Set(labelsOf.flat())];
  const labels = await numbersOf(
    statements,
    dictionaries.label,
    names.map((name) => [name]),
  );
  const byLabel = new Map(names.map((name, index) => [name, labels[index] ?? 0]));
  return used.map((each, index) => {
    const [model = 0, path = 0] = [models[index], paths[index]];
    const row = valuesOf(each, model, path);
    const measured: Measured = {
      model,
      path,
      auth_key_id: row.auth_key_id ?? '',
      labels: (labelsOf[index] ?? []).map((name) => byLabel.get(name) ?? 0),
      cacheType: row.cache_type,
      atMs: row.at_ms,
      amounts: amountsOf(row),
    };
    return { row, measured };
  });
}

/** The counts of a row of the table `usage`, in the order of `measures`. */
export function amountsOf(row: Readonly<Record<string, unknown>>): number[] {
  return measures.map((name) => {
    if (name === 'entries') return 1;
    if (name === 'unpriced') return row['total_cost'] === null ? 1 : 0;
    return Number(row[name] ?? 0);
  });
}

function modelName({ attempt }: Used): string[] {
  return [plainText(attempt.model), plainText(attempt.provider_type), plainText(attempt.provider_name)];
}

function pathName({ record }: Used): string[] {
  return [plainText(foldUserPath(record.user_path)), askedByOf(record), plainText(record.user_path)];
}

function valuesOf({ record, attempt, usage, isRequest }: Used, model: number, path: number) {
  const { cost } = usage;
  return {
    record: plainText(record.id),
    seq: wholeNumber(attempt.seq),
    at_ms: plainMoment(attempt.started_ms + attempt.duration_ns / 1e6),
    request_id: plainText(record.request_id),
    provider_id: plainTextOrNull(usage.provider_id),
    model,
    path,
    endpoint: plainText(record.path),
    session_id: plainTextOrNull(record.session_id),
    auth_key_id: plainTextOrNull(record.auth_key_id),
    cache_type: record.cache_type ?? '',
    source: usage.source,
    input_tokens: bounded(usage.input_tokens, mostCounted) ?? 0,
    output_tokens: bounded(usage.output_tokens, mostCounted) ?? 0,
    total_tokens: bounded(usage.total_tokens, mostCounted) ?? 0,
    cached_input_tokens: bounded(usage.cached_input_tokens, mostCounted),
    cache_write_input_tokens: bounded(usage.cache_write_input_tokens, mostCounted),
    reasoning_tokens: bounded(usage.reasoning_tokens, mostCounted),
    audio_input_tokens: bounded(usage.audio_input_tokens, mostCounted),
    audio_output_tokens: bounded(usage.audio_output_tokens, mostCounted),
    audio_seconds: usage.audio_seconds ?? null,
    characters: bounded(usage.characters, mostCounted),
    images: bounded(usage.images, mostCounted),
    input_cost: bounded(cost?.input, mostCost),
    output_cost: bounded(cost?.output, mostCost),
    total_cost: bounded(cost?.total, mostCost),
    requests: isRequest ? 1 : 0,
    attempts: record.cache_type === undefined && record.counts_as !== 'nothing' ? 1 : 0,
  };
}

function bounded(value: number | undefined, most: number): number | null {
  return value === undefined ? null : Math.min(Math.max(wholeNumber(value), -most), most);
}
