// What pages far from the first must have, in both engines of the record store.
import { type Test, test } from 'tap';
import type { EntryFilter } from '../../store/records/record-store.ts';
import type { RecordObjects } from '../support/record-objects.ts';
import type { RecordEngine } from './record-store-engines.ts';
import { type AuditedRecord, beginMs, expectedSessions, record } from './record-store-model.ts';

/** Eight of one moment as a rule, and 400 in the middle; one in five has a session. */
const all = Array.from({ length: 3_000 }, (_, seed) =>
  record(seed, {
    started_ms: beginMs + (seed > 400 && seed < 800 ? 60 : Math.floor(((seed * 7) % 3_000) / 8)),
    ...(seed % 5 === 0 ? { session_id: `s${seed}` } : {}),
  }),
);
const span = { fromMs: beginMs + 20, toMs: beginMs + 370 };
/** More than ten thousand match a filter. Most have a session, with four or five models: a far page is within the facets that are looked at, or beyond. */
const streams = Array.from({ length: 10_800 }, (_, seed) =>
  record(seed, {
    started_ms: beginMs + Math.floor(((seed * 7_919) % 10_800) / 3),
    stream: seed % 40 !== 0,
    requested_model: `model-${seed % 7}`,
    ...(seed % 16 === 0 ? {} : { session_id: `s${seed % 2_301}` }),
  }),
);
const offsets = [1_999, 2_000, 2_001, 2_007, 2_150, 2_300, 2_450, 2_600, 2_750, 2_995, 3_000];

const streamOffsets = [1_999, 2_000, 2_200, 2_500, 2_800, 2_970];

export async function testRecordPages(engine: RecordEngine): Promise<void> {
  await test(`${engine.name}: pages far from the first have what the order of all threads says`, async (t) => {
    const { store } = await engine.start(t);
    await addAll(store, all);
    for (const filter of [{}, { span }])
      for (const offset of offsets) await comparePage(t, store, { records: all, filter, offset });
  });

  await test(`${engine.name}: far pages of a filter have each thread at its newest match`, async (t) => {
    const { store } = await engine.start(t);
    await addAll(store, streams);
    for (const filter of [{ stream: true }, { stream: true, span: { ...span, toMs: beginMs + 3_000 } }])
      for (const offset of streamOffsets) await comparePage(t, store, { records: streams, filter, offset });
  });
}

async function addAll(store: RecordObjects, records: readonly AuditedRecord[]): Promise<void> {
  for (let at = 0; at < records.length; at += 500) await store.add(records.slice(at, at + 500));
}

interface Far {
  readonly records: readonly AuditedRecord[];
  readonly filter: EntryFilter;
  readonly offset: number;
}

async function comparePage(t: Test, store: RecordObjects, { records, filter, offset }: Far): Promise<void> {
  const page = { limit: 9, offset };
  const { total, sessions } = await store.sessions(filter, page);
  const rows = sessions.map(({ request_count: count, latest }) => `${count} ${latest.id}`);
  t.same({ total, rows }, expectedSessions(records, filter, page), `${JSON.stringify(filter)} from ${offset}`);
}
