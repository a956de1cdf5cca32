// Work that never runs twice at once: one answer for many who ask, and with `next` never one that is older than the question.
import { test } from 'tap';
import { singleFlight } from '../../store/single-flight.ts';

/** A question whose answers are given by hand: the number of times it was asked. */
function startQuestion() {
  const open: { resolve: (answer: number) => void; reject: (error: Error) => void }[] = [];
  const flight = singleFlight(() => new Promise<number>((resolve, reject) => open.push({ resolve, reject })));
  return {
    ...flight,
    ask: flight.next,
    asked: () => open.length,
    answer: (index: number) => open[index]?.resolve(index),
    open,
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

await test('calls during a run share the next run', async (t) => {
  const { ask, asked, answer } = startQuestion();
  const first = ask();
  const late = [ask(), ask(), ask()];
  t.equal(asked(), 1);
  answer(0);
  t.equal(await first, 0);
  await turn();
  t.equal(asked(), 2);
  const later = ask();
  answer(1);
  t.same(await Promise.all(late), [1, 1, 1]);
  await turn();
  t.equal(asked(), 3);
  answer(2);
  t.equal(await later, 2);
  await turn();
  void ask();
  t.equal(asked(), 4, 'without a run under way it starts at once');
});

await test('an answer that fails is the failure of those who share it alone', async (t) => {
  const { ask, answer, open } = startQuestion();
  const first = ask();
  const late = [ask(), ask()];
  open[0]?.reject(new Error('away'));
  await t.rejects(first, { message: 'away' });
  await turn();
  answer(1);
  t.same(await Promise.all(late), [1, 1]);
  const alone = ask();
  open[2]?.reject(new Error('away again'));
  await t.rejects(alone, { message: 'away again' });
  const after = ask();
  answer(3);
  t.equal(await after, 3);
});

await test('join gives the run under way, or a new one when there is none', async (t) => {
  const { join, asked, answer, isRunning, finished } = startQuestion();
  await finished();
  t.notOk(isRunning());
  const both = [join(), join()];
  t.equal(asked(), 1);
  t.ok(isRunning());
  const end = finished();
  answer(0);
  t.same(await Promise.all(both), [0, 0]);
  await end;
  t.notOk(isRunning());
  const again = join();
  answer(1);
  t.equal(await again, 1);
});

await test('waiting for the end does not reject', async (t) => {
  const { join, open, finished } = startQuestion();
  const failing = join();
  const end = finished();
  open[0]?.reject(new Error('away'));
  await t.rejects(failing, { message: 'away' });
  t.equal(await end, undefined);
});
