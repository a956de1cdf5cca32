// CPU time between two marks: threads summed to the nanosecond, ticks where threads came and went.
import { existsSync } from 'node:fs';
import tap from 'tap';
import { type CpuMark, cpuBetweenMs, markCpu } from './cpu-time.ts';

void tap.test('the nanoseconds of all threads are summed, those of new threads too', async (t) => {
  const before = mark({ a: 5e6, b: 1e6 }, 100);
  t.equal(cpuBetweenMs(before, mark({ a: 7e6, b: 1.5e6 }, 100)), 2.5);
  t.equal(cpuBetweenMs(before, mark({ a: 7e6, b: 1e6, c: 3e6 }, 110)), 5);
  t.equal(cpuBetweenMs(before, before), 0);
});

void tap.test('ticks are used when a thread ended, its number was used again, or time is in no thread', async (t) => {
  const before = mark({ a: 5e6, b: 1e6 }, 100);
  t.equal(cpuBetweenMs(before, mark({ a: 7e6 }, 130)), 30, 'b ended');
  t.equal(cpuBetweenMs(before, mark({ a: 7e6, b: 0.5e6 }, 130)), 30, 'b is another thread');
  t.equal(cpuBetweenMs(before, mark({ a: 7e6, b: 1e6 }, 400)), 300, 'a thread began and ended in between');
  t.equal(cpuBetweenMs(mark({}, 100), mark({}, 130)), 30, 'a kernel without the account');
});

void tap.test(
  'the marks of this process see a loop of 20 ms',
  { skip: existsSync('/proc/self/schedstat') ? false : 'no schedstat' },
  async (t) => {
    const before = markCpu(process.pid);
    const start = process.cpuUsage();
    while (process.cpuUsage(start).user < 20_000);
    const ms = cpuBetweenMs(before, markCpu(process.pid));
    t.ok(ms > 10, String(ms));
  },
);

void tap.test('a process that is gone used nothing', async (t) => {
  const gone = markCpu(2 ** 22);
  t.same(gone, { threads: new Map(), ticksMs: 0 });
  t.equal(cpuBetweenMs(gone, gone), 0);
});

function mark(threads: Record<string, number>, ticksMs: number): CpuMark {
  return { threads: new Map(Object.entries(threads)), ticksMs };
}
