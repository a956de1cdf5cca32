// Counter rows as text: what is written is read, and a row expires exactly when the limiter's ring lets go of it.
import * as fc from 'fast-check';
import { test } from 'tap';
import { type CounterRow, decodeCounts, encodeCounts, expiresAtMs } from '../../../domain/rules/counter-row.ts';
import { sliceAt, sliceCount } from '../../../domain/rules/slice.ts';

const count = fc.nat({ max: Number.MAX_SAFE_INTEGER });
const pairs = fc.array(fc.tuple(fc.nat({ max: 2 ** 40 }), count), { maxLength: 61 });
const rows = fc.record({
  key: fc.string(),
  epoch: count,
  child: fc.string(),
  periodSeconds: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  requests: pairs,
  tokens: pairs,
});

await test('what is written is read', async (t) => {
  fc.assert(
    fc.property(rows, (written) => {
      const read = decodeCounts(written.key, written.child, encodeCounts(written));
      return JSON.stringify(read) === JSON.stringify(written);
    }),
  );
  const newer = JSON.stringify({ ...JSON.parse(encodeCounts(row({}))), added: [1] });
  t.same(decodeCounts('k', '', newer), row({}), 'members of a newer version are ignored');
});

await test('no text makes it throw, and none but its own is a row', async (t) => {
  fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => decodeCounts('k', '', text) === undefined));
  for (const [name, value] of Object.entries({ epoch: -1, period_seconds: 0, requests: [[1, 0.5]], tokens: [[1]] })) {
    const text = JSON.stringify({ ...JSON.parse(encodeCounts(row({}))), [name]: value });
    t.equal(decodeCounts('k', '', text), undefined, text);
  }
});

await test('a row expires when its newest slice leaves the ring', async (t) => {
  t.equal(expiresAtMs(row({ requests: [], tokens: [] })), undefined);
  t.equal(expiresAtMs(row({ requests: [[100, 1]] })), 161_000);
  t.equal(
    expiresAtMs(
      row({
        requests: [[100, 1]],
        tokens: [
          [7, 1],
          [102, 1],
        ],
      }),
    ),
    163_000,
  );
  const period = fc.integer({ min: 1, max: 31_536_000 });
  const nowMs = fc.integer({ min: 0, max: 4_102_444_800_000 });
  fc.assert(
    fc.property(period, nowMs, (periodSeconds, now) => {
      const slice = sliceAt(now, periodSeconds);
      const expires = expiresAtMs(row({ periodSeconds, requests: [[slice, 1]] })) ?? Number.NaN;
      const isInRing = (atMs: number): boolean => sliceAt(atMs, periodSeconds) - slice < sliceCount;
      return isInRing(expires - 1) && !isInRing(expires);
    }),
  );
});

function row(more: Partial<CounterRow>): CounterRow {
  return { key: 'k', epoch: 1, child: '', periodSeconds: 60, requests: [[1, 1]], tokens: [], ...more };
}
