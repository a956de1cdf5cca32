// What the record store has to say of usage, said in the plainest way: all usage records in an array, filtered and summed for each question.
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { AttemptUsage } from '../../domain/records/usage.ts';
import { directChild, isWithin } from '../../domain/user-path.ts';
import type {
  Page,
  Span,
  SpendQuestion,
  UsageDimension,
  UsageEntry,
  UsageFilter,
  UsageRow,
  UsageTotals,
} from '../../store/records/record-store.ts';
import { createRandom } from '../support/random.ts';
import { beginMs, hourMs, isSession, record } from './record-store-model.ts';

export type Pick = <Item>(...items: readonly Item[]) => Item;

export function picker(seed: number): { readonly pick: Pick; readonly below: (end: number) => number } {
  const random = createRandom(seed);
  const below = (end: number): number => Math.floor(random() * end);
  return { pick: (...items) => items[below(items.length)] as (typeof items)[number], below };
}

const spanMs = 80 * hourMs;

/** Records over more than three days, in no order of time, with many at the edges of quarters of an hour. */
export function usageRecords(count: number): RequestRecord[] {
  const { pick, below } = picker(11);
  const used = (): AttemptUsage => {
    const [input, output] = [below(5_000), below(500)];
    const cost = { input: input * 2_500, output: output * 10_000, total: input * 2_500 + output * 10_000 };
    return {
      input_tokens: input,
      output_tokens: output,
      total_tokens: input + output,
      ...(pick(true, false) ? { cached_input_tokens: below(99), reasoning_tokens: below(9) } : {}),
      ...pick({}, { cache_write_input_tokens: 3 }, { audio_seconds: 0.5, images: 2 }),
      source: pick('reported', 'estimated', 'partial'),
      cost: pick(cost, cost, null, { input: 0, output: 0, total: 0 }),
      ...pick({}, { provider_id: `chatcmpl-${below(9)}` }),
    };
  };
  return Array.from({ length: count }, (_, seed) => {
    const endMs = pick(beginMs, beginMs - (beginMs % hourMs) + pick(-1, 0, 1)) + below(spanMs / 900_000) * 900_000;
    const attempts = Array.from({ length: pick(1, 1, 1, 2) }, (_each, index) => ({
      seq: index + 1,
      kind: 'primary' as const,
      ...pick(
        { model: 'gpt-4o', provider_name: 'eu', provider_type: 'openai' },
        { model: 'gpt-4o', provider_name: 'us', provider_type: 'openai' },
        { model: 'eu/gpt-4o', provider_name: 'anthropic', provider_type: 'openai' },
        { model: 'sonnet', provider_name: 'anthropic', provider_type: 'anthropic' },
        { model: 'free', provider_name: 'local', provider_type: 'openai' },
      ),
      started_ms: endMs - 250 * (index + 1),
      duration_ns: 250e6,
      success: pick(true, false),
      ...(below(20) === 0 ? {} : { usage: used() }),
    }));
    const named = `case-1~${pick('0', 'f').repeat(16)}`;
    const session = pick(undefined, 'scoped-a', 'scoped-b', `scoped-${below(60)}`, named);
    const labels = pick<readonly string[] | undefined>(undefined, ['web'], ['web', 'night', 'web'], ['10%'], []);
    const key = pick(undefined, 'key-a', 'key-b');
    const counting = pick(undefined, undefined, undefined, 'calls' as const, 'nothing' as const);
    const cache = pick(undefined, undefined, undefined, 'exact' as const, 'semantic' as const);
    return record(seed, {
      user_path: pick('/', '/team', '/team/app', '/team/app/x', '/team-alpha', '/other/app'),
      request_id: `Req-${seed}`,
      attempts,
      ...(session === undefined ? {} : { session_id: session }),
      ...(labels === undefined ? {} : { labels }),
      ...(key === undefined ? {} : { auth_key_id: key }),
      ...(cache === undefined ? {} : { cache_type: cache }),
      ...(counting === undefined ? {} : { counts_as: counting }),
      ...(counting === 'calls' && pick(true, false) ? { asked_by: 'gateway' as const } : {}),
    });
  });
}

/** Of each entry by its id: how many requests of clients, and calls of providers, it is. */
const countsOf = new Map<string, { readonly requests: number; readonly attempts: number }>();

