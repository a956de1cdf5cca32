// Many test files in one process: what one of them does to the process is its own failure.

import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Test, test } from 'tap';
import { temporaryDirectory } from './teardown.ts';

const passes = "await test('it', async (t) => void t.pass());";

/** The lines of the files, without their names' directory and their times. */
async function run(t: Test, sources: Readonly<Record<string, string>>): Promise<{ lines: string[]; code: number }> {
  const directory = temporaryDirectory(t);
  const files = Object.entries(sources).map(([name, source]) => {
    const file = join(directory, `${name}.test.ts`);
    writeFileSync(file, `import { t as suite, test } from 'tap';\n${source}\n`);
    return file;
  });
  const child = spawn(process.execPath, ['test/together.ts', ...files], {
    env: { ...process.env, TAP_TIMEOUT: '1' },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const ended = new Promise<number>((resolve) => void child.once('close', (code) => resolve(code ?? -1)));
  const output = await text(child.stdout);
  const lines = output.split('\n').filter((line) => /^(not )?ok /.test(line));
  return {
    lines: lines.map((line) => line.replaceAll(`${directory}/`, '').replace(/ # time=.*/, '')),
    code: await ended,
  };
}

await test('each file is one result, and a file that fails, throws or hangs leaves the others theirs', async (t) => {
  const { lines, code } = await run(t, {
    good: passes,
    failing: "await test('it', async (t) => void t.equal(1, 2));",
    throwing: "throw new Error('no');",
    uncaught: "await test('it', () => new Promise(() => void setTimeout(() => { throw new Error('no'); })));",
    hanging: "await test('it', () => new Promise((resolve) => void setTimeout(resolve, 2_000)));",
    unawaited: "test('it', async (t) => void t.equal(1, 2));",
    last: passes,
  });
  t.same(lines, [
    'ok 1 - good.test.ts',
    'not ok 2 - failing.test.ts',
    'not ok 3 - throwing.test.ts',
    'not ok 4 - uncaught.test.ts',
    'not ok 5 - hanging.test.ts',
    'not ok 6 - unawaited.test.ts',
    'ok 7 - last.test.ts',
  ]);
  t.not(code, 0);
});

await test('what a file asks for at its end is done before the next file', async (t) => {
  const { lines } = await run(t, {
    first: `suite.teardown(() => void (globalThis.isOver = true));\n${passes}`,
    second: "await test('it', async (t) => void t.equal(globalThis.isOver, true));",
  });
  t.same(lines, ['ok 1 - first.test.ts', 'ok 2 - second.test.ts']);
});

await test('a file that ends the process fails by its name', async (t) => {
  const { lines, code } = await run(t, {
    first: passes,
    leaving: "await test('it', () => process.exit(0));",
    last: passes,
  });
  t.same(lines.slice(0, 2), ['ok 1 - first.test.ts', 'not ok 2 - leaving.test.ts']);
  t.not(code, 0);
});
