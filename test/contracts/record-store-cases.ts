// What both engines of the record store have to do. Each case has an empty store of its own.
import { type Test, test } from 'tap';
import type { AuditEntry } from '../../domain/records/audit-entry.ts';
import type { AttemptRecord } from '../../domain/records/request-record.ts';
import { recordsVersion } from '../../store/records/sql/migrations.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { reliefCases } from './record-relief-cases.ts';
import type { RecordEngine } from './record-store-engines.ts';
import {
  beginMs,
  expectedEntries,
  expectedSessions,
  filters,
  hourMs,
  pages,
  record,
  scattered,
} from './record-store-model.ts';
import { trafficCases } from './record-traffic-cases.ts';

type Case = (t: Test, engine: RecordEngine) => Promise<void>;

const attempt = (more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  seq: 1,
  kind: 'primary',
  model: 'gpt-4o',
  provider_name: 'openai-eu',
  provider_type: 'openai',
  started_ms: beginMs,
  duration_ns: 5_000_000,
  success: true,
  ...more,
});

const usage = (input: number, cached?: number) => ({
  input_tokens: input,
  output_tokens: 10,
  total_tokens: input + 10,
  ...(cached === undefined ? {} : { cached_input_tokens: cached }),
  source: 'reported' as const,
  cost: { input: input * 1_000, output: 10, total: input * 1_000 + 10 },
});
const ids = (entries: readonly AuditEntry[]): string[] => entries.map(({ id }) => id);

