// Counting instructions, with a stand-in for perf that prints what perf prints: many machines let nobody count.
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import tap from 'tap';
import { probeInstructions, readInstructions } from './instructions.ts';

const COUNTED = 'Events disabled\nEvents enabled\n81234567,,instructions:u,349717274,100.00,,\n';
const REFUSED = 'Events disabled\nEvents enabled\n<not supported>,,instructions:u,0,100.00,,\n';

void tap.test('the count is read from the line of its event', async (t) => {
  t.equal(readInstructions(COUNTED), 81_234_567);
  t.equal(readInstructions('349.72,msec,task-clock,349717274,100.00,,\n12,,instructions:u,1,100.00,,'), 12);
});

void tap.test('what perf says instead of a count is the reason', async (t) => {
  t.throws(() => readInstructions(REFUSED), { message: 'perf counts no instructions here: <not supported>' });
  t.throws(() => readInstructions('<not counted>,,instructions:u,0,0.00,,'), { message: /<not counted>$/ });
  t.throws(() => readInstructions('Access is limited.\nNo permission\n'), { message: /: No permission$/ });
  t.throws(() => readInstructions(''), { message: /it printed nothing$/ });
});

void tap.test('a perf that counts is asked to begin, and counts until it is told to end', async (t) => {
  const { count, why } = await probeInstructions(standIn(t.testdir(), COUNTED));
  t.equal(why, undefined);
  const end = await count?.(process.pid);
  t.equal(await end?.(), 81_234_567);
});

void tap.test('a perf that cannot count, or is missing, is a reason and no failure', async (t) => {
  const refusing = await probeInstructions(standIn(t.testdir(), REFUSED));
  t.match(refusing, { count: undefined, why: 'perf counts no instructions here: <not supported>' });
  t.match(await probeInstructions('/nowhere/perf'), { count: undefined, why: /ENOENT/ });
});

// Answers `enable` on its control pipe as perf does, and prints its report when interrupted.
function standIn(folder: string, report: string): string {
  const file = join(folder, 'perf');
  writeFileSync(join(folder, 'report'), report);
  writeFileSync(
    file,
    `#!/bin/sh
trap 'cat ${folder}/report >&2; exit 130' INT
read order <&3
[ "$order" = enable ] && printf 'ack\\n' >&4
while :; do sleep 0.02; done
`,
  );
  chmodSync(file, 0o755);
  return file;
}
