// A counter row expires exactly when the limiter's ring lets go of its newest slice.
import * as fc from 'fast-check';
import { test } from 'tap';
import { leavesRingAtMs } from '../../../domain/rules/counter-row.ts';
import { sliceAt, sliceCount } from '../../../domain/rules/slice.ts';

await test('a slice leaves the ring a period and a slice after it began', async (t) => {
  t.equal(leavesRingAtMs(100, 60), 161_000);
  const period = fc.integer({ min: 1, max: 31_536_000 });
  const nowMs = fc.integer({ min: 0, max: 4_102_444_800_000 });
  fc.assert(
    fc.property(period, nowMs, (periodSeconds, now) => {
      const slice = sliceAt(now, periodSeconds);
      const expires = leavesRingAtMs(slice, periodSeconds);
      const isInRing = (atMs: number): boolean => sliceAt(atMs, periodSeconds) - slice < sliceCount;
      return isInRing(expires - 1) && !isInRing(expires);
    }),
  );
});
