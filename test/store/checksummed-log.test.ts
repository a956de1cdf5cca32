// A copy that grows: complete lines are read back, and nothing when one of them is another, missing or moved.
import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { ChecksummedLog, recallLog } from '../../store/checksummed-log.ts';
import { temporaryDirectory } from '../support/teardown.ts';

await test('lines come back as they were written, but for one that was not written to its end', async (t) => {
  const path = join(temporaryDirectory(t), 'folder', 'log');
  const log = new ChecksummedLog(path);
  t.notOk(log.mayGrow);
  t.equal(await log.begin(2, ['{"a":1}', '"é 😀"']), undefined);
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.ok(log.mayGrow);
  t.equal(await log.append('3'), undefined);
  const text = readFileSync(path, 'utf8');
  t.same(recallLog(text), { lines: ['{"a":1}', '"é 😀"', '3'] });
  t.same(recallLog(text.slice(0, -2)), { lines: ['{"a":1}', '"é 😀"'] }, 'a crash while it was added');
  const lines = text.split('\n');
  const others = {
    'a line of the beginning is missing at the end': lines.slice(0, 2),
    'a line is missing': lines.toSpliced(1, 1),
    'two lines are in another order': [lines[0], lines[2], lines[1], ...lines.slice(3)],
    'a line is another one': lines.map((line) => line.replace('"a":1', '"a":2')),
    'there is no line': [''],
    'it is something else': ['text', ''],
  };
  for (const [what, changed] of Object.entries(others))
    t.same(recallLog(changed.join('\n')), { distrust: 'it is damaged' }, what);
});

await test('a file grows to twice its size; nothing is added to one that is gone, or could not be written to', async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, 'log');
  const log = new ChecksummedLog(path);
  const large = JSON.stringify('x'.repeat(2 ** 20));
  t.equal(await log.begin(1, [large]), undefined);
  t.equal(await log.append(large), undefined);
  t.ok(log.mayGrow);
  t.equal(await log.append(large), undefined);
  t.notOk(log.mayGrow);
  t.equal(await log.begin(1, ['1']), undefined);
  t.ok(log.mayGrow);
  writeFileSync(join(directory, 'blocked'), '');
  t.match(await new ChecksummedLog(join(directory, 'blocked', 'log')).begin(0, []), /EEXIST|ENOTDIR/);
  const gone = new ChecksummedLog(join(directory, 'gone'));
  await gone.begin(0, []);
  rmSync(join(directory, 'gone'));
  t.match(await gone.append('1'), /ENOENT/);
  t.notOk(gone.mayGrow);
});
