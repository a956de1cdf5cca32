// The contract of the journal in files, and what only files can do: be removed, be full, be left by a process that is gone.
import { execFile, execFileSync } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Test, test } from 'tap';
import { lockFile } from '../../store/file-lock.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  type Engine,
  ids,
  type JournalUnderTest,
  lineOf,
  openReader,
  openWriter,
  read,
  readAll,
  write,
} from './journal-case-tools.ts';
import { testJournal } from './journal-cases.ts';
import type { WriterTask } from './journal-writer.ts';

const files: Engine = {
  name: 'files',
  async start(t) {
    const dataDirectory = join(temporaryDirectory(t, 'gateway-journal'), 'data');
    return {
      settings: { dataDirectory, redisUrl: undefined, redisPrefix: 'gateway' },
      async putLines(lines) {
        const directory = join(dataDirectory, 'x', 'journal');
        mkdirSync(directory, { recursive: true });
        writeFileSync(join(directory, '0000000001-0123456789abcdef.jsonl'), `${lines.join('\n')}\n`);
      },
      async breakDown() {
        const [directory, aside] = [join(dataDirectory, 'a', 'journal'), join(dataDirectory, 'aside')];
        if (existsSync(directory)) moveAway(directory, aside);
        rmSync(join(dataDirectory, 'b'), { recursive: true, force: true });
        for (const name of ['a/journal', 'b']) writeFileSync(join(dataDirectory, name), 'no directory');
        return async () => {
          rmSync(directory);
          if (existsSync(aside)) renameSync(aside, directory);
        };
      },
    };
  },
};

/** As a copy whose files are others than those that a process has open. */
function moveAway(directory: string, aside: string): void {
  execFileSync('cp', ['-a', directory, aside]);
  rmSync(directory, { recursive: true });
}

await testJournal(files);

const journalOf = (place: JournalUnderTest, instance: string): string =>
  join(place.settings.dataDirectory, instance, 'journal');

function namesIn(place: JournalUnderTest, instance: string, ending = '.jsonl'): string[] {
  return readdirSync(journalOf(place, instance)).filter((name) => name.endsWith(ending));
}

async function start(t: Test): Promise<JournalUnderTest> {
  return files.start(t);
}

await test('stored segments are removed, the last one when its process has ended, and only its user may read them', async (t) => {
  const place = await start(t);
  const writer = openWriter(t, place, 'a', { segmentBytes: 5_000 });
  const reader = openReader(t, place);
  for (const id of ids('a', 60)) await write(writer, [id]);
  t.ok(namesIn(place, 'a').length > 2);
  t.equal((await readAll(reader, 60)).ids.length, 60);
  t.equal(await reader.next(1), undefined);
  t.equal(namesIn(place, 'a').length, 1, 'the one that is written to');
  t.equal(statSync(journalOf(place, 'a')).mode & 0o777, 0o700);
  for (const name of readdirSync(journalOf(place, 'a'))) {
    t.equal(statSync(join(journalOf(place, 'a'), name)).mode & 0o777, 0o600, name);
  }
  await writer.close();
  t.equal(await reader.next(1), undefined);
  t.same(readdirSync(journalOf(place, 'a')), []);
});

await test('a reader knows a live process, whichever process that is, and a locked file stays locked', async (t) => {
  const place = await start(t);
  const writer = openWriter(t, place, 'a');
  await write(writer, ['a-1']);
  t.equal((await readAll(openReader(t, place), 1)).ids.length, 1);
  const [lock = ''] = namesIn(place, 'a', '.lock');
  const file = new URL('../../store/file-lock.ts', import.meta.url).href;
  const code = `import { isLocked } from '${file}'; console.log(isLocked(process.argv[1]))`;
  const ask = (): string =>
    execFileSync(process.execPath, ['--input-type=module', '-e', code, join(journalOf(place, 'a'), lock)], {
      encoding: 'utf8',
    }).trim();
  t.equal(ask(), 'true');
  await write(writer, ['a-2']);
  t.same((await readAll(openReader(t, place), 1)).ids, ['a-2'], 'the next reader knows what is stored');
});

