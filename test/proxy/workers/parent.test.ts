// The parent of workers as a real process, with workers that imitate a proxy: starts, restarts, signals and lines.
import { test } from 'tap';
import { type RunningProcess, startProcess } from '../../support/process.ts';
import type { Teardown } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

function start(t: Teardown, imitated: string): Promise<RunningProcess> {
  const entry = 'test/proxy/workers/imitated-worker.ts';
  return startProcess({ t, entry, env: { IMITATED: imitated }, ready: 'spawned' });
}

const allServe = '"all workers serve"';

await test('a worker that refuses to start ends the start with its status, whichever it is', async (t) => {
  for (const refusing of ['1:refuse', '2:refuse'])
    t.same(await (await start(t, refusing)).exited, { code: 7, signal: null }, refusing);
});

await test('a worker that ends by itself is started again, and again', async (t) => {
  const parent = await start(t, '2:end');
  await waitFor('three ends', () => parent.logs().filter(({ how }) => how === 'status 9').length >= 3);
  const pauses = parent.logs().flatMap(({ pause_ms: pause }) => pause ?? []);
  t.same(pauses.slice(0, 3), [100, 200, 400], 'after longer and longer pauses');
  t.same(await parent.stop(), { code: 0, signal: null });
});

await test('each signal of the parent reaches all workers, and it ends when they have', async (t) => {
  const parent = await start(t, '1:wait,2:wait');
  await parent.waitForLine(allServe);
  parent.signal('SIGTERM');
  parent.signal('SIGHUP');
  t.same(await parent.exited, { code: 0, signal: null });
});

await test('lines of workers are longer than a pipe takes at once, and come whole', async (t) => {
  const parent = await start(t, '1:write,2:write');
  await waitFor('all lines', () => parent.stdout.filter((line) => /^[12]/.test(line)).length === 40, 10_000);
  t.same(
    new Set(parent.stdout.filter((line) => /^[12]/.test(line))),
    new Set(['1', '2'].map((digit) => digit.repeat(300_000))),
  );
  t.same(await parent.stop(), { code: 0, signal: null });
});
