// The time by which authority ends: whichever way the wall clock is set, nothing lasts longer.
import { test } from 'tap';
import { authorityClock } from '../../plane/access/authority-clock.ts';

await test('a wall clock that is set forward counts at once, one that is set back revives nothing', async (t) => {
  let wall = 1_000;
  let steady = 1_000;
  const nowMs = authorityClock(
    () => wall,
    () => steady,
  );
  t.equal(nowMs(), 1_000);
  [wall, steady] = [5_000, 1_100];
  t.equal(nowMs(), 5_000, 'set forward, or the machine has slept');
  [wall, steady] = [200, 1_200];
  t.equal(nowMs(), 1_200, 'set back');
});
