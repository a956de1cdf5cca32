// Lines to a reader that is slow, stopped or gone: order, batches, the bound, and what is said of dropped lines.
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { LineWriter } from '../../plane/line-writer.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

/** A pipe that does not block, with a reader that takes only what it is told to. */
function openPipe(t: Teardown) {
  const path = join(temporaryDirectory(t), 'pipe');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => closeSync(fd));
  const bytes = Buffer.alloc(1024 * 1024);
  const read = (): string => {
    try {
      return bytes.toString('utf8', 0, readSync(fd, bytes));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      return '';
    }
  };
  return { fd, read };
}

await test('an event goes out at once, with the lines of requests that came before it; others wait for company', async (t) => {
  const { fd, read } = openPipe(t);
  const writer = new LineWriter(fd);
  writer.writeSoon('one\n');
  writer.writeSoon('two\n');
  t.equal(read(), '');
  writer.write('event\n');
  t.equal(read(), 'one\ntwo\nevent\n');
  writer.writeSoon('three\n');
  t.equal(await waitFor('the batch', read, 1_000), 'three\n');
  writer.writeSoon(`${'x'.repeat(65_535)}\n`);
  t.ok(read().length > 60_000, 'a full batch does not wait');
});

await test('a reader that has stopped costs bounded memory; later it gets whole lines in order, and hears how many are missing', async (t) => {
  const { fd, read } = openPipe(t);
  const writer = new LineWriter(fd);
  const line = (index: number): string => `${String(index).padStart(7, '0')}${'y'.repeat(1016)}\n`;
  for (let index = 0; index < 5_000; index += 1) writer.writeSoon(line(index));
  t.ok(writer.droppedRequests > 3_500 && writer.droppedRequests < 4_000, `${writer.droppedRequests} dropped`);
  t.equal(writer.takeDropped(), undefined, 'nothing is said to a reader that does not read');
  writer.write('an event finds room\n');
  for (let index = 0; index < 3_000; index += 1) writer.write(line(index));

  let text = '';
  await waitFor('the reader to catch up', () => {
    text += read();
    return text.includes('an event finds room') && writer.takeDropped();
  });
  text += read();
  const lines = text.split('\n').slice(0, -1);
  t.ok(text.length < 2_200_000, `${text.length} bytes were held`);
  t.ok(lines.every((each) => each.length === 1023 || each === 'an event finds room'));
  const numbers = lines.slice(0, lines.indexOf('an event finds room')).map((each) => Number(each.slice(0, 7)));
  t.same(numbers, [...numbers.keys()], 'the first ones, none of them twice');
  t.equal(numbers.length + writer.droppedRequests, 5_000);
  t.equal(writer.takeDropped(), undefined, 'it is said once');
});

await test('at the end what waits is written; a disk that is full or a reader that is gone is no error', async (t) => {
  const path = join(temporaryDirectory(t), 'log');
  const fd = openSync(path, 'w');
  const writer = new LineWriter(fd);
  writer.writeSoon('last\n');
  writer.end();
  t.equal(readFileSync(path, 'utf8'), 'last\n');
  closeSync(fd);
  writer.writeSoon('lost\n');
  writer.write('lost too\n');
  writer.write('and lost as well\n');
  t.same([writer.droppedRequests, writer.droppedEvents], [1, 2]);
  t.same(writer.takeDropped(), { requests: 1, events: 2 });
});