await test('a line in the making is left for later, and given up with its process', async (t) => {
  const place = await start(t);
  const directory = journalOf(place, 'a');
  const path = join(directory, '0000000001-00000000000000aa.jsonl');
  mkdirSync(directory, { recursive: true });
  const lock = lockFile(join(directory, '00000000000000aa.lock'));
  const reader = openReader(t, place);
  const text = lineOf('a-2');
  writeFileSync(path, `${lineOf('a-1')}\n${text.slice(0, 50)}`);
  t.same((await readAll(reader, 1)).ids, ['a-1']);
  t.equal(await reader.next(10), undefined);
  t.equal(await reader.next(10), undefined);
  appendFileSync(path, `${text.slice(50)}\n${text.slice(0, 50)}`);
  t.same((await readAll(reader, 1)).ids, ['a-2']);
  t.equal(await reader.next(10), undefined);
  lock.release();
  const last = await reader.next(10);
  t.match(read(last), { records: [], unreadable: 1 });
  await last?.acknowledge();
  t.same(readdirSync(directory), []);
});

await test('the stored length of a segment is kept beside it; after garbage there the segment is read again', async (t) => {
  const place = await start(t);
  const writer = openWriter(t, place, 'a');
  await write(writer, ids('a', 3));
  t.equal((await readAll(openReader(t, place), 3)).ids.length, 3);
  const [offset = ''] = namesIn(place, 'a', '.offset');
  const path = join(journalOf(place, 'a'), offset);
  t.equal(await openReader(t, place).next(10), undefined);
  for (const garbage of ['12', '', 'x', '9'.repeat(16)]) {
    writeFileSync(path, garbage);
    t.equal((await openReader(t, place).next(10))?.lines.length, 3, garbage);
  }
});

await test('a write that ends in the middle of a line, as on a full disk, costs nothing', async (t) => {
  const place = await start(t);
  const task: WriterTask = { settings: place.settings, instance: 'a', options: { flushIntervalMs: 2 }, count: 2_000 };
  const script = new URL('journal-writer.ts', import.meta.url).pathname;
  // No file may be longer than 100 KiB; portions are longer.
  const limited = ['-c', 'ulimit -f 200; exec "$@"', 'sh', process.execPath, script, JSON.stringify(task)];
  const { stdout } = await promisify(execFile)('sh', limited, { env: { PATH: process.env['PATH'] } });
  t.match(JSON.parse(stdout.trim().split('\n').at(-1) ?? ''), { ended: { droppedRecords: 0, waitingRecords: 0 } });
  t.ok(namesIn(place, 'a').length > 10);
  t.same(await readAll(openReader(t, place), 2_000), { ids: ids('a', 2_000), unreadable: 0 });
});

await test('a journal that is not read ends at its bound, and goes on when it is read', async (t) => {
  const place = await start(t);
  const writer = openWriter(t, place, 'a', { segmentBytes: 1_000, mostBytes: 5_000 });
  for (const id of ids('a', 40)) {
    writer.append(lineOf(id));
    await waitFor('a flush', () => writer.status().waitingRecords === 0 || writer.status().trouble);
  }
  t.match(writer.status().trouble, /it holds 5\d\d\d bytes that the control plane has not read/);
  t.ok(writer.status().waitingRecords > 10);
  t.same((await readAll(openReader(t, place), 40)).ids, ids('a', 40));
  await waitFor('the trouble to end', () => writer.status().trouble === undefined);
});

await test('one instance whose journal cannot be read hides no other one', async (t) => {
  const place = await start(t);
  const writer = openWriter(t, place, 'a');
  await write(writer, ids('a', 3));
  mkdirSync(join(place.settings.dataDirectory, 'b'), { recursive: true });
  // A link that leads to itself cannot be read by any user.
  execFileSync('ln', ['-s', 'journal', journalOf(place, 'b')]);
  const reader = openReader(t, place);
  const batch = await reader.next(10);
  t.equal(batch?.lines.length, 3);
  await batch?.acknowledge();
  await t.rejects(reader.next(10), { code: 'ELOOP' });
});
