// The sliding window in numbers: slices, counts, waits, storage.
import * as fc from 'fast-check';
import { test } from 'tap';
import { sliceAt, sliceCount, sliceStartMs } from '../../../domain/rules/slice.ts';
import { Recent } from '../../../proxy/limits/recent.ts';
import { requests, SliceClock, tokens, Window } from '../../../proxy/limits/window.ts';
import { runs } from '../../support/extent.ts';

const start = 1_800_000_000_000;

function windowOf(periodSeconds: number): Window {
  return new Window(new SliceClock(periodSeconds));
}

await test('a slice is a sixtieth of its period, in exact integers for every period', async (t) => {
  for (const [nowMs, period, slice] of [
    [0, 60, 0],
    [999, 60, 0],
    [1_000, 60, 1],
    [start, 60, start / 1_000],
    [start - 1, 60, start / 1_000 - 1],
    [16, 1, 0],
    [17, 1, 1],
    [33, 1, 1],
    [34, 1, 2],
    [50, 1, 3],
    [1_440_000, 86_400, 1],
    [1_439_999, 86_400, 0],
    [start, 2_147_483_647, Number((BigInt(start) * 60n) / (1_000n * 2_147_483_647n))],
  ] as const) {
    t.equal(sliceAt(nowMs, period), slice, `${nowMs} ms in ${period} s`);
  }
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 100_000_000_000_000 }),
      fc.integer({ min: 1, max: 2_147_483_647 }),
      (nowMs, period) => {
        const slice = sliceAt(nowMs, period);
        const exact = (BigInt(nowMs) * 60n) / (1_000n * BigInt(period));
        const startMs = sliceStartMs(slice, period);
        const isFirst = sliceAt(startMs, period) === slice && (startMs === 0 || sliceAt(startMs - 1, period) < slice);
        return BigInt(slice) === exact && startMs <= nowMs && isFirst;
      },
    ),
    runs(5_000),
  );
});

await test('what leaves the trailing period is forgotten within one slice', async (t) => {
  const window = windowOf(60);
  window.add(requests, 3, start);
  window.add(requests, 4, start + 30_000);
  for (const [afterMs, used] of [
    [30_000, 7],
    [59_999, 7],
    [60_000, 7],
    [60_999, 7],
    [61_000, 4],
    [90_999, 4],
    [91_000, 0],
  ] as const) {
    t.equal(window.used(requests, start + afterMs), used, `after ${afterMs} ms`);
  }
});

await test('a gap of any length leaves nothing behind', async (t) => {
  for (const gapMs of [61_000, 120_000, 3_600_000, 366 * 86_400_000]) {
    const window = windowOf(60);
    for (let slice = 0; slice < sliceCount; slice += 1) window.add(requests, 1, start + slice * 1_000);
    const lastMs = start + 60_000;
    t.equal(window.used(requests, lastMs), 61);
    t.equal(window.used(requests, lastMs + gapMs), 0, `${gapMs} ms`);
    t.same(window.pairs(requests), []);
  }
});

await test('the wait is the first whole second at which the count is below the cap', async (t) => {
  const full = windowOf(60);
  full.add(requests, 10, start);
  t.equal(full.retryAfterSeconds(requests, 10, start), 61, 'ten of ten in the first second');
  t.equal(full.retryAfterSeconds(requests, 10, start + 30_000), 31, 'asked half a minute later');
  t.equal(full.retryAfterSeconds(requests, 10, start + 60_999), 1, 'never less than one');
  t.equal(full.retryAfterSeconds(requests, 10, start + 61_000), 0, 'nothing to wait for');

  const one = windowOf(60);
  one.add(requests, 1, start);
  t.equal(one.retryAfterSeconds(requests, 1, start), 61, 'one of one');

  const hundred = windowOf(60);
  hundred.add(requests, 100, start);
  t.equal(hundred.retryAfterSeconds(requests, 100, start + 30_000), 31, 'a hundred of a hundred');

  for (const spent of [30, 1_000_000]) {
    const charged = windowOf(60);
    charged.add(tokens, spent, start);
    t.equal(charged.retryAfterSeconds(tokens, 10, start), 61, `${spent} tokens of 10`);
  }

  const spread = windowOf(60);
  for (let second = 0; second < 10; second += 1) spread.add(requests, 1, start + second * 1_000);
  t.equal(spread.retryAfterSeconds(requests, 10, start + 9_000), 52, 'the oldest goes first');
  t.equal(spread.retryAfterSeconds(requests, 8, start + 9_000), 54, 'a lowered cap waits for three of them');
});

await test('the wait is honest for every period: refused one second earlier, admitted then', async (t) => {
  const counts = fc.array(fc.tuple(fc.integer({ min: 0, max: 120_000 }), fc.integer({ min: 1, max: 3 })), {
    minLength: 1,
    maxLength: 8,
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 4 }), counts, (period, cap, added) => {
      const window = windowOf(period);
      let nowMs = start + 7;
      for (const [gapMs, count] of added) {
        nowMs += Math.floor((gapMs * period) / 1_000);
        window.add(requests, count, nowMs);
      }
      const wait = window.retryAfterSeconds(requests, cap, nowMs);
      if (wait === 0) return window.used(requests, nowMs) < cap;
      const isRefusedBefore = wait === 1 || window.used(requests, nowMs + 1_000 * (wait - 1)) >= cap;
      return isRefusedBefore && window.used(requests, nowMs + 1_000 * wait) < cap;
    }),
    runs(3_000),
  );
  t.pass('3,000 windows');
});

