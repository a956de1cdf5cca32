// What both engines of the record store have to say of usage. Each case has an empty store of its own.
import { type Test, test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { Page, SpendQuestion, UsageEntry, UsageFilter, UsageTotals } from '../../store/records/record-store.ts';
import { extent } from '../support/extent.ts';
import type { RecordObjects } from '../support/record-objects.ts';
import { sumTables, withoutAskedBy, withoutCounts } from './older-records.ts';
import type { RecordEngine } from './record-store-engines.ts';
import { beginMs, hourMs, record } from './record-store-model.ts';
import {
  buckets,
  entriesOf,
  log,
  matching,
  picker,
  rows,
  someFilter,
  someSpan,
  spend,
  totals,
  usageRecords,
} from './usage-model.ts';

type Case = (t: Test, engine: RecordEngine) => Promise<void>;
type Source = ReturnType<typeof picker>;

const allTime: UsageFilter = { span: { fromMs: 0, toMs: 2 * beginMs }, cacheMode: 'all' };
const everything: Page = { limit: 1_000, offset: 0 };

async function keep(store: RecordObjects, records: readonly RequestRecord[], size = 61): Promise<void> {
  for (let at = 0; at < records.length; at += size) await store.add(records.slice(at, at + size));
}

/** Buckets of one length, in a time zone of any number of quarters of an hour; some with edges in between. */
function someEdges(source: Source): number[] {
  const { pick, below } = source;
  const lengthMs = pick(24, 24, 1, 25) * hourMs;
  const start = beginMs - (beginMs % (24 * hourMs)) + pick(0, 2, 5.75, -3.5) * hourMs + pick(0, 0, 7);
  const edges = Array.from({ length: 1 + below(6) }, (_, index) => start + index * lengthMs);
  return pick(edges, edges, [...edges, (edges.at(-1) ?? 0) + 1 + below(3 * lengthMs)]);
}

/** Every query, with arguments of any kind, says what the plain computation over these records says. */
async function agrees(t: Test, store: RecordObjects, all: readonly UsageEntry[], rounds: number): Promise<void> {
  const source = picker(rounds);
  const { pick, below } = source;
  for (let round = 0; round < rounds; round += 1) {
    const filter = someFilter(source);
    const name = JSON.stringify(filter);
    const page = { limit: 1 + below(20), offset: pick(0, 0, below(10), below(400)) };
    const edges = someEdges(source);
    const dimension = pick('model', 'user_path', 'auth_key_id', 'label', 'session');
    const search = pick(undefined, undefined, 'req-1', 'GPT', '%', 'scoped-2');
    const [sums, byTime, by, logged] = await Promise.all([
      store.usageTotals(filter),
      store.usageBuckets(filter, edges),
      store.usageBy(filter, dimension, page),
      store.usageLog(filter, page, search),
    ]);
    t.same(sums, totals(matching(all, filter)), name);
    t.same(byTime, buckets(all, filter, edges), `${name} ${edges.join(' ')}`);
    t.same(by, rows(all, filter, dimension, page), `${name} by ${dimension} ${JSON.stringify(page)}`);
    t.same(logged, log(all, filter, page, search), `${name} log ${search} ${JSON.stringify(page)}`);
  }
}

function someQuestions({ pick, below }: Source, count: number): SpendQuestion[] {
  const moments = [0, ...Array.from({ length: 5 }, () => someSpan({ pick, below }).fromMs)];
  return Array.from({ length: count }, () => ({
    ...pick(
      {
        scope: 'user_path' as const,
        subject: pick('/', '/team', '/team/app', '/tea', '/other'),
        perChild: pick(true, false),
      },
      { scope: 'label' as const, subject: pick('web', 'night', '10%', 'none'), perChild: false },
    ),
    fromMs: pick(...moments),
  }));
}

async function agreesOnSpend(t: Test, store: RecordObjects, all: readonly UsageEntry[]): Promise<void> {
  const questions = someQuestions(picker(5), 60);
  const answers = await store.spend(questions);
  t.same(
    answers.map((answer) => Object.fromEntries(answer)),
    questions.map((question) => spend(all, question)),
  );
}

const cases: Readonly<Record<string, Case>> = {
  async 'every sum, row and page is what the records add up to, for any filter and any edges'(t, engine) {
    const { store } = await engine.start(t);
    const records = usageRecords(700);
    await keep(store, records);
    await agrees(t, store, entriesOf(records), extent(120, 40));
    await agreesOnSpend(t, store, entriesOf(records));
  },

  async 'what was kept for its time is in no sum any more'(t, engine) {
    const { store, query } = await engine.start(t);
    const records = usageRecords(400);
    await keep(store, records);
    const beforeMs = beginMs + 30 * hourMs + 777;
    const left = entriesOf(records).filter((entry) => entry.at_ms >= beforeMs);
    let removed = 0;
    for (let portion = -1; portion !== 0; removed += portion)
      portion = await store.prune({ auditBeforeMs: undefined, usageBeforeMs: beforeMs }, 50);
    t.equal(removed, entriesOf(records).length - left.length);
    await agrees(t, store, left, extent(30, 15));
    await agreesOnSpend(t, store, left);
    await store.prune({ auditBeforeMs: undefined, usageBeforeMs: 2 * beginMs }, 10_000);
    const tables = ['usage', 'usage_label', 'usage_model', 'usage_path', 'usage_label_name'];
    for (const table of [...tables, ...sumTables.map((name) => `usage_by_${name}`)])
      t.match(await query(`SELECT count(*) AS n FROM ${table}`), [{ n: /^0$/ }], table);
    await keep(store, records);
    await agrees(t, store, entriesOf(records), 5);
  },

  async 'sums are made of the records of an older gateway, each of which is a request'(t, engine) {
    const { store, open, query } = await engine.start(t);
    const records = usageRecords(200);
    await keep(store, records);
    for (const name of ['key_day', 'key_hour', 'key_path_day']) await query(`DROP TABLE usage_by_${name}`);
    for (const sql of withoutCounts(sumTables.filter((name) => !name.startsWith('key')))) await query(sql);
    for (const sql of [...withoutAskedBy, 'ALTER TABLE usage_path DROP COLUMN folded_path']) await query(sql);
    await query('UPDATE record_version SET version = 2');
    const later = open();
    await keep(later, [record(9_000)]);
    const told = await later.usageTotals(allTime);
    const asEach = entriesOf(records);
    t.match(told, {
      entries: asEach.length,
      requests: asEach.length,
      attempts: asEach.filter(({ cache_type }) => cache_type === undefined).length,
    });
    const countless = ({ requests: _requests, attempts: _attempts, ...row }: UsageTotals) => row;
    for (const filter of [allTime, { ...allTime, userPath: '/team' }]) {
      const { rows: keys } = await later.usageBy(filter, 'auth_key_id', everything);
      t.same(keys.map(countless), rows(asEach, filter, 'auth_key_id', everything).rows.map(countless));
      t.equal(keys.length, 2);
    }
  },

  async 'questions of the gateway are told from requests of clients, in records of an older gateway by the end of their user path'(
    t,
    engine,
  ) {
    const { store, open, query } = await engine.start(t);
    const [attempt] = usageRecords(50).flatMap(({ attempts }) => attempts.filter(({ usage }) => usage !== undefined));
    if (attempt === undefined) throw new Error('no attempt has usage');
    const of = (seed: number, user_path: string, more: Partial<RequestRecord> = {}): RequestRecord =>
      record(seed, { user_path, attempts: [attempt], data: { request_body: `said ${seed}` }, ...more });
    const older = ['/team', '/Team/cache/semantic', '/team/guardrails/judge', '/team/guardrails/a/b'];
    await store.add(older.map((path, seed) => of(seed, path)));
    for (const sql of [...withoutAskedBy, 'UPDATE record_version SET version = 5']) await query(sql);
    const later = open();
    const asked_by = 'gateway';
    await later.add([of(10, '/team/cache/semantic'), of(11, '/team/cache/semantic', { asked_by, counts_as: 'calls' })]);
    const seedsOf = (found: readonly { readonly id: string }[]) =>
      new Set(found.map(({ id }) => Number(id.slice(24, 36))));
    for (const [askedBy, seeds] of [
      ['client', [0, 10, 3]],
      ['gateway', [1, 11, 2]],
    ] as const) {
      t.same(seedsOf((await later.usageLog({ ...allTime, askedBy }, everything)).entries), new Set(seeds), askedBy);
      const { entries } = await later.entries({ askedBy }, everything);
      t.same(seedsOf(entries), new Set(seeds), `entries of ${askedBy}`);
      for (const { id } of entries) t.equal((await later.entry(id))?.asked_by, askedBy, id);
      t.ok(entries.every((entry) => entry.asked_by === askedBy));
      t.match(await later.usageTotals({ ...allTime, askedBy }), { entries: 3, requests: askedBy === 'client' ? 3 : 2 });
    }
    const { total, rows: paths } = await later.usageBy(allTime, 'user_path', everything);
    const row = paths.find(({ key }) => key.toLowerCase() === '/team/cache/semantic');
    t.match([total, row?.entries], [4, 3], 'a user path is one row, whoever has asked');
  },

  async 'a user path is one in any letter case, and is shown as it came first'(t, engine) {
    const { store } = await engine.start(t);
    const [attempt] = usageRecords(50).flatMap(({ attempts }) => attempts.filter(({ usage }) => usage?.cost?.total));
    if (attempt === undefined) throw new Error('no attempt has a cost');
    const sent = ['/Team/App', '/team/app', '/TEAM/Ärger', '/team/ärger', '/teams'];
    await store.add(sent.map((user_path, seed) => record(seed, { user_path, attempts: [attempt] })));
    const { rows: paths } = await store.usageBy(allTime, 'user_path', everything);
    t.same(
      paths.map(({ key, requests }) => `${key} ${requests}`).sort(),
      ['/TEAM/Ärger 2', '/Team/App 2', '/teams 1'],
      'sums',
    );
    t.equal((await store.usageTotals({ ...allTime, userPath: '/tEAM' })).requests, 4, 'filter of usage');
    const found = await store.entries({ userPath: '/TEAM/ÄRGER' }, everything);
    t.same(found.entries.map(({ user_path }) => user_path).sort(), ['/TEAM/Ärger', '/team/ärger'], 'filter of entries');
    const cost = attempt.usage?.cost?.total ?? 0;
    const [spent] = await store.spend([{ scope: 'user_path', subject: '/team', perChild: false, fromMs: 0 }]);
    t.same(spent, new Map([['/team', 4 * cost]]), 'what budgets count');
  },

  async 'an attempt counts once, however often and from wherever its record comes'(t, engine) {
    const { store, open } = await engine.start(t);
    const other = open();
    const records = usageRecords(80);
    await Promise.all([
      keep(store, records),
      keep(other, records.toReversed(), 23),
      keep(store, [...records, ...records]),
    ]);
    t.same(await store.usageTotals(allTime), totals(entriesOf(records)));
    const { rows: paths } = await store.usageBy(allTime, 'user_path', everything);
    t.same(paths, rows(entriesOf(records), allTime, 'user_path', everything).rows);
  },

  async 'a provider that reports nonsense keeps no other record out, and costs are exact to nine million dollars'(
    t,
    engine,
  ) {
    const { store } = await engine.start(t);
    const [first] = usageRecords(1);
    const [attempt] = first?.attempts ?? [];
    if (attempt === undefined) throw new Error('there is no attempt');
    const costing = (seed: number, cost: number, tokens = 1): RequestRecord =>
      record(seed, {
        attempts: [
          {
            ...attempt,
            usage: {
              input_tokens: tokens,
              output_tokens: tokens,
              total_tokens: tokens,
              source: 'reported',
              cost: { input: cost, output: 0, total: cost },
            },
          },
        ],
      });
    const dear = Array.from({ length: 900 }, (_, seed) => costing(seed, 9_999_999_999_999));
    await store.add([...dear, costing(901, 7)]);
    t.equal((await store.usageTotals(allTime)).total_cost, 900 * 9_999_999_999_999 + 7);
    const absurd = Array.from({ length: 300 }, (_, index) =>
      costing(1_000 + index, Number.POSITIVE_INFINITY, Number.MAX_VALUE),
    );
    t.equal(await store.add([...absurd, costing(2_000, Number.MAX_VALUE)]), 301);
    const { requests, total_tokens: tokens, total_cost: cost } = await store.usageTotals(allTime);
    t.equal(requests, 1_202);
    t.equal(tokens, 902 + 300 * 10 ** 12);
    t.ok(Math.abs((cost ?? 0) / (900 * 9_999_999_999_999 + 10 ** 13) - 1) < 1e-12, 'the nearest number beyond');
  },
};

export async function testUsageContract(engine: RecordEngine): Promise<void> {
  for (const [claim, run] of Object.entries(cases))
    await test(`${engine.name}: usage: ${claim}`, (t) => run(t, engine));
}
