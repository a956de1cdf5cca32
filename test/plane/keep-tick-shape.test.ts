// In a process of its own: what V8 has seen in this one would decide it.
import { test } from 'tap';
import { startProcess } from '../support/process.ts';

await test('collections of garbage leave process.nextTick as fast as it was', async (t) => {
  const child = await startProcess({
    entry: 'test/plane/tick-speed.ts',
    execArgv: ['--expose-gc'],
    ready: 'spawned',
    t,
  });
  t.equal((await child.exited).code, 0);
  t.match(child.stdout.join('\n'), /^as fast/);
});
