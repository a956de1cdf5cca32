// What both engines of the record store have to say of single minutes, and of how long requests took. Each case has an empty store of its own.
import { type Test, test } from 'tap';
import type { AttemptRecord, RequestRecord } from '../../domain/records/request-record.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { AuditBucket, Percentiles, UsageFilter } from '../../store/records/record-store.ts';
import { withoutMinutes } from './older-records.ts';
import type { RecordEngine } from './record-store-engines.ts';
import { beginMs, hourMs, record } from './record-store-model.ts';
import { buckets, entriesOf, matching, picker, rows, totals, usageRecords } from './usage-model.ts';

type Case = (t: Test, engine: RecordEngine) => Promise<void>;

const minuteMs = 60_000;
const dayMs = 24 * hourMs;
const startMs = beginMs - (beginMs % minuteMs);
const edgesOf = (fromMs: number, stepMs: number, count: number): number[] =>
  Array.from({ length: count + 1 }, (_, index) => fromMs + index * stepMs);

/** A cost that became known later. */
const late: AttemptRecord = {
  seq: 1,
  kind: 'primary',
  model: 'gpt-4o',
  provider_name: 'openai',
  provider_type: 'openai',
  started_ms: beginMs,
  duration_ns: 0,
  success: true,
  usage: { input_tokens: 0, output_tokens: 0, total_tokens: 0, source: 'reported', cost: null },
};

/** Requests of four hours, by several consumers, that took from some milliseconds to a minute. */
function requests(count: number): RequestRecord[] {
  const { pick, below } = picker(7);
  return Array.from({ length: count }, (_, seed) => {
    const status_code = pick(200, 200, 200, 201, 429, 400, 502, 101);
    const duration_ns = Math.round(10 ** (6 + below(4_700) / 1_000));
    const { data, ...asked } = record(seed, {
      started_ms: startMs + below(4 * hourMs),
      duration_ns,
      ...(status_code === 200 ? { first_byte_ns: Math.round(duration_ns / 3) } : {}),
      status_code,
      user_path: pick('/', '/team', '/Team/app', '/team/app/ann', '/team-alpha', '/other'),
      ...pick({}, {}, {}, { asked_by: 'gateway' as const }, { counts_as: 'nothing' as const, attempts: [late] }),
    });
    return asked.counts_as === 'nothing' ? asked : { ...asked, data };
  });
}

/** What was counted, said in the plainest way. */
function expected(all: readonly RequestRecord[], userPath: string, edges: readonly number[]) {
  const counted = all.filter(
    ({ asked_by, counts_as, user_path }) =>
      asked_by === undefined && counts_as === undefined && isWithin(user_path, userPath),
  );
  return edges.slice(1).flatMap((toMs, index) => {
    const fromMs = edges[index] ?? 0;
    const within = counted.filter(({ started_ms: at }) => at >= fromMs && at < toMs);
    const answered = within.filter(({ status_code: code }) => code === 200 || code === 201);
    const count = (isOf: (code: number) => boolean): number =>
      within.filter(({ status_code: code }) => isOf(code)).length;
    if (within.length === 0) return [];
    return {
      startMs: fromMs,
      requests: within.length,
      succeeded: count((code) => code < 300),
      clientErrors: count((code) => code >= 400 && code < 500),
      refused: count((code) => code === 429),
      serverErrors: count((code) => code >= 500),
      durations: answered.map(({ duration_ns }) => duration_ns),
      firstBytes: answered.flatMap(({ first_byte_ns: ns = 0 }) => (ns === 0 ? [] : [ns])),
    };
  });
}

/** Whether both percentiles are within 4.5 % of the true ones. */
function isNear(told: Percentiles | undefined, times: readonly number[]): boolean {
  if (told === undefined || times.length === 0) return told === undefined && times.length === 0;
  const sorted = times.toSorted((a, b) => a - b);
  const trueOne = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
  return [
    [told.p50, trueOne(0.5)],
    [told.p95, trueOne(0.95)],
  ].every(([one = 0, other = 0]) => Math.abs(one / other - 1) <= 0.045);
}

