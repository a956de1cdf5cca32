// Making room in the record store: what goes first, and what stays.
import type { Test } from 'tap';
import type { RecordEngine } from './record-store-engines.ts';
import { type AuditedRecord, beginMs, record } from './record-store-model.ts';

function used(seed: number): AuditedRecord {
  const sample = record(seed, { started_ms: beginMs + seed * 1_000 });
  const cost = { input: 1_000, output: 10, total: 1_010 };
  const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10, source: 'reported' as const, cost };
  const attempt = { seq: 1, kind: 'primary' as const, model: 'm', provider_name: 'p', provider_type: 'openai' };
  const attempts = [{ ...attempt, started_ms: sample.started_ms, duration_ns: 1, success: true, usage }];
  return { ...sample, attempts, data: { ...sample.data, request_body: { prompt: 'hello' } } };
}

const everything = { span: { fromMs: 0, toMs: 2 * beginMs }, cacheMode: 'all' } as const;

export const reliefCases: Readonly<Record<string, (t: Test, engine: RecordEngine) => Promise<void>>> = {
  async 'bodies go, the oldest first, then entries; what was used stays counted'(t, engine) {
    const { store } = await engine.start(t);
    const records = [0, 1, 2, 3].map(used);
    await store.add(records);
    t.match(await store.relieve(0, 3), { bodies: 3, entries: 0, last: 3 });
    const [third, fourth] = await Promise.all([records[2], records[3]].map((each) => store.entry(each?.id ?? '')));
    t.match(third, { bodies_omitted: true });
    t.same([third?.data.request_body, fourth?.data.request_body], [undefined, { prompt: 'hello' }]);
    t.match(await store.relieve(3, 3), { bodies: 1, entries: 0, last: 4 });
    t.match(await store.relieve(4, 3), { bodies: 0, entries: 3, last: 4 });
    const { total, entries } = await store.entries({}, { limit: 10, offset: 0 });
    t.same([total, entries.map(({ id }) => id)], [1, [records[3]?.id]]);
    t.match(await store.usageTotals(everything), { requests: 4, total_tokens: 40 });
    t.match(await store.relieve(4, 3), { bodies: 0, entries: 1 });
    t.match(await store.relieve(4, 3), { bodies: 0, entries: 0 });
  },
};