function noteCounts({ id, cache_type, counts_as, attempts }: RequestRecord): void {
  const used = attempts.filter(({ usage }) => usage !== undefined);
  const answering = used.findLast(({ success }) => success) ?? used.at(-1);
  for (const attempt of used)
    countsOf.set(`${id}-${attempt.seq}`, {
      requests: counts_as === undefined && attempt === answering ? 1 : 0,
      attempts: counts_as === 'nothing' || cache_type !== undefined ? 0 : 1,
    });
}

/** In the order in which they are kept. */
export function entriesOf(records: readonly RequestRecord[]): UsageEntry[] {
  for (const each of records) noteCounts(each);
  return records.flatMap(
    ({ id, request_id, path, user_path, asked_by, auth_key_id, session_id, cache_type, labels = [], attempts }) =>
      attempts.flatMap(({ seq, model, provider_type, provider_name, started_ms, duration_ns, usage }): UsageEntry[] => {
        if (usage === undefined) return [];
        const { cost, ...counts } = usage;
        return [
          {
            id: `${id}-${seq}`,
            request_id,
            at_ms: started_ms + duration_ns / 1e6,
            model,
            provider: provider_type,
            provider_name,
            endpoint: path,
            user_path,
            asked_by: asked_by ?? 'client',
            ...(cache_type === undefined ? {} : { cache_type }),
            ...(labels.length === 0 ? {} : { labels: [...new Set(labels)].sort() }),
            ...(auth_key_id === undefined ? {} : { auth_key_id }),
            ...(session_id === undefined ? {} : { session_id }),
            ...counts,
            input_cost: cost?.input ?? null,
            output_cost: cost?.output ?? null,
            total_cost: cost?.total ?? null,
          },
        ];
      }),
  );
}

export function matching(all: readonly UsageEntry[], filter: UsageFilter, search?: string): UsageEntry[] {
  const { span, userPath, model, provider, label, sessionId, askedBy, cacheMode } = filter;
  return all.filter(
    (entry) =>
      entry.at_ms >= span.fromMs &&
      entry.at_ms < span.toMs &&
      (userPath === undefined || isWithin(entry.user_path, userPath)) &&
      (model === undefined || [entry.model, `${entry.provider_name}/${entry.model}`].includes(model)) &&
      (provider === undefined || [entry.provider, entry.provider_name].includes(provider)) &&
      (label === undefined || entry.labels?.includes(label) === true) &&
      (sessionId === undefined || isSession(entry.session_id, sessionId)) &&
      (askedBy === undefined || entry.asked_by === askedBy) &&
      (cacheMode === 'all' || (cacheMode === 'cached') === (entry.cache_type !== undefined)) &&
      (search === undefined ||
        [entry.request_id, entry.model, entry.provider, entry.provider_name, entry.session_id ?? ''].some((text) =>
          text.toLowerCase().includes(search.toLowerCase()),
        )),
  );
}

export function totals(entries: readonly UsageEntry[]): UsageTotals {
  const sum = (read: (entry: UsageEntry) => number | null | undefined): number =>
    entries.reduce((total, entry) => total + (read(entry) ?? 0), 0);
  const priced = entries.filter(({ total_cost: cost }) => cost !== null);
  const cost = (read: (entry: UsageEntry) => number | null): number | null => (priced.length > 0 ? sum(read) : null);
  return {
    entries: entries.length,
    requests: sum(({ id }) => countsOf.get(id)?.requests),
    attempts: sum(({ id }) => countsOf.get(id)?.attempts),
    input_tokens: sum((entry) => entry.input_tokens),
    output_tokens: sum((entry) => entry.output_tokens),
    total_tokens: sum((entry) => entry.total_tokens),
    cached_input_tokens: sum((entry) => entry.cached_input_tokens),
    cache_write_input_tokens: sum((entry) => entry.cache_write_input_tokens),
    reasoning_tokens: sum((entry) => entry.reasoning_tokens),
    input_cost: cost((entry) => entry.input_cost),
    output_cost: cost((entry) => entry.output_cost),
    total_cost: cost((entry) => entry.total_cost),
    unpriced: entries.length - priced.length,
  };
}

export function buckets(all: readonly UsageEntry[], filter: UsageFilter, edges: readonly number[]) {
  return edges.slice(1).flatMap((toMs, bucket) => {
    const within = matching(all, { ...filter, span: { fromMs: edges[bucket] ?? 0, toMs } });
    return within.length === 0 ? [] : [{ bucket, ...totals(within) }];
  });
}