const cases: Readonly<Record<string, Case>> = {
  async 'each minute, hour and day says how requests ended and how long they took, of a user path and all below it'(
    t,
    engine,
  ) {
    const { store, open } = await engine.start(t);
    const other = open();
    const all = requests(900);
    for (let at = 0; at < all.length; at += 90) await (at % 180 === 0 ? store : other).add(all.slice(at, at + 90));
    t.equal(await store.add(all.slice(0, 300)), 0, 'what comes again does not count again');
    const hour = startMs - (startMs % hourMs);
    const spans = [
      edgesOf(startMs, minuteMs, 360),
      edgesOf(startMs + 7 * minuteMs, minuteMs, 15),
      edgesOf(hour, hourMs, 6),
      edgesOf(hour - (hour % dayMs), dayMs, 1),
    ];
    for (const edges of spans) {
      for (const userPath of ['/', '/TEAM', '/team/app', '/team/app/ann', '/tea', '/other']) {
        const stats = await store.stats({ userPath }, edges);
        const wanted = expected(all, userPath, edges);
        const name = `${userPath} in ${edges.length - 1} buckets`;
        const counts = ({ duration: _duration, firstByte: _first, ...bucket }: AuditBucket) => bucket;
        t.same(
          stats.buckets.map(counts),
          wanted.map(({ durations: _durations, firstBytes: _first, ...bucket }) => bucket),
          name,
        );
        t.ok(
          wanted.every(({ durations }, index) => isNear(stats.buckets[index]?.duration, durations)),
          `${name}: durations`,
        );
        t.ok(
          wanted.every(({ firstBytes }, index) => isNear(stats.buckets[index]?.firstByte, firstBytes)),
          `${name}: first bytes`,
        );
        t.ok(
          isNear(
            stats.duration,
            wanted.flatMap(({ durations }) => durations),
          ),
          `${name}: all durations`,
        );
      }
    }
  },

  async 'a model fails from the first of its failures until five minutes are clean'(t, engine) {
    const { store } = await engine.start(t);
    let seed = 0;
    /** A request in each minute from the first to before the last, `failed` of them with a failure. */
    const asked = (model: string, [first, last]: readonly [number, number], isFailed: (minute: number) => boolean) =>
      Array.from({ length: 20 * (last - first) }, (_, index) => {
        const minute = first + Math.floor(index / 20);
        seed += 1;
        return record(seed, {
          started_ms: startMs + minute * minuteMs + index,
          user_path: model === 'fine' ? '/fine/app' : '/team/app',
          requested_model: model,
          provider_name: model === 'fine' ? 'other' : 'openai',
          ...(index % 10 === 0 && isFailed(minute)
            ? { status_code: 502, error_type: 'provider_error' as const }
            : { duration_ns: 2_000_000 }),
        });
      });
    await store.add([
      ...asked('chat', [0, 60], (minute) => minute < 10 || minute === 33 || minute >= 37),
      ...asked('over', [0, 60], (minute) => minute < 45),
      ...asked('fine', [0, 60], () => false),
      record(9_001, { started_ms: startMs + 59 * minuteMs, status_code: 503, user_path: '/fine' }),
    ]);
    const stats = (userPath: string) => store.stats({ userPath }, edgesOf(startMs, minuteMs, 60));
    const chat = { requested_model: 'chat', provider_name: 'openai', requests: 200, failed: 20 };
    t.same((await stats('/')).failing, [{ ...chat, sinceMs: startMs + 33 * minuteMs }]);
    t.same((await stats('/team')).failing.length, 1);
    const { failing, providers } = await stats('/fine');
    t.same(failing, [], 'one failure is none, and others are not seen');
    t.same(providers, [{ provider_name: 'other', requests: 1_200, mean_duration_ns: 2_000_000 }]);
    t.equal((await stats('/')).providers[0]?.requests, 2_400);
  },

  async 'what was used in the last minutes is what the records add up to, for any filter'(t, engine) {
    const { store, query } = await engine.start(t);
    const records = usageRecords(300).map((each, index) => {
      const started_ms = startMs + ((index * 7_919_000) % (4 * hourMs));
      return { ...each, started_ms, attempts: each.attempts.map((attempt) => ({ ...attempt, started_ms })) };
    });
    for (let at = 0; at < records.length; at += 50) await store.add(records.slice(at, at + 50));
    const all = entriesOf(records);
    const edges = edgesOf(startMs + 3 * minuteMs, minuteMs, 240);
    const span = { fromMs: edges[0] ?? 0, toMs: edges.at(-1) ?? 0 };
    const narrowings: readonly Partial<UsageFilter>[] = [
      {},
      { userPath: '/team' },
      { cacheMode: 'cached' },
      { provider: 'openai' },
      { userPath: '/team', provider: 'openai' },
      { label: 'web' },
    ];
    for (const narrowing of narrowings) {
      const filter: UsageFilter = { span, cacheMode: 'all', isRecent: true, ...narrowing };
      const name = JSON.stringify(narrowing);
      t.same(await store.usageTotals(filter), totals(matching(all, filter)), name);
      t.same(await store.usageBuckets(filter, edges), buckets(all, filter, edges), `${name} by minute`);
      for (const dimension of ['user_path', 'model'] as const) {
        const page = { limit: 100, offset: 0 };
        t.same(
          await store.usageBy(filter, dimension, page),
          rows(all, filter, dimension, page),
          `${name} ${dimension}`,
        );
      }
    }
    const before = { auditBeforeMs: undefined, usageBeforeMs: undefined, minutesBeforeMs: startMs + 8 * hourMs };
    await store.prune(before, 1_000);
    for (const table of ['usage_by_model_minute', 'usage_by_path_minute'])
      t.match(await query(`SELECT count(*) AS n FROM ${table}`), [{ n: /^0$/ }], table);
    t.match(await query(`SELECT count(*) AS n FROM pace WHERE grain_ms = ${minuteMs}`), [{ n: /^0$/ }]);
    const whole: UsageFilter = { span: { fromMs: 0, toMs: 2 * beginMs }, cacheMode: 'all' };
    t.same(await store.usageTotals(whole), totals(matching(all, whole)), 'longer sums stay');
  },

  async 'sums of minutes begin with the records that come to this gateway'(t, engine) {
    const { store, open, query } = await engine.start(t);
    await store.add([record(1)]);
    for (const sql of [...withoutMinutes, 'UPDATE record_version SET version = 6']) await query(sql);
    const later = open();
    await later.add([record(1), record(2)]);
    const { buckets: told } = await later.stats({}, edgesOf(startMs, minuteMs, 5));
    t.match(told, [{ startMs, requests: 1 }]);
  },
};

export async function testPaceContract(engine: RecordEngine): Promise<void> {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: pace: ${claim}`, (t) => run(t, engine));
}
