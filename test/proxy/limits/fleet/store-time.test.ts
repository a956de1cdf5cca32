// Between which bounds a proxy knows the store's time.
import { test } from 'tap';
import { StoreTime } from '../../../../proxy/limits/fleet/store-time.ts';
import { createRandom } from '../../../support/random.ts';

await test('the true time is always within the bounds, whatever the clocks and the network do', (t) => {
  const random = createRandom(1);
  for (let world = 0; world < 200; world += 1) {
    const time = new StoreTime();
    const rate = 1 + (random() * 2 - 1) * 190e-6;
    const aheadMs = (random() * 2 - 1) * 5_000;
    const own = (ms: number): number => Math.floor(1_000_000 + ms * rate + aheadMs);
    let nowMs = 0;
    for (let count = 0; count < 100; count += 1) {
      const sentMs = nowMs;
      const storeMs = sentMs + random() * 20;
      const answeredMs = storeMs + random() * 20;
      time.note(own(sentMs), own(answeredMs), Math.floor(storeMs));
      nowMs = answeredMs + random() * 2_000;
      const latest = time.latest(own(nowMs));
      const earliest = time.earliest(own(nowMs));
      if (!(earliest <= nowMs && nowMs < latest)) t.fail(`${earliest} ${nowMs} ${latest}`);
      if (latest - earliest > 46) t.fail(`${earliest} to ${latest} is wide`);
    }
  }
  t.pass();
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
