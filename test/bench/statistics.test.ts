// The arithmetic of a comparison on numbers whose answer is known.
import tap from 'tap';
import { median, type Pair, ratioOf, ratioOfLaunches, studentT, wordFor } from './statistics.ts';

void tap.test('the median of an even count lies between the two middle values', async (t) => {
  t.equal(median([4, 1, 3, 2]), 2.5);
  t.equal(median([9, 1, 5]), 5);
  t.ok(Number.isNaN(median([])));
});

void tap.test("Student's t agrees with the printed tables to a hundredth", async (t) => {
  const printed = { 1: 12.706, 2: 4.303, 3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 120: 1.98 };
  for (const [freedom, value] of Object.entries(printed)) {
    t.ok(Math.abs(studentT(Number(freedom)) - value) < 0.03, `${freedom}: ${studentT(Number(freedom))}`);
  }
  t.equal(studentT(0), Number.POSITIVE_INFINITY, 'one value says nothing about its spread');
});

void tap.test('equal ratios give that ratio without doubt', async (t) => {
  const pairs = [10, 20, 40, 80, 160].map((before) => ({ before, after: before * 1.1 }));
  const { ratio, low, high } = ratioOf(pairs);
  for (const value of [ratio, low, high]) t.ok(Math.abs(value - 1.1) < 1e-9);
  t.equal(wordFor({ ratio, low, high }), 'worse');
});

void tap.test('the interval is that of Yuen for a trimmed mean', async (t) => {
  // Ten logarithms 0.1 … 1.0: two are cut on each side; winsorized they are 0.3 0.3 0.3 0.4 … 0.7 0.8 0.8 0.8.
  const pairs = Array.from({ length: 10 }, (_, index) => ({ before: 1, after: Math.exp((index + 1) / 10) }));
  const { ratio, low, high } = ratioOf(pairs);
  t.ok(Math.abs(Math.log(ratio) - 0.55) < 1e-9);
  // Winsorized sum of squares 0.425, so s = √(0.425 / 9) = 0.21731; s / (0.6 √10) = 0.11453; t(5) = 2.568.
  t.ok(Math.abs(Math.log(high) - (0.55 + 0.2941)) < 1e-3, String(Math.log(high)));
  t.ok(Math.abs(Math.log(low) - (0.55 - 0.2941)) < 1e-3, String(Math.log(low)));
});

void tap.test('two stalls among ten pairs change nothing', async (t) => {
  const calm: Pair[] = Array.from({ length: 10 }, (_, index) => ({ before: 100, after: 90 + (index % 3) }));
  const stalled = [...calm.slice(0, 8), { before: 100, after: 900 }, { before: 2000, after: 90 }];
  t.ok(Math.abs(ratioOf(stalled).ratio - ratioOf(calm).ratio) < 0.01);
  t.equal(wordFor(ratioOf(stalled)), 'better');
});

void tap.test('a difference needs an interval without 1, sameness one within 3 %', async (t) => {
  const word = (low: number, high: number): string => wordFor({ ratio: (low + high) / 2, low, high });
  t.equal(word(0.9, 0.99), 'better');
  t.equal(word(1.01, 1.4), 'worse');
  t.equal(word(0.98, 1.02), 'same');
  t.equal(word(0.96, 1.02), 'cannot tell');
  t.equal(word(0.98, 1.04), 'cannot tell');
});

void tap.test('launches that differ widen the interval, launches that agree do not', async (t) => {
  const launch = (ratio: number): Pair[] => Array.from({ length: 6 }, () => ({ before: 100, after: 100 * ratio }));
  const apart = ratioOfLaunches([launch(0.9), launch(1), launch(1.1), launch(1)]);
  // Logarithms -0.1054, 0, 0.0953, 0 around -0.0025: s = 0.0820, t(3) = 3.16, so 0.13 on either side.
  t.ok(Math.abs(Math.log(apart.high / apart.low) / 2 - 0.13) < 0.01, JSON.stringify(apart));
  t.equal(wordFor(apart), 'cannot tell');
  const noisy = Array.from({ length: 6 }, (_, index) => ({ before: 100, after: 80 + index * 4 }));
  t.same(ratioOfLaunches([noisy, noisy, noisy]), ratioOf([noisy, noisy, noisy].flat()));
  t.same(ratioOfLaunches([noisy, launch(2)]), ratioOf([noisy, launch(2)].flat()), 'two launches are too few');
});

void tap.test('two pairs say nothing for certain', async (t) => {
  const { low, high } = ratioOf([
    { before: 100, after: 50 },
    { before: 100, after: 60 },
  ]);
  t.equal(wordFor({ ratio: 0.55, low, high }), 'cannot tell');
});