export function rows(all: readonly UsageEntry[], filter: UsageFilter, dimension: UsageDimension, page: Page) {
  const namesOf = (entry: UsageEntry): readonly string[] => {
    if (dimension === 'model') return [JSON.stringify([entry.model, entry.provider, entry.provider_name])];
    if (dimension === 'user_path') return [entry.user_path];
    if (dimension === 'label') return entry.labels ?? [];
    return [entry[dimension === 'session' ? 'session_id' : dimension] ?? ''].filter((id) => id !== '');
  };
  const groups = new Map<string, UsageEntry[]>();
  for (const entry of matching(all, filter).sort(newestFirst(all)))
    for (const name of namesOf(entry)) groups.set(name, [...(groups.get(name) ?? []), entry]);
  const found = [...groups].map(([name, entries]): UsageRow => {
    const [latest] = entries;
    if (dimension === 'model') {
      const [key = '', provider = '', provider_name = ''] = JSON.parse(name) as string[];
      return { key, provider, provider_name, ...totals(entries) };
    }
    const session = { user_path: latest?.user_path ?? '', last_ms: latest?.at_ms ?? 0 };
    return { key: name, ...(dimension === 'session' ? session : {}), ...totals(entries) };
  });
  const name = ({ key, provider, provider_name: instance }: UsageRow): string =>
    JSON.stringify([key, provider, instance]);
  found.sort(
    (a, b) =>
      (b.last_ms ?? 0) - (a.last_ms ?? 0) ||
      (dimension === 'session' ? 0 : (b.total_cost ?? 0) - (a.total_cost ?? 0) || b.total_tokens - a.total_tokens) ||
      (name(a) < name(b) ? -1 : 1),
  );
  return { total: found.length, rows: found.slice(page.offset, page.offset + page.limit) };
}

/** Of two of one moment, the one that was kept later is the newer one. */
function newestFirst(all: readonly UsageEntry[]): (a: UsageEntry, b: UsageEntry) => number {
  const place = new Map(all.map((entry, index) => [entry.id, index]));
  return (a, b) => b.at_ms - a.at_ms || (place.get(b.id) ?? 0) - (place.get(a.id) ?? 0);
}

export function log(all: readonly UsageEntry[], filter: UsageFilter, { limit, offset }: Page, search?: string) {
  const found = matching(all, filter, search).sort(newestFirst(all));
  return { total: found.length, entries: found.slice(offset, offset + limit) };
}

export function spend(all: readonly UsageEntry[], { scope, subject, perChild, fromMs }: SpendQuestion) {
  const sums: Record<string, number> = {};
  for (const entry of matching(all, { span: { fromMs, toMs: Number.MAX_SAFE_INTEGER }, cacheMode: 'uncached' })) {
    const path = isWithin(entry.user_path, subject) ? subject : undefined;
    const ofPath = perChild ? directChild(entry.user_path, subject) : path;
    const key = scope === 'label' ? entry.labels?.find((label) => label === subject) : ofPath;
    const cost = entry.total_cost ?? 0;
    if (key !== undefined && cost > 0) sums[key] = (sums[key] ?? 0) + cost;
  }
  return sums;
}

/** A span with edges of every kind: whole days and hours, half hours, quarters, and moments of records, before, at and after. */
export function someSpan({ pick, below }: ReturnType<typeof picker>): Span {
  const edge = (): number => {
    const grain = pick(24 * hourMs, hourMs, hourMs / 2, hourMs / 4, 1);
    const moment = beginMs - 5 * hourMs + below(spanMs + 10 * hourMs);
    return moment - (moment % grain) + pick(0, 0, 0, 1, -1);
  };
  const [fromMs = 0, toMs = 0] = [edge(), edge()].sort((a, b) => a - b);
  return pick<Span>({ fromMs, toMs }, { fromMs, toMs }, { fromMs: 0, toMs: 2 * beginMs });
}

export function someFilter(source: ReturnType<typeof picker>): UsageFilter {
  const { pick } = source;
  const given = <Value>(name: string, ...values: readonly Value[]) => pick({}, {}, {}, { [name]: pick(...values) });
  return {
    span: someSpan(source),
    ...given('userPath', '/', '/team', '/team/app', '/tea', '/other'),
    ...given('model', 'gpt-4o', 'eu/gpt-4o', 'anthropic/sonnet', 'GPT-4o', 'openai/free'),
    ...given('provider', 'openai', 'anthropic', 'eu', 'e'),
    ...given('label', 'web', 'night', '10%', 'We'),
    ...given('sessionId', 'scoped-a', 'scoped-7', 'scoped', 'case-1'),
    ...given('askedBy', 'client' as const, 'gateway' as const),
    cacheMode: pick('uncached', 'uncached', 'cached', 'all'),
  };
}
