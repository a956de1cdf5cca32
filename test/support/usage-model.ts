// The usage queries of a record store over a plain list: what an engine has to answer, written as simply as its contract says it.
import type { RequestRecord } from '../../schemas/records/request-record.ts';
import type { NanoDollars } from '../../schemas/records/usage.ts';
import { isWithin } from '../../schemas/user-path.ts';
import type { RecordStore, UsageEntry, UsageFilter, UsageRow, UsageTotals } from '../../store/records/record-store.ts';

export type UsageModel = Pick<RecordStore, 'usageTotals' | 'usageBuckets' | 'usageBy' | 'usageLog'> & {
  add(records: readonly RequestRecord[]): void;
};

/** Answers from the records that were added; each is added once. */
export function usageModel(): UsageModel {
  const used: UsageEntry[] = [];
  const count = (filter: UsageFilter) => used.filter((usage) => isUsageOf(filter, usage));
  return {
    add: (records) => void used.push(...records.flatMap(usagesOf)),
    usageTotals: async (filter) => totalsOf(count(filter)),
    async usageBuckets(filter, edges) {
      const buckets = [...Map.groupBy(count(filter), ({ at_ms }) => bucketOf(edges, at_ms))];
      return buckets.toSorted(([a], [b]) => a - b).map(([bucket, some]) => ({ bucket, ...totalsOf(some) }));
    },
    async usageBy(filter, dimension, { limit, offset }) {
      const keyed = count(filter).flatMap((usage) => {
        const keys = { model: [usage.model], user_path: [usage.user_path], label: usage.labels ?? [] };
        const of = dimension === 'session' ? (usage.session_id ?? []) : keys[dimension];
        return [of].flat().map((key) => ({ key, usage }));
      });
      const group = ({ key, usage }: (typeof keyed)[number]) =>
        dimension === 'model' ? `${usage.provider_name}/${key}` : key;
      const rows = [...Map.groupBy(keyed, group).values()].map((some): UsageRow => {
        const usages = some.map(({ usage }) => usage).toSorted((a, b) => b.at_ms - a.at_ms);
        const [{ key } = { key: '' }] = some;
        const [latest] = usages;
        if (latest === undefined) throw new Error('a group of nothing');
        const { provider, provider_name, user_path, at_ms } = latest;
        const more =
          dimension === 'model'
            ? { provider, provider_name }
            : dimension === 'session'
              ? { user_path, last_ms: at_ms }
              : {};
        return { key, ...more, ...totalsOf(usages) };
      });
      const dearest = (a: UsageRow, b: UsageRow) =>
        (b.total_cost ?? 0) - (a.total_cost ?? 0) || b.total_tokens - a.total_tokens;
      const sorted = rows.toSorted(dimension === 'session' ? (a, b) => (b.last_ms ?? 0) - (a.last_ms ?? 0) : dearest);
      return { total: sorted.length, rows: sorted.slice(offset, offset + limit) };
    },
    async usageLog(filter, { limit, offset }, search) {
      const all = count(filter)
        .filter(({ request_id, model, provider, provider_name, session_id }) =>
          [request_id, model, provider, provider_name, session_id].some((text) => has(text, search)),
        )
        .toSorted((a, b) => b.at_ms - a.at_ms || (a.id < b.id ? 1 : -1));
      return { total: all.length, entries: all.slice(offset, offset + limit) };
    },
  };
}

/** Without a word, everything has it. */
function has(text: string | undefined, word: string | undefined): boolean {
  return word === undefined || (text ?? '').toLowerCase().includes(word.toLowerCase());
}

function isUsageOf({ span, userPath = '/', ...filter }: UsageFilter, usage: UsageEntry): boolean {
  const isCached = usage.cache_type !== undefined;
  return (
    usage.at_ms >= span.fromMs &&
    usage.at_ms < span.toMs &&
    isWithin(usage.user_path, userPath) &&
    (filter.model === undefined || [usage.model, `${usage.provider_name}/${usage.model}`].includes(filter.model)) &&
    (filter.provider === undefined || [usage.provider, usage.provider_name].includes(filter.provider)) &&
    (filter.label === undefined || usage.labels?.includes(filter.label) === true) &&
    (filter.sessionId === undefined || usage.session_id === filter.sessionId) &&
    (filter.cacheMode === 'all' || isCached === (filter.cacheMode === 'cached'))
  );
}

function usagesOf(record: RequestRecord): UsageEntry[] {
  const { id, request_id, session_id, labels, cache_type, user_path, path } = record;
  return record.attempts.flatMap(({ seq, model, provider_name, provider_type, started_ms, duration_ns, usage }) => {
    if (usage === undefined) return [];
    const { cost, ...counts } = usage;
    return [
      {
        id: `${id}-${seq}`,
        request_id,
        at_ms: Math.trunc(started_ms + duration_ns / 1e6),
        model,
        provider: provider_type,
        provider_name,
        endpoint: path,
        user_path,
        ...(cache_type === undefined ? {} : { cache_type }),
        ...(labels === undefined ? {} : { labels }),
        ...(session_id === undefined ? {} : { session_id }),
        ...counts,
        input_cost: cost?.input ?? null,
        output_cost: cost?.output ?? null,
        total_cost: cost?.total ?? null,
      },
    ];
  });
}

function totalsOf(usages: readonly UsageEntry[]): UsageTotals {
  const sum = (of: (usage: UsageEntry) => number | undefined) =>
    usages.reduce((total, usage) => total + (of(usage) ?? 0), 0);
  const cost = (of: (usage: UsageEntry) => NanoDollars | null) =>
    usages.every((usage) => of(usage) === null) ? null : sum((usage) => of(usage) ?? 0);
  return {
    requests: usages.length,
    input_tokens: sum((usage) => usage.input_tokens),
    output_tokens: sum((usage) => usage.output_tokens),
    total_tokens: sum((usage) => usage.total_tokens),
    cached_input_tokens: sum((usage) => usage.cached_input_tokens),
    cache_write_input_tokens: sum((usage) => usage.cache_write_input_tokens),
    reasoning_tokens: sum((usage) => usage.reasoning_tokens),
    input_cost: cost((usage) => usage.input_cost),
    output_cost: cost((usage) => usage.output_cost),
    total_cost: cost((usage) => usage.total_cost),
    unpriced: usages.filter(({ total_cost }) => total_cost === null).length,
  };
}

function bucketOf(edges: readonly number[], ms: number): number {
  return edges.findLastIndex((edge) => edge <= ms);
}
