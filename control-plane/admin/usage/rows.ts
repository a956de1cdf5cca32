// Usage as the admin API shows it: sums, rows of sums, and single records, in JSON and in tables. Pure.
import type { NanoDollars } from '../../../domain/records/usage.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { UsageDimension, UsageEntry, UsageRow, UsageTotals } from '../../../store/records/record-store.ts';

/** How costs are written: `dollars` in JSON, `dollarText` in tables. */
export type Money = (cost: NanoDollars | null) => number | string | null;

const sumColumns = [
  'requests',
  'attempts',
  'input_tokens',
  'output_tokens',
  'total_tokens',
  'uncached_input_tokens',
  'cached_input_tokens',
  'cache_write_input_tokens',
  'reasoning_tokens',
  'input_cost',
  'output_cost',
  'total_cost',
  'unpriced_requests',
] as const;

/** The columns of tables. */
export const columns = {
  daily: ['date', ...sumColumns],
  model: ['model', 'provider', 'provider_name', ...sumColumns],
  user_path: ['user_path', ...sumColumns],
  auth_key_id: ['auth_key_id', ...sumColumns],
  label: ['label', ...sumColumns],
  log: [
    'id',
    'timestamp',
    'request_id',
    'provider_id',
    'user_path',
    'auth_key_id',
    'session_id',
    'endpoint',
    'provider',
    'provider_name',
    'model',
    'labels',
    'cache_type',
    'source',
    'input_tokens',
    'output_tokens',
    'total_tokens',
    'cached_input_tokens',
    'cache_write_input_tokens',
    'reasoning_tokens',
    'audio_input_tokens',
    'audio_output_tokens',
    'audio_seconds',
    'characters',
    'images',
    'input_cost',
    'output_cost',
    'total_cost',
    'asked_by',
  ],
} as const;

/** Costs that are not known are null. */
export function sums(totals: UsageTotals, money: Money): object {
  const { input_tokens, cached_input_tokens } = totals;
  return {
    requests: totals.requests,
    attempts: totals.attempts,
    input_tokens,
    output_tokens: totals.output_tokens,
    total_tokens: totals.total_tokens,
    uncached_input_tokens: Math.max(input_tokens - cached_input_tokens, 0),
    cached_input_tokens,
    cache_write_input_tokens: totals.cache_write_input_tokens,
    reasoning_tokens: totals.reasoning_tokens,
    input_cost: money(totals.input_cost),
    output_cost: money(totals.output_cost),
    total_cost: money(totals.total_cost),
    unpriced_requests: totals.unpriced,
  };
}

/** The totals of a span: the same sums with `total_` before what is counted, as `/v1/usage` names them. */
export function totalSums(totals: UsageTotals, money: Money): object {
  const { requests, input_tokens, output_tokens, total_tokens, input_cost, output_cost, total_cost, ...parts } = sums(
    totals,
    money,
  ) as Record<string, unknown>;
  return {
    total_requests: requests,
    total_input_tokens: input_tokens,
    total_output_tokens: output_tokens,
    total_tokens,
    ...parts,
    total_input_cost: input_cost,
    total_output_cost: output_cost,
    total_cost,
  };
}

/** Members that do not apply are left out. */
export function rowOf(row: UsageRow, dimension: UsageDimension, money: Money): object {
  const { key, provider, provider_name, user_path, last_ms } = row;
  return {
    ...(dimension === 'session' ? { session_id: key } : { [dimension]: key }),
    ...(provider === undefined ? {} : { provider }),
    ...(provider_name === undefined ? {} : { provider_name }),
    ...(user_path === undefined ? {} : { user_path }),
    ...(last_ms === undefined ? {} : { last_activity: timestamp(last_ms) }),
    ...sums(row, money),
  };
}

export function logEntry({ at_ms, ...entry }: UsageEntry, money: Money): object {
  const { input_cost, output_cost, total_cost } = entry;
  return {
    ...entry,
    timestamp: timestamp(at_ms),
    input_cost: money(input_cost),
    output_cost: money(output_cost),
    total_cost: money(total_cost),
  };
}
