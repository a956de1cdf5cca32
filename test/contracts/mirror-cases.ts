// What both engines of the record store have to say of mirrors. Each case has an empty store of its own.
import { type Test, test } from 'tap';
import type { ComparedAnswer, MirrorRecord } from '../../domain/records/mirror-record.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { RecordEngine } from './record-store-engines.ts';
import { beginMs, record } from './record-store-model.ts';

type Case = (t: Test, engine: RecordEngine) => Promise<void>;

const answer = (model: string, more: Partial<ComparedAnswer> = {}): ComparedAnswer => ({
  model,
  status_code: 200,
  success: true,
  duration_ns: 1_000,
  first_byte_ns: 100,
  input_tokens: 10,
  output_tokens: 5,
  cost: 7,
  ...more,
});

/** The record of a comparison, which is no audit entry. */
function comparison(seed: number, more: Partial<MirrorRecord> = {}): RequestRecord {
  const { data: _, ...request } = record(seed, { user_path: '/mirror', asked_by: 'gateway', counts_as: 'nothing' });
  const usual = { alias: 'chat', stream: false, primary: answer('a/big'), mirror: answer('b/small') };
  return { ...request, mirror: { ...usual, ...more } };
}

const span = { fromMs: beginMs, toMs: beginMs + 1_000 };
const silent: Partial<ComparedAnswer> = { success: false, input_tokens: 0, output_tokens: 0, cost: null };

const cases: Readonly<Record<string, Case>> = {
  async 'pairs of models are summed up by alias, with the exact percentiles of what succeeded'(t, engine) {
    const { store } = await engine.start(t);
    // In no order of time: 100 answers of 1 to 100 ns, whose mirrors take ten times as long.
    const asked = Array.from({ length: 100 }, (_, index) => (index * 37) % 100).map((place, seed) =>
      comparison(seed, {
        primary: answer('a/big', { duration_ns: place + 1, first_byte_ns: place + 1 }),
        mirror: answer('b/small', { duration_ns: 10 * (place + 1), cost: 2 }),
        ...(place < 50 ? { similarity: place < 25 ? 1 : 0.5 } : {}),
      }),
    );
    const { first_byte_ns: _, status_code: _status, ...unanswered } = answer('b/small', silent);
    const failed = comparison(100, { mirror: { ...unanswered, duration_ns: 1e9 } });
    const other = comparison(101, { alias: 'x', primary: answer('a/big', { ...silent, duration_ns: 5 }) });
    t.equal(await store.add([...asked, failed, other]), 102);
    const { pairs, isTruncated } = await store.mirrors(span);
    t.equal(isTruncated, false);
    t.same(pairs, [
      {
        alias: 'chat',
        requests: 101,
        firstMs: beginMs,
        lastMs: beginMs + 100,
        primary: {
          model: 'a/big',
          succeeded: 101,
          // One took 1,000.
          duration: { p50: 51, p95: 96 },
          firstByte: { p50: 51, p95: 96 },
          inputTokens: 1_010,
          outputTokens: 505,
          cost: 707,
          unpriced: 0,
        },
        mirror: {
          model: 'b/small',
          succeeded: 100,
          duration: { p50: 500, p95: 950 },
          firstByte: { p50: 100, p95: 100 },
          inputTokens: 1_000,
          outputTokens: 500,
          cost: 200,
          unpriced: 1,
        },
        compared: 50,
        similarity: 0.75,
      },
      {
        alias: 'x',
        requests: 1,
        firstMs: beginMs + 101,
        lastMs: beginMs + 101,
        primary: { model: 'a/big', succeeded: 0, inputTokens: 0, outputTokens: 0, cost: null, unpriced: 1 },
        mirror: {
          model: 'b/small',
          succeeded: 1,
          duration: { p50: 1_000, p95: 1_000 },
          firstByte: { p50: 100, p95: 100 },
          inputTokens: 10,
          outputTokens: 5,
          cost: 7,
          unpriced: 0,
        },
        compared: 0,
      },
    ]);
    t.same(await store.mirrors({ fromMs: span.toMs, toMs: span.toMs + 1 }), { pairs: [], isTruncated: false });
  },

  async 'a comparison is kept once, is neither an entry nor usage, and goes with usage'(t, engine) {
    const { store } = await engine.start(t);
    t.equal(await store.add([comparison(1), comparison(1), comparison(500)]), 2);
    t.equal(await store.add([comparison(1)]), 0);
    t.equal((await store.entries({}, { limit: 1, offset: 0 })).total, 0);
    t.match(await store.usageTotals({ span, cacheMode: 'all' }), { entries: 0, requests: 0, attempts: 0 });
    const retention = { auditBeforeMs: undefined, usageBeforeMs: beginMs + 500 };
    t.equal(await store.prune(retention, 10), 1);
    t.equal(await store.prune(retention, 10), 0);
    t.match((await store.mirrors(span)).pairs, [{ requests: 1, firstMs: beginMs + 500 }]);
  },
};

export async function testMirrorContract(engine: RecordEngine): Promise<void> {
  for (const [name, run] of Object.entries(cases)) await test(`${engine.name}: ${name}`, (t) => run(t, engine));
}
