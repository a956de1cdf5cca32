// What free text must find in so many entries that they are in segments, in both engines of the record store.
import { type Test, test } from 'tap';
import type { EntryFilter } from '../../store/records/record-store.ts';
import { extent } from '../support/extent.ts';
import { sumTables, withoutAskedBy, withoutCounts } from './older-records.ts';
import type { RecordEngine, RecordPlace } from './record-store-engines.ts';
import {
  type AuditedRecord,
  beginMs,
  expectedEntries,
  expectedSessions,
  filters,
  hourMs,
  record,
  scattered,
} from './record-store-model.ts';

const page = { limit: 20, offset: 3 };
const searches: readonly EntryFilter[] = [
  ...filters.filter(({ search }, index) => search !== undefined && index % extent(2, 4) === 0),
  ...['scoped-1', 'scoped-39', '0000-4000-8000-00000000', 'ke\nat line_', 'Ä', 'zz', '_'].map((search) => ({ search })),
  { search: 'beef', span: { fromMs: beginMs + 20 * hourMs, toMs: beginMs + 30 * hourMs } },
];

async function compare(t: Test, { store }: RecordPlace, all: readonly AuditedRecord[], when: string): Promise<void> {
  for (const filter of searches) {
    const [log, threads] = await Promise.all([store.entries(filter, page), store.sessions(filter, page)]);
    const ids = log.entries.map(({ id }) => id);
    const rows = threads.sessions.map(({ request_count: count, latest }) => `${count} ${latest.id}`);
    const expected = { log: expectedEntries(all, filter, page), threads: expectedSessions(all, filter, page) };
    const found = { log: { total: log.total, ids }, threads: { total: threads.total, rows } };
    t.same(found, expected, `${when}: ${JSON.stringify(filter)}`);
  }
}

async function addAll({ store }: RecordPlace, all: readonly AuditedRecord[]): Promise<void> {
  for (let at = 0; at < all.length; at += 500) await store.add(all.slice(at, at + 500));
}

async function countOf({ query }: RecordPlace, table: string): Promise<number> {
  const [row] = await query(`SELECT count(*) AS n FROM ${table}`);
  return Number(row?.['n']);
}

/** Makes of it the store of a gateway that had no segments. */
async function makeOld({ query }: RecordPlace): Promise<void> {
  for (const sql of [
    'DROP TABLE usage_by_key_day',
    'DROP TABLE usage_by_key_hour',
    'DROP TABLE usage_by_key_path_day',
    'DROP TABLE search_gram',
    'DROP TABLE search_segment',
    'CREATE TABLE search_block (first_entry BIGINT PRIMARY KEY, last_entry BIGINT, words TEXT, hex TEXT)',
    ...withoutCounts(sumTables.filter((name) => !name.startsWith('key'))),
    ...withoutAskedBy,
    'ALTER TABLE usage_path DROP COLUMN folded_path',
    'UPDATE record_version SET version = 1',
  ])
    await query(sql);
}

export async function testRecordSearch(engine: RecordEngine): Promise<void> {
  await test(`${engine.name}: free text is found in entries of segments and in the newest ones, also those of a gateway without segments, until they are removed`, async (t) => {
    const place = await engine.start(t);
    const all = scattered(4_700).map((each, seed) =>
      seed % 900 === 7 ? { ...each, data: { ...each.data, error_message: 'Ärger 🙂 im Zug' } } : each,
    );
    await addAll(place, all);
    t.equal(await countOf(place, 'search_segment'), 1);
    await compare(t, place, all, 'all');
    await makeOld(place);
    const later = { ...place, store: place.open() };
    await compare(t, later, all, 'none in a segment');
    t.equal(await countOf(place, 'search_segment'), 0);
    await later.store.add([record(9_000)]);
    all.push(record(9_000));
    t.equal(await countOf(place, 'search_segment'), 1, 'they come into segments with the next ones');
    await compare(t, later, all, 'most in a segment');
    const beforeMs = beginMs + 50 * hourMs;
    while ((await later.store.prune({ auditBeforeMs: beforeMs, usageBeforeMs: 0 }, 1_000)) > 0);
    await compare(
      t,
      later,
      all.filter(({ started_ms: startedMs }) => startedMs >= beforeMs),
      'some removed',
    );
    while ((await later.store.prune({ auditBeforeMs: Number.MAX_SAFE_INTEGER, usageBeforeMs: 0 }, 1_000)) > 0);
    t.same([await countOf(place, 'search_segment'), await countOf(place, 'search_gram')], [0, 0]);
  });

  await test(`${engine.name}: of a text that nearly all entries have, the newest are found`, async (t) => {
    const place = await engine.start(t);
    const all = Array.from({ length: 9_900 }, (_, seed) => record(seed, { request_id: `${seed}~~~~` }));
    await addAll(place, all);
    for (const search of ['~', '~~~~']) {
      const { total, sessions } = await place.store.sessions({ search }, page);
      const expected = all.toReversed().slice(page.offset, page.offset + page.limit);
      t.same(
        sessions.map(({ latest }) => latest.id),
        expected.map(({ id }) => id),
      );
      t.equal(total, 5_000 + (all.length - 2 * 4_096));
    }
  });
}
