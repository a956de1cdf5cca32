// What is remembered of the time to the first byte.
import * as fc from 'fast-check';
import { test } from 'tap';
import { Latency } from '../../../proxy/targets/latency.ts';
import { runs } from '../../support/extent.ts';

const start = 1_800_000_000_000;

await test('nothing is known before there is something to know', async (t) => {
  const latency = new Latency();
  t.equal(latency.mean(), undefined);
  for (let index = 0; index < 20; index += 1) {
    t.equal(latency.p95(false), undefined, `${index} observations are too few for a percentile`);
    latency.observe(100, start + index, false);
  }
  t.equal(latency.mean(), 100);
  t.ok((latency.p95(false) ?? 0) >= 100 && (latency.p95(false) ?? 0) < 113, `${latency.p95(false)}`);
});

await test('the mean follows the last ten seconds, in a burst as well as in a trickle', async (t) => {
  const burst = new Latency();
  for (const ms of [100, 200, 300]) burst.observe(ms, start, false);
  t.equal(burst.mean(), 200, 'calls of one moment weigh the same');
  for (let index = 1; index <= 60; index += 1) burst.observe(20, start + index * 1000, false);
  t.ok(Math.abs((burst.mean() ?? 0) - 20) < 1, `${burst.mean()}`);
  burst.observe(500, start + 600_000, false);
  t.ok((burst.mean() ?? 0) > 499, 'what was ten minutes ago counts for nothing');
});

await test('the percentile is right within a bucket, and follows a change', async () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 60_000 }), { minLength: 20, maxLength: 399 }), (times) => {
      const latency = new Latency();
      for (const [index, ms] of times.entries()) latency.observe(ms, start + index, false);
      const sorted = times.toSorted((a, b) => a - b);
      const exact = sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0;
      const estimate = latency.p95(false) ?? 0;
      return estimate >= exact * 0.9999 && estimate <= exact * 1.1226;
    }),
    runs(500),
  );
  const latency = new Latency();
  for (let index = 0; index < 100_000; index += 1) latency.observe(index % 10 === 0 ? 5000 : 10, start, false);
  for (let index = 0; index < 2000; index += 1) latency.observe(10, start, false);
  const estimate = latency.p95(false) ?? 0;
  if (estimate > 12) throw new Error(`it still stands at ${estimate} ms`);
});
