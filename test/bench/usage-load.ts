// The usage records of a busy month, and the reports that are made of them. Models, user paths and labels are drawn independently: sums
// are then nearly as many as records, which is the worst there is for them.
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { SpendQuestion, UsageFilter } from '../../store/records/record-store.ts';
import { randomFrom } from './record-load.ts';
import type { RecordQuery } from './record-queries.ts';

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const days = 30;
const keys = 300;
const labels = 50;
const models = 30;
const providers = ['openai', 'anthropic', 'gemini', 'azure', 'local'];
const userPaths = Array.from({ length: 1_000 }, (_, index) => `/team-${index % 20}/app-${index % 100}/user-${index}`);

/** Batches of `size` records without an audit entry, the oldest first; the last one ends just before `endMs`. */
export function* usageBatches(count: number, endMs: number, size: number): Generator<RequestRecord[]> {
  const random = randomFrom(7);
  for (let at = 0; at < count; at += size)
    yield Array.from({ length: Math.min(size, count - at) }, (_, index) => {
      const endsMs = endMs - Math.ceil(((count - at - index) / count) * days * dayMs);
      return usageRecord(at + index, endsMs, random);
    });
}

function usageRecord(index: number, endMs: number, random: () => number): RequestRecord {
  const below = (end: number): number => Math.floor(random() * end);
  const hex = (digits: number): string =>
    below(16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  const model = below(models);
  const provider = providers[model % providers.length] ?? '';
  const [input, session] = [below(4_000), Math.floor(index / 40) * 8 + below(8)];
  const cost = { input: input * 2_500, output: 1_000_000, total: input * 2_500 + 1_000_000 };
  return {
    id: `${endMs.toString(16).padStart(12, '0')}-${hex(10)}-${index}`,
    request_id: `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    ...(below(4) === 0 ? {} : { session_id: `scoped-${session.toString(16).padStart(32, '0')}` }),
    started_ms: endMs - 2_000,
    duration_ns: 2e9,
    method: 'POST',
    path: '/v1/chat/completions',
    status_code: 200,
    stream: true,
    user_path: userPaths[below(userPaths.length)] ?? '/',
    ...(below(10) === 0 ? {} : { auth_key_id: `key-${below(keys)}` }),
    client_ip: '10.1.2.3',
    alias_used: false,
    ...(below(10) === 0 ? { cache_type: 'exact' } : {}),
    labels: Array.from({ length: below(3) }, () => `label-${below(labels)}`),
    attempts: [
      {
        seq: 1,
        kind: 'primary',
        model: `model-${model}`,
        provider_name: provider,
        provider_type: provider,
        started_ms: endMs - 2_000,
        duration_ns: 2e9,
        success: true,
        usage: {
          input_tokens: input,
          output_tokens: 100,
          total_tokens: input + 100,
          cached_input_tokens: below(100),
          source: 'reported',
          cost: below(20) === 0 ? null : cost,
          provider_id: `chatcmpl-${hex(12)}`,
        },
      },
    ],
  };
}

/** Reports of 30 days, as readers in UTC, in UTC+2 and in UTC+5:45 see them; the log; and the spend of a thousand budgets. */
export function usageQueries(endMs: number): readonly RecordQuery[] {
  const lastMs = Math.ceil(endMs / dayMs) * dayMs;
  const month = (offsetHours: number, more: Partial<UsageFilter> = {}): UsageFilter => ({
    span: { fromMs: lastMs - days * dayMs - offsetHours * hourMs, toMs: lastMs - offsetHours * hourMs },
    cacheMode: 'uncached',
    ...more,
  });
  const edges = ({ span }: UsageFilter): number[] =>
    Array.from({ length: days + 1 }, (_, index) => span.fromMs + index * dayMs);
  const all = { limit: 1_000, offset: 0 };
  const page = { limit: 50, offset: 0 };
  const reports = (name: string, filter: UsageFilter): RecordQuery[] => [
    { name: `summary, ${name}`, operation: 'usageTotals', inputs: [[filter]] },
    { name: `daily, ${name}`, operation: 'usageBuckets', inputs: [[filter, edges(filter)]] },
    { name: `models, ${name}`, operation: 'usageBy', inputs: [[filter, 'model', all]] },
    { name: `user paths, ${name}`, operation: 'usageBy', inputs: [[filter, 'user_path', all]] },
  ];
  const log = (name: string, more: Partial<UsageFilter>, ...rest: readonly unknown[]): RecordQuery => ({
    name,
    operation: 'usageLog',
    inputs: [[month(2, more), page, ...rest]],
  });
  const [userPath = ''] = userPaths;
  return [
    ...reports('UTC', month(0)),
    ...reports('UTC+2', month(2)),
    ...reports('UTC+5:45', month(5.75)),
    ...reports('a team', month(2, { userPath: '/team-3' })),
    { name: 'keys', operation: 'usageBy', inputs: [[month(2), 'auth_key_id', all]] },
    { name: 'keys, a team', operation: 'usageBy', inputs: [[month(2, { userPath: '/team-3' }), 'auth_key_id', all]] },
    { name: 'labels', operation: 'usageBy', inputs: [[month(2), 'label', all]] },
    { name: 'models, a label', operation: 'usageBy', inputs: [[month(2, { label: 'label-3' }), 'model', all]] },
    { name: 'labels, a team', operation: 'usageBy', inputs: [[month(2, { userPath: '/team-3' }), 'label', all]] },
    { name: 'sessions', operation: 'usageBy', inputs: [[month(2), 'session', page]] },
    log('no filter', {}),
    { name: 'offset 100,000', operation: 'usageLog', inputs: [[month(2), { limit: 50, offset: 100_000 }]] },
    log('model', { model: 'model-3' }),
    log('team', { userPath: '/team-3' }),
    log('user path', { userPath }),
    log('user path and model', { userPath, model: 'model-3' }),
    log('label', { label: 'label-3' }),
    log('search: nothing', {}, 'no-such-request'),
    { name: '1,000 budgets', operation: 'spend', inputs: [[budgets(lastMs)]] },
    { name: '1,000 budgets, 20 resets', operation: 'spend', inputs: [[budgets(lastMs, 20)]] },
  ];
}

/** Of the hour, the day, the week and the month; or since as many moments at which they began anew. */
function budgets(lastMs: number, resets = 0): readonly SpendQuestion[] {
  const periods = [13 * hourMs, dayMs, 7 * dayMs, days * dayMs];
  const moments =
    resets === 0
      ? periods.map((period) => lastMs - period)
      : Array.from({ length: resets }, (_, index) => lastMs - Math.floor((index / resets) * days * dayMs) - 12_345);
  return Array.from({ length: 1_000 }, (_, index) => ({
    ...(index % 10 === 0
      ? { scope: 'label' as const, subject: `label-${index % labels}` }
      : { scope: 'user_path' as const, subject: (index % 3 === 0 ? `/team-${index % 20}` : userPaths[index]) ?? '/' }),
    perChild: index % 30 === 3,
    fromMs: moments[index % moments.length] ?? 0,
  }));
}
