// The oracle finds what is wrong, and nothing where all is right.
import { test } from 'tap';
import { type Answer, judge } from './oracle.ts';
import { dueTimes } from './scenarios.ts';

const cap = { cap: 3, periodMs: 1_000 };

/** Requests that were sent at these moments and answered 10 ms later. */
function sent(outcome: Answer['outcome'], ...times: readonly number[]): Answer[] {
  return times.map((sentMs) => ({ sentMs, answeredMs: sentMs + 10, outcome }));
}

await test('it finds a period that holds more than the cap, wherever it begins', async (t) => {
  const { surely, possibly } = judge(sent('admitted', 0, 900, 950, 1_800, 1_850), cap);
  t.equal(surely, 4);
  t.equal(possibly, 4);
});

await test('it finds none where a cap of a sliding period was kept', async (t) => {
  const { surely, possibly, wronglyRefused } = judge(
    [...sent('admitted', 0, 10, 20, 1_040, 1_050, 1_060), ...sent('refused', 30, 500, 990)],
    cap,
  );
  t.equal(surely, 3);
  t.equal(possibly, 3);
  t.equal(wronglyRefused, 0);
});

await test('what may lie outside a period, or had no answer, is over the cap perhaps, not for sure', async (t) => {
  const edge = judge(sent('admitted', 0, 10, 20, 995), cap);
  t.strictSame([edge.surely, edge.possibly], [3, 4]);
  const lost = judge([...sent('admitted', 0, 10, 20), ...sent('unclear', 100)], cap);
  t.strictSame([lost.surely, lost.possibly, lost.unclear], [3, 4, 1]);
  const closed = judge([...sent('admitted', 0, 10, 20), ...sent('unavailable', 100)], cap);
  t.strictSame([closed.possibly, closed.unavailable, closed.wronglyRefused], [3, 1, 0]);
});

await test('it finds a refusal while there was room, and how much', async (t) => {
  const { wronglyRefused, mostRoom } = judge([...sent('admitted', 0), ...sent('refused', 500, 1_100)], cap);
  t.equal(wronglyRefused, 2);
  t.equal(mostRoom, 3);
  t.equal(judge([...sent('admitted', 0, 1), ...sent('unclear', 100), ...sent('refused', 500)], cap).wronglyRefused, 0);
  t.equal(judge(sent('refused', 1_015), { ...cap, cap: 1 }).mostRoom, 1);
  const late = [...sent('admitted', 0), ...sent('refused', 1_015)];
  t.equal(judge(late, { ...cap, cap: 1 }).wronglyRefused, 0, 'a limiter may count in sixtieths of the period');
});

await test('bursts lie on both sides of the boundaries of slices', async (t) => {
  const plan = { name: '', cap: 20, periodSeconds: 1, demand: 2, shape: 'bursts', onStoreLoss: 'closed' } as const;
  t.strictSame(dueTimes(plan, 50, 250), [98, 98, 102, 102, 198, 198, 202, 202]);
  t.strictSame(dueTimes({ ...plan, shape: 'steady' }, 50, 150), [50, 75, 100, 125]);
});
