// Between which bounds a proxy knows the store's time.
import { test } from 'tap';
import { StoreTime } from '../../../../proxy/limits/fleet/store-time.ts';
import { wrongBounds } from './clocks.ts';

await test('the true time is always within the bounds, whatever the clocks and the network do', (t) => {
  const faults = Array.from({ length: 300 }, (_, seed) => wrongBounds(seed)).filter((fault) => fault !== undefined);
  t.same(faults, []);
  t.end();
});

await test('when the clock of the store was set, what was known before is forgotten', (t) => {
  for (const stepMs of [-300, 300]) {
    const time = new StoreTime();
    time.note(0, 2, 1_001);
    time.note(1_000, 1_002, 2_001 + stepMs);
    t.same([time.earliest(1_002), time.latest(1_002)], [2_000 + stepMs, 2_006 + stepMs]);
  }
  t.end();
});

await test('before the first exchange the own clock is taken for that of the store', (t) => {
  const time = new StoreTime();
  t.notOk(time.isKnown);
  t.equal(time.ownMs(time.earliest(500), 500) <= 500, true);
  t.end();
});
