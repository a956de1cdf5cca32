// Rules that are removed while the rows of counters are collected for a write.
import { setImmediate } from 'node:timers/promises';
import { test } from 'tap';
import { children, hourly, keep, limiterOf, openBreakable, stored, use } from './counters-stand.ts';

await test('a rule that was removed and came back while its rows were collected has what it counts now', async (t) => {
  const place = openBreakable();
  const limiter = limiterOf(children, hourly);
  const kept = await keep(limiter, place);
  for (let child = 0; child < 300; child += 1) use(limiter, `/c/${child}`, 5);
  const flushed = kept.flush();
  // The first hundred rows are collected.
  await setImmediate();
  limiter.reconcile([hourly]);
  limiter.reconcile([hourly, children]);
  use(limiter, '/c/1', 1);
  await flushed;
  await kept.flush();
  t.same(await stored(place), { [`${children.key} /c/1`]: [1, 0], [hourly.key]: [300 * 5 + 1, 0] });
});