const cases: Readonly<Record<string, Case>> = {
  async 'every filter, alone and with others, finds what matches, in order, on every page, and counts all of it'(
    t,
    engine,
  ) {
    const { store } = await engine.start(t);
    const all = scattered(400);
    for (let at = 0; at < all.length; at += 37) await store.add(all.slice(at, at + 37));
    for (const [index, filter] of filters.entries()) {
      for (const page of [pages[index % 4], ...(index % 4 === 0 ? pages.slice(3) : [])]) {
        if (page === undefined) continue;
        const [log, threads] = await Promise.all([store.entries(filter, page), store.sessions(filter, page)]);
        const name = `${JSON.stringify(filter)} from ${page.offset}`;
        t.same({ total: log.total, ids: ids(log.entries) }, expectedEntries(all, filter, page), name);
        const rows = threads.sessions.map(({ request_count: count, latest }) => `${count} ${latest.id}`);
        t.same({ total: threads.total, rows }, expectedSessions(all, filter, page), `threads: ${name}`);
      }
    }
  },

  async 'a record is kept once, however often and from wherever it comes'(t, engine) {
    const { store, open, query } = await engine.start(t);
    const other = open();
    const records = [1, 2, 3].map((seed) =>
      record(seed, { session_id: 's', attempts: [attempt({ usage: usage(5) })], labels: ['a', 'a', 'b'] }),
    );
    const [first = record(1)] = records;
    const { data: _, ...unaudited } = { ...first, id: 'without an entry' };
    const added = await Promise.all([store.add([...records, first]), other.add(records), store.add([unaudited])]);
    t.same(
      added.toSorted((a, b) => a - b),
      [0, 1, 3],
    );
    t.equal(await store.add([...records, unaudited, record(4)]), 1);
    t.match(await store.sessions({ sessionId: 's' }, { limit: 9, offset: 0 }), {
      total: 1,
      sessions: [{ request_count: 3 }],
    });
    t.equal((await store.entries({}, { limit: 1, offset: 0 })).total, 4);
    t.match(await query('SELECT count(*) AS n, sum(input_cost) AS cost FROM usage'), [{ n: /^4$/, cost: /^20000$/ }]);
    t.match(await query('SELECT count(*) AS n FROM usage_label'), [{ n: /^8$/ }]);
  },

  async 'a batch is kept whole or not at all'(t, engine) {
    const { store } = await engine.start(t);
    const broken = { ...record(2), attempts: [null] } as unknown as ReturnType<typeof record>;
    await t.rejects(store.add([record(1), broken]));
    t.equal((await store.entries({}, { limit: 1, offset: 0 })).total, 0);
    t.equal(await store.add([record(1)]), 1, 'and the next one is');
  },

  async 'odd texts and numbers neither break a batch nor get lost'(t, engine) {
    const { store } = await engine.start(t);
    const odd = record(1, {
      request_id: 'a\0b\ud800',
      path: '/\0',
      session_id: '\0',
      duration_ns: 1e300,
      data: { request_body: '\0"\\' },
    });
    await store.add([odd, record(2, { status_code: 1e300, started_ms: -5 })]);
    t.equal((await store.sessions({}, { limit: 9, offset: 0 })).total, 2);
    t.equal((await store.entries({ search: 'a\0B' }, { limit: 9, offset: 0 })).total, 1);
    t.equal((await store.entry(odd.id))?.data.request_body, '\0"\\');
  },

  async 'an entry says what its record says; lists leave out bodies, and only those'(t, engine) {
    const { store } = await engine.start(t);
    const bodies = { request_body: { messages: [] }, response_body: 'text', response_headers: { a: 'b' } };
    const revision = { seq: 1, rewriter: 'r', bytes_before: 9, bytes_after: 5, tokens_saved: 4, no_change: false };
    const revised = { request_revisions: [{ ...revision, body: 'b', detail: 'd' }], max_tokens: 7 };
    const data = { ...bodies, ...revised, config_revision: 'c0ffee' };
    const failed = attempt({ usage: usage(100, 25), response_body: 'no', response_headers: { c: 'd' } });
    const full = record(1, {
      attempts: [failed, attempt({ seq: 2, usage: usage(100) }), attempt({ seq: 3 })],
      labels: ['l'],
      auth_key_id: 'key-7',
      data,
    });
    await store.add([full, record(2)]);
    const entry = await store.entry(full.id);
    const { started_ms: _started, usage: _usage, ...shown } = failed;
    t.match(entry, {
      id: full.id,
      timestamp: '2026-05-03T10:17:05.001Z',
      bodies_omitted: false,
      conversation_payload: true,
      workflow_version_id: 'c0ffee',
      principal_id: 'key-7',
    });
    t.same(entry?.data.attempts[0], { ...shown, started_at: '2026-05-03T10:17:05.000Z' });
    t.match(entry?.data, { ...data, user_agent: 'test', labels: ['l'] });
    t.notOk('started_ms' in (entry ?? {}) || 'labels' in (entry ?? {}));
    t.same(entry?.usage, {
      input_tokens: 200,
      output_tokens: 20,
      total_tokens: 220,
      cached_input_tokens: 25,
      uncached_input_tokens: 175,
      cache_write_input_tokens: 0,
      cached_input_ratio: 0.125,
      estimated_cached_characters: 100,
      entries: 2,
      rewrite_tokens_saved: 4,
      rewrite_cost_saved: 4e-6,
      total_cost: 0.000_200_02,
    });
    const { entries } = await store.entries({}, { limit: 2, offset: 0 });
    t.same(entries[0], await store.entry(record(2).id), 'nothing is left out of an entry without bodies');
    t.match(entries[0], { bodies_omitted: false, conversation_payload: false });
    const said = { request_body: { model: 'm', input: 'hello' } };
    const paths = ['/v1/embeddings', '/v1/audio/speech', '/v1/moderations', '/v1/responses', '/p/oa/v1/responses'];
    for (const [index, path] of paths.entries()) {
      const { id } = record(7_000 + index);
      await store.add([{ ...record(7_000 + index), path, data: said }]);
      t.equal((await store.entry(id))?.conversation_payload, path.endsWith('/responses'), path);
    }
    t.notOk('usage' in (entries[0] ?? {}));
    t.match(entries[1], { bodies_omitted: true, conversation_payload: true, usage: { entries: 2 } });
    const { request_body: _in, response_body: _out, ...kept } = { ...data, request_revisions: [revision] };
    const { response_body: _body, response_headers: _headers, ...slim } = entry?.data.attempts[0] ?? attempt();
    t.match(entries[1]?.data, { ...kept, user_agent: 'test' });
    t.same(entries[1]?.data.request_revisions, [revision]);
    t.same(entries[1]?.data.attempts[0], slim);
    t.notOk('request_body' in (entries[1]?.data ?? {}) || 'response_body' in (entries[1]?.data ?? {}));
    t.equal(await store.entry('none'), undefined);
  },

  async 'a conversation is the thread around an entry, with bodies'(t, engine) {
    const { store } = await engine.start(t);
    const said = (seed: number) =>
      record(seed, { session_id: 's', data: { request_body: `b${seed}` }, attempts: [attempt()] });
    const records = [1, 2, 3, 4, 5, 6, 7].map(said);
    await store.add([...records.toReversed(), record(8), record(9, { session_id: 'other' })]);
    const around = async (seed: number, most: number): Promise<unknown[]> => {
      const found = await store.conversation(record(seed).id, most);
      return [found?.truncated, ...(found?.entries ?? []).map(({ data }) => data.request_body)];
    };
    t.same(await around(4, 40), [false, 'b1', 'b2', 'b3', 'b4', 'b5', 'b6', 'b7']);
    t.same(await around(4, 3), [true, 'b3', 'b4', 'b5']);
    t.same(await around(1, 3), [true, 'b1', 'b2', 'b3']);
    t.same(await around(7, 1), [true, 'b7']);
    t.same(await around(8, 40), [false, undefined], 'an entry without a session is alone');
    t.equal(await store.conversation('none', 40), undefined);
    t.same((await store.conversation(record(4).id, 9))?.entries[0]?.data.attempts, []);
  },

  async 'a session over WebSocket, which is told as 101, has succeeded'(t, engine) {
    const { store } = await engine.start(t);
    await store.add([record(1, { status_code: 101 }), record(2, { status_code: 499 })]);
    const edges = [beginMs - hourMs, beginMs + hourMs];
    t.match((await store.stats({}, edges)).buckets, [{ requests: 2, succeeded: 1, clientErrors: 1, serverErrors: 0 }]);
  },

  async 'statistics are sums over buckets with any edges'(t, engine) {
    const { store } = await engine.start(t);
    const all = scattered(300);
    await store.add(all);
    await store.add([record(9_000, { path: '/admin/rate-limits', data: { event_type: 'admin_write' } })]);
    const asked = all.filter(({ asked_by, path }) => asked_by === undefined && !path?.startsWith('/admin/'));
    const half = hourMs / 2;
    const start = beginMs - (beginMs % (24 * hourMs));
    const edgesOf = (from: number, step: number, count: number): number[] =>
      Array.from({ length: count + 1 }, (_, index) => from + index * step);
    const spans = [
      edgesOf(start, 24 * hourMs, 6),
      edgesOf(start - 5 * hourMs, 24 * hourMs, 6),
      edgesOf(start + half, 25 * hourMs, 4),
      [beginMs, beginMs + 7, beginMs + hourMs + 1],
    ];
    for (const edges of spans) {
      for (const userPath of ['/', '/team']) {
        const stats = await store.stats({ userPath }, edges);
        const expected = edges.slice(1).flatMap((toMs, index) => {
          const fromMs = edges[index] ?? 0;
          const page = { limit: 1_000, offset: 0 };
          const count = (isOf: (code: number) => boolean): number =>
            expectedEntries(
              asked.filter(({ status_code: code }) => isOf(code)),
              { userPath, span: { fromMs, toMs } },
              page,
            ).total;
          const ofClass = (digit: number): number => count((code) => Math.floor(code / 100) === digit);
          const [succeeded, clientErrors, serverErrors] = [ofClass(2), ofClass(4), ofClass(5)];
          const refused = count((code) => code === 429);
          const requests = succeeded + clientErrors + serverErrors;
          return requests === 0 ? [] : [{ startMs: fromMs, requests, succeeded, clientErrors, refused, serverErrors }];
        });
        const counts = stats.buckets.map(({ duration: _duration, firstByte: _first, ...bucket }) => bucket);
        t.same(counts, expected, `${userPath} ${edges.join(' ')}`);
      }
    }
    const { providers } = await store.stats({}, [start, start + 200 * hourMs]);
    const ours = asked.filter(({ provider_name: name }) => name === 'openai-eu');
    const mean = ours.reduce((sum, entry) => sum + entry.duration_ns, 0) / ours.length;
    t.match(
      providers.find(({ provider_name: name }) => name === 'openai-eu'),
      { requests: ours.length, mean_duration_ns: Math.round(mean) },
    );
    t.equal(providers.length, 2, 'a request that reached no provider counts for none');
  },

  async 'a watch gets every entry once, in the order in which they came'(t, engine) {
    const { store } = await engine.start(t);
    await store.add([record(5)]);
    const { cursor, entries } = await store.arrived(undefined, 9);
    t.same(entries, []);
    await store.add([record(9, { data: { request_body: 'b' } }), record(3)]);
    await store.add([record(4), record(3)]);
    const first = await store.arrived(cursor, 2);
    const second = await store.arrived(first.cursor, 2);
    t.same(
      ids([...first.entries, ...second.entries]),
      ids([record(9), record(3), record(4)] as unknown as AuditEntry[]),
    );
    t.equal(first.entries[0]?.data.request_body, undefined);
    t.same(await store.arrived(second.cursor, 2), { entries: [], cursor: second.cursor });
  },

  async 'what was kept for its time is removed bit by bit, and nothing counts it any more'(t, engine) {
    const { store, query } = await engine.start(t);
    const all = scattered(300).map((each) => ({
      ...each,
      attempts: [attempt({ started_ms: each.started_ms, usage: usage(1) })],
    }));
    for (let at = 0; at < all.length; at += 60) await store.add(all.slice(at, at + 60));
    const beforeMs = beginMs + 50 * hourMs;
    const left = all.filter(({ started_ms: startedMs }) => startedMs >= beforeMs);
    const retention = { auditBeforeMs: beforeMs, usageBeforeMs: undefined };
    let removed = 0;
    for (let portion = -1; portion !== 0; removed += portion) {
      portion = await store.prune(retention, 40);
      t.ok(portion <= 40);
    }
    t.equal(removed, all.length - left.length);
    for (const filter of filters) {
      const page = { limit: 100, offset: 0 };
      const { total, sessions } = await store.sessions(filter, page);
      const rows = sessions.map(({ request_count: count, latest }) => `${count} ${latest.id}`);
      t.same({ total, rows }, expectedSessions(left, filter, page), JSON.stringify(filter));
    }
    t.match(await query('SELECT count(*) AS n FROM usage'), [{ n: /^300$/ }]);
    const ended = Number.MAX_SAFE_INTEGER;
    await store.prune({ auditBeforeMs: ended, usageBeforeMs: beginMs * 2, minutesBeforeMs: ended }, 1_000);
    for (const table of [
      'combo',
      'thread',
      'facet',
      'tally',
      'entry',
      'entry_data',
      'search_segment',
      'search_gram',
      'usage',
      'usage_label',
      'pace',
      'usage_by_model_minute',
      'usage_by_path_minute',
    ])
      t.match(await query(`SELECT count(*) AS n FROM ${table}`), [{ n: /^0$/ }], table);
    t.equal(await store.prune({ auditBeforeMs: undefined, usageBeforeMs: undefined }, 9), 0);
  },

  async 'while records come in, no page shows a thread twice and each fits its total'(t, engine) {
    const { store, open } = await engine.start(t);
    const writer = open();
    const reading = new AbortController();
    const writing = (async () => {
      // At most 930 threads: a page of 1,000 holds them all, and no two records have the same id.
      for (let seed = 0; seed < 4_500 && !reading.signal.aborted; seed += 5) {
        const batch = [0, 1, 2, 3, 4].map((more) => record(seed + more, { session_id: `s${(seed * 7 + more) % 30}` }));
        await writer.add([...batch, record(5_000 + seed)]);
      }
    })();
    for (let round = 0; round < 25; round += 1) {
      const { total, sessions } = await store.sessions({ stream: false }, { limit: 1_000, offset: 0 });
      const threads = sessions.map(({ latest }) => latest.session_id ?? latest.id);
      t.equal(new Set(threads).size, threads.length);
      t.equal(threads.length, total);
      const counted = sessions.reduce((sum, { request_count: count }) => sum + count, 0);
      t.equal(counted % 6, 0, 'whole batches');
    }
    reading.abort();
    await writing;
  },

  async 'pages that each begin behind the last thread of the one before show no thread twice while threads go on, and miss none that stays'(
    t,
    engine,
  ) {
    for (const filter of [{}, { stream: false }, { search: 'gpt' }, { search: '4000' }]) {
      const { store } = await engine.start(t);
      const all = scattered(400);
      await store.add(all);
      const limit = 7;
      const whole = await store.sessions(filter, { limit: 1_000, offset: 0 });
      const threadOf = ({ latest }: (typeof whole.sessions)[number]): string => latest.session_id ?? latest.id;
      const named = new Map(all.map((one) => [one.session_id, one]));
      const moved = new Set<string>();
      const seen: string[] = [];
      for (let after: string | undefined, shown = limit; shown === limit; ) {
        const { sessions } = await store.sessions(filter, { limit, offset: 0, after });
        seen.push(...sessions.map(threadOf));
        after = sessions.at(-1)?.latest.id;
        shown = sessions.length;
        // One that was seen, and one that was not, become the newest.
        const isUnseen = (thread: string): boolean => named.has(thread) && !seen.includes(thread);
        const next = [
          seen.findLast((thread) => named.has(thread)),
          whole.sessions.map(threadOf).findLast((thread) => isUnseen(thread)),
        ];
        const records = next.flatMap((id, more) => {
          const known = id === undefined ? undefined : named.get(id);
          if (known === undefined || id === undefined) return [];
          moved.add(id);
          const started = beginMs + 1_000 * hourMs + seen.length;
          return [{ ...known, id: record(9_000 + 2 * seen.length + more).id, started_ms: started }];
        });
        await store.add(records);
      }
      t.equal(new Set(seen).size, seen.length, `${JSON.stringify(filter)}: none twice`);
      const missed = whole.sessions.map(threadOf).filter((thread) => !seen.includes(thread) && !moved.has(thread));
      t.same(missed, [], `${JSON.stringify(filter)}: none missed`);
      t.ok(moved.size > 1, 'threads have gone on');
    }
  },

  async 'several processes may make the tables at once'(t, engine) {
    const { open } = await engine.start(t);
    const stores = Array.from({ length: 3 }, () => open());
    t.same(await Promise.all(stores.map((store, seed) => store.add([record(seed)]))), [1, 1, 1]);
    t.equal((await stores[0]?.entries({}, { limit: 1, offset: 0 }))?.total, 3);
  },

  async 'records of a newer gateway are left alone'(t, engine) {
    const { store, open, query } = await engine.start(t);
    await store.add([record(1)]);
    await query('UPDATE record_version SET version = 99');
    for (const each of [store, open()]) {
      await t.rejects(each.add([record(2)]), {
        name: 'StoreUnavailable',
        reason: 'newer_schema',
        message: /newer version of the gateway/,
      });
      await t.rejects(each.entries({}, { limit: 1, offset: 0 }), StoreUnavailable);
    }
    t.match(await query('SELECT count(*) AS n FROM entry'), [{ n: /^1$/ }]);
    await query(`UPDATE record_version SET version = ${recordsVersion}`);
    t.equal(await store.add([record(2)]), 1);
  },
};

export async function testRecordContract(engine: RecordEngine): Promise<void> {
  for (const [claim, run] of Object.entries({ ...cases, ...reliefCases, ...trafficCases }))
    await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
