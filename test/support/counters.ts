// A proxy that only counts, for tests of counters: makes calls, reads what it reports, and reads the counters in its state file.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { CounterRow, Pair } from '../../domain/rules/counter-row.ts';
import { decodeCounts } from '../../domain/rules/counter-text.ts';
import { ask, usageOf } from './consumer.ts';
import type { Gateway } from './gateway.ts';

export interface Limit {
  period?: string;
  period_seconds?: number;
  max_requests?: number;
  max_tokens?: number;
}

/** A window and slots that count and never refuse. */
export const roomy: Limit = { period: 'hour', max_requests: 1_000_000, max_tokens: 1_000_000_000 };
export const slots: Limit = { period: 'concurrent', max_requests: 500 };

/** A config with these limits for all clients. */
export function limits(...rules: Limit[]): { rate_limits: object } {
  return { rate_limits: { user_paths: [{ path: '/', limits: rules }] } };
}

export interface Sum {
  readonly requests: number;
  readonly tokens: number;
}

export const nothing: Sum = { requests: 0, tokens: 0 };

export function plus(a: Sum, b: Sum): Sum {
  return { requests: a.requests + b.requests, tokens: a.tokens + b.tokens };
}

/** One call to its end; its status, and what it has cost. */
export async function askOnce(
  gateway: Gateway,
  userPath?: string,
): Promise<{ status: number; tokens: number; retryAfter: number }> {
  const { status, headers, text } = await ask(gateway, userPath, { model: 'fake-small' });
  const { usage } = JSON.parse(text) as { usage?: { total_tokens: number } };
  return { status, tokens: usage?.total_tokens ?? 0, retryAfter: Number(headers.get('retry-after') ?? 0) };
}

/** Makes `times` calls, one after the other; returns their cost. */
export async function askTimes(gateway: Gateway, times: number, userPath?: string): Promise<Sum> {
  let sum = nothing;
  for (let count = 0; count < times; count += 1) {
    const { status, tokens } = await askOnce(gateway, userPath);
    if (status !== 200) throw new Error(`request ${count} got ${status}`);
    sum = plus(sum, { requests: 1, tokens });
  }
  return sum;
}

/** The counts in the window of that period. */
export async function usedOf(gateway: Gateway, periodSeconds = 3_600, userPath?: string): Promise<Sum> {
  const row = (await usageOf(gateway, userPath)).find(({ period_seconds: seconds }) => seconds === periodSeconds);
  if (row === undefined) throw new Error(`no rule of ${periodSeconds} s`);
  return { requests: row.requests_used, tokens: row.tokens_used };
}

/** How many slots are taken. */
export async function inFlightOf(gateway: Gateway): Promise<number> {
  const row = (await usageOf(gateway)).find(({ period_seconds: seconds }) => seconds === 0);
  if (row === undefined) throw new Error('no rule of slots');
  return row.in_flight;
}

/** Windows and slots at one moment. */
export async function countsOf(gateway: Gateway): Promise<Sum & { readonly inFlight: number }> {
  const rows = await usageOf(gateway);
  const find = (periodSeconds: number) => rows.find(({ period_seconds: seconds }) => seconds === periodSeconds);
  const [window, gauge] = [find(3_600), find(0)];
  if (window === undefined || gauge === undefined) throw new Error('a rule is missing');
  return { requests: window.requests_used, tokens: window.tokens_used, inFlight: gauge.in_flight };
}

type HasState = Pick<Gateway, 'dataDir'>;

export function stateFileOf({ dataDir }: HasState): string {
  return join(dataDir, 'state.sqlite');
}

/** Runs SQL on the state file as another process. */
export function sql(gateway: HasState, text: string, ...values: (string | number)[]) {
  const database = new DatabaseSync(stateFileOf(gateway), { timeout: 1_000 });
  try {
    return database.prepare(text).all(...values);
  } finally {
    database.close();
  }
}

export interface StoredCounter {
  readonly instance: string;
  readonly child: string;
  readonly rule: string;
  readonly requests: readonly Pair[];
  readonly tokens: readonly Pair[];
}

/** The counters of all instances. */
export function storedCounters(gateway: HasState): StoredCounter[] {
  return sql(gateway, 'SELECT instance, rule_key, child, counts FROM counter').map((row) => {
    const { requests, tokens } = countsIn(row);
    const rule = String(row['rule_key']);
    return { instance: String(row['instance']), child: String(row['child']), rule, requests, tokens };
  });
}

/** Of a row of the table `counter`. */
export function countsIn(row: Readonly<Record<string, unknown>>): CounterRow {
  const counts = decodeCounts('', '', String(row['counts']));
  if (counts === undefined) throw new Error(`no counts: ${String(row['counts'])}`);
  return counts;
}

export function sumOf(pairs: readonly Pair[]): number {
  return pairs.reduce((sum, [, count]) => sum + count, 0);
}
