// What pages far from the first must have, in both engines of the record store.
import { test } from 'tap';
import type { RecordEngine } from './record-store-engines.ts';
import { beginMs, expectedSessions, record } from './record-store-model.ts';

/** Eight of one moment as a rule, and 400 in the middle; one in five has a session. */
const all = Array.from({ length: 3_000 }, (_, seed) =>
  record(seed, {
    started_ms: beginMs + (seed > 400 && seed < 800 ? 60 : Math.floor(((seed * 7) % 3_000) / 8)),
    ...(seed % 5 === 0 ? { session_id: `s${seed}` } : {}),
  }),
);
const span = { fromMs: beginMs + 20, toMs: beginMs + 370 };
const offsets = [1_999, 2_000, 2_001, 2_007, 2_150, 2_300, 2_450, 2_600, 2_750, 2_995, 3_000];

export async function testRecordPages(engine: RecordEngine): Promise<void> {
  await test(`${engine.name}: pages far from the first have what the order of all threads says`, async (t) => {
    const { store } = await engine.start(t);
    for (let at = 0; at < all.length; at += 500) await store.add(all.slice(at, at + 500));
    for (const filter of [{}, { span }])
      for (const offset of offsets) {
        const page = { limit: 9, offset };
        const { total, sessions } = await store.sessions(filter, page);
        const rows = sessions.map(({ request_count: count, latest }) => `${count} ${latest.id}`);
        t.same({ total, rows }, expectedSessions(all, filter, page), `${JSON.stringify(filter)} from ${offset}`);
      }
  });
}