await test('a refund takes from the slice that was charged, and from nowhere once that has left', async (t) => {
  const window = windowOf(60);
  window.add(requests, 2, start);
  window.add(requests, 1, start + 10_000);
  window.refund(requests, 1, start + 500, start + 20_000);
  t.same(window.pairs(requests), [
    [start / 1_000, 1],
    [start / 1_000 + 10, 1],
  ]);
  window.refund(requests, 1, start, start + 61_000);
  t.equal(window.used(requests, start + 61_000), 1, 'the charged slice is gone');
  window.refund(requests, 5, start + 10_000, start + 61_000);
  t.equal(window.used(requests, start + 61_000), 0, 'never below nothing');
  window.refund(tokens, 5, start + 10_000, start + 61_000);
  t.equal(window.used(tokens, start + 61_000), 0, 'tokens were never counted');
});

await test('requests and tokens do not mix', async (t) => {
  for (const first of [requests, tokens] as const) {
    const window = windowOf(60);
    window.add(first, 5, start);
    window.add(first === requests ? tokens : requests, 7, start + 1_000);
    t.equal(window.used(first, start + 1_000), 5);
    t.equal(window.used(first === requests ? tokens : requests, start + 1_000), 7);
    t.equal(window.used(first, start + 61_000), 0);
    t.equal(window.used(first === requests ? tokens : requests, start + 61_000), 7);
  }
});

await test('the largest cap is counted to the last token', async (t) => {
  const window = windowOf(86_400);
  const most = Number.MAX_SAFE_INTEGER;
  window.add(tokens, most - 1, start);
  t.equal(window.retryAfterSeconds(tokens, most, start), 0);
  window.add(tokens, 1, start);
  t.equal(window.used(tokens, start), most);
  t.not(window.retryAfterSeconds(tokens, most, start), 0);
  window.add(tokens, most, start + 1_440_000);
  t.equal(window.used(tokens, start + 1_440_000), most, 'more is not added');
  t.equal(window.used(tokens, start + 61 * 1_440_000), 0, 'and the total still comes down to nothing');
});

await test('full of tokens a window counts requests yet, and cleared it has nothing of either', async (t) => {
  const window = windowOf(60);
  window.add(tokens, Number.MAX_SAFE_INTEGER, start);
  window.add(requests, 1, start);
  t.same([window.used(requests, start), window.used(tokens, start)], [1, Number.MAX_SAFE_INTEGER]);
  window.clear();
  t.same([window.used(requests, start), window.used(tokens, start)], [0, 0]);
  window.add(requests, 1, start);
  t.same(window.pairs(requests), [[start / 1_000, 1]]);
});

await test('stored slices are added where they belong', async (t) => {
  const slice = start / 1_000;
  const window = windowOf(60);
  window.add(requests, 1, start);
  const moved = window.restore(
    requests,
    [
      [slice - 61, 9],
      [slice - 60, 1],
      [slice, 2],
    ],
    start,
  );
  t.equal(moved, false);
  t.same(window.pairs(requests), [
    [slice - 60, 1],
    [slice, 3],
  ]);
  t.equal(window.restore(requests, [[slice + 100_000, 4]], start), true, 'what comes from the future counts as now');
  t.same(window.pairs(requests).at(-1), [slice, 7]);
  t.equal(window.retryAfterSeconds(requests, 1, start), 61, 'and blocks no longer than a period and a slice');
  const odd = [
    [slice, -1],
    [slice, 0.5],
    [slice, Number.NaN],
    [Number.NaN, 1],
    [Number.POSITIVE_INFINITY, 1],
    [slice, Number.POSITIVE_INFINITY],
    [-5, 1],
  ] as const;
  t.equal(window.restore(requests, odd, start), false);
  t.equal(window.used(requests, start), 8, 'what makes no sense is dropped');
});

await test('large entries take their room in the memory of look-ups', async (t) => {
  const recent = new Recent<number, string>(100);
  const kept = (): number => Array.from({ length: 1_000 }, (_, key) => recent.get(key, 10)).filter(Boolean).length;
  for (let key = 0; key < 1_000; key += 1) recent.set(key, `v${key}`, 10);
  t.ok(kept() >= 10 && kept() <= 20, `${kept()} of 1,000`);
});

await test('the memory of look-ups stays bounded and keeps what is in use', async (t) => {
  const recent = new Recent<number, string>(10);
  let kept = 0;
  for (let key = 0; key < 1_000; key += 1) {
    recent.set(key, `v${key}`);
    if (recent.get(0) === 'v0') kept += 1;
  }
  t.equal(kept, 1_000, 'asked for every time, kept every time');
  t.equal(recent.get(500), undefined);
  t.equal(recent.get(999), 'v999');
});

await test('the memory of look-ups forgets the older half when the younger one is full', async (t) => {
  const recent = new Recent<string, string>(2);
  for (const key of ['a', 'b', 'c', 'd', 'e']) recent.set(key, key);
  t.same(
    ['a', 'b', 'c', 'd', 'e'].map((key) => recent.get(key)),
    [undefined, undefined, 'c', 'd', 'e'],
  );
});
