// What every journal must keep, engine by engine: order, once acknowledged gone, never lost, and bounds that are counted.
import { type Test, test } from 'tap';
import { lineWithRawBodies } from '../../store/records/record-line.ts';
import { startProcess } from '../support/process.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  collect,
  type Engine,
  ids,
  type JournalUnderTest,
  lineOf,
  of,
  openReader,
  openWriter,
  read,
  readAll,
  record,
  write,
} from './journal-case-tools.ts';
import type { WriterTask } from './journal-writer.ts';

type Case = (t: Test, place: JournalUnderTest) => Promise<void>;

const cases: Readonly<Record<string, Case>> = {
  async 'records of all processes come in batches, each process in its order, and are gone once acknowledged'(
    t,
    place,
  ) {
    const reader = openReader(t, place);
    t.equal(await reader.next(10), undefined);
    t.equal(await reader.backlog(), 0);
    const [a, b] = [openWriter(t, place, 'a'), openWriter(t, place, 'b')];
    await Promise.all([write(a, ids('a', 250)), write(b, ids('b', 250))]);
    t.ok((await reader.backlog()) >= 500);
    const first = await reader.next(100);
    t.equal(first?.lines.length, 100);
    await first?.acknowledge();
    const rest = await readAll(reader, 400, 100);
    const found = { ids: [...read(first).records.map(({ id }) => id), ...rest.ids], unreadable: 0 };
    t.same(of('a', found), ids('a', 250));
    t.same(of('b', found), ids('b', 250));
    t.equal(found.ids.length, 500);
    t.equal(await reader.backlog(), 0);
    t.match(a.status(), { appendedRecords: 250, waitingBytes: 0, droppedRecords: 0, trouble: undefined });
    await write(a, ids('a', 1, 251));
    t.same((await readAll(reader, 1)).ids, ['a-251'], 'it goes on');
  },

  async 'what is not acknowledged comes again, to this reader and to the next one'(t, place) {
    const writer = openWriter(t, place, 'a');
    await write(writer, ids('a', 30));
    const first = openReader(t, place, { idleMs: 0 });
    const seen = async (): Promise<string[]> => read(await first.next(10)).records.map(({ id }) => id);
    t.same(await seen(), ids('a', 10));
    t.same(await seen(), ids('a', 10));
    await (await first.next(10))?.acknowledge();
    t.same(await seen(), ids('a', 10, 11));
    await first.close();
    const next = openReader(t, place, { idleMs: 0 });
    t.same((await readAll(next, 20, 7)).ids, ids('a', 20, 11));
  },

  async 'two readers at once miss nothing'(t, place) {
    const writer = openWriter(t, place, 'a', { segmentBytes: 20_000 });
    const readers = [openReader(t, place), openReader(t, place)];
    const seen = new Set<string>();
    const reading = readers.map((reader) =>
      collect(
        reader,
        (found) => {
          for (const id of found.ids) seen.add(id);
          return seen.size >= 2_000;
        },
        90,
      ),
    );
    for (let first = 1; first <= 2_000; first += 100) await write(writer, ids('a', 100, first));
    await Promise.all(reading);
    t.equal(seen.size, 2_000);
  },

  async 'lines that are no records are counted and passed over'(t, place) {
    const long = lineOf('long', `/${'x'.repeat(4 * 1024 * 1024)}`);
    const { attempts: _, ...partial } = JSON.parse(lineOf('b')) as Record<string, unknown>;
    const garbage = [
      'garbage',
      '',
      'null',
      '[1]',
      '{"id":"a"}',
      JSON.stringify(partial),
      long,
      lineOf('c').slice(0, 40),
    ];
    await place.putLines([lineOf('a-1'), ...garbage, lineOf('a-2')]);
    t.same(await readAll(openReader(t, place), 2), { ids: ['a-1', 'a-2'], unreadable: garbage.length });
  },

  async 'texts of every script come back as they were, in short lines and in a long one'(t, place) {
    const writer = openWriter(t, place, 'a');
    const texts = ['/é', '/日本', '/😀', `/${'é'.repeat(400_000)}`, '/a'];
    for (const [index, text] of texts.entries()) writer.append(lineOf(`a-${index}`, text));
    await waitFor('the lines to be kept', () => writer.status().waitingRecords === 0);
    const reader = openReader(t, place);
    const found: string[] = [];
    await waitFor('the records to be read', async () => {
      const batch = await reader.next(10);
      found.push(...read(batch).records.map(({ path }) => path));
      await batch?.acknowledge();
      return found.length >= texts.length;
    });
    t.same(found, texts);
  },

  async 'bodies that stand behind a record are part of its data, and an answer that is no JSON is a text'(t, place) {
    const deep = `{"a":${'['.repeat(200)}${']'.repeat(200)}}`;
    const answers = ['{"b":"é"}', '{"b":1,}', '{"b":"\u001f"}', '{"b":"\0"}', deep];
    const writer = openWriter(t, place, 'a');
    const request = Buffer.from('{"a":[1]}');
    for (const [index, answer] of answers.entries()) {
      const line = JSON.stringify({ ...record(`a-${index}`), data: { user_agent: 'b' } });
      writer.append(lineWithRawBodies(line, request, Buffer.from(answer)));
    }
    await waitFor('the lines to be kept', () => writer.status().waitingRecords === 0);
    await place.putLines([`${lineOf('a-5')}\u001f{"a":1}`, `${lineOf('a-6')}\u001f{"a":1,}\u001f{}`]);
    const { records, unreadable } = read(await openReader(t, place).next(10));
    const told = [{ b: 'é' }, answers[1], answers[2], undefined, deep];
    t.same(
      records.map(({ data }) => data),
      told.map((answer) => ({
        user_agent: 'b',
        request_body: { a: [1] },
        ...(answer === undefined ? {} : { response_body: answer }),
      })),
    );
    t.equal(unreadable, 2);
  },

  async 'a line of almost 4 MiB is kept, a longer one dropped'(t, place) {
    const writer = openWriter(t, place, 'a');
    await write(writer, ['a-1'], `/${'é'.repeat(2_097_000)}`);
    writer.append(lineOf('a-2', `/${'é'.repeat(2_097_152)}`));
    await write(writer, ['a-3']);
    t.match(writer.status(), { appendedRecords: 2, droppedRecords: 1, trouble: undefined });
    t.same((await readAll(openReader(t, place), 2)).ids, ['a-1', 'a-3']);
  },

  async 'an outage costs the newest beyond the bound, which are counted, and ends by itself'(t, place) {
    const writer = openWriter(t, place, 'a', { mostWaitingBytes: 200 * (lineOf('a-100').length + 1), timeoutMs: 200 });
    await write(writer, ids('a', 50));
    const repair = await place.breakDown();
    for (const id of ids('a', 300, 51)) writer.append(lineOf(id));
    const { waitingRecords, waitingBytes, droppedRecords } = writer.status();
    t.ok(waitingRecords >= 200 && waitingRecords <= 201);
    t.equal(waitingRecords + droppedRecords, 300);
    t.ok(waitingBytes <= 200 * (lineOf('a-100').length + 1));
    await waitFor('the trouble to be told', () => writer.status().trouble?.startsWith('the journal'));
    t.equal(writer.status().waitingRecords, waitingRecords);
    await repair();
    await waitFor('the lines to be kept', () => writer.status().waitingRecords === 0);
    t.equal(writer.status().trouble, undefined);
    await write(writer, ids('a', 1, 1_000));
    const found = await collect(openReader(t, place), ({ ids: seen }) => seen.includes('a-1000'));
    t.same([...new Set(found.ids)], [...ids('a', 50 + waitingRecords), 'a-1000']);
    t.equal(found.unreadable, 0);
  },

  async 'the end writes what waits, in bounded time'(t, place) {
    const quiet = openWriter(t, place, 'a', { flushIntervalMs: 3_600_000 });
    for (const id of ids('a', 700)) quiet.append(lineOf(id, `/${'x'.repeat(800)}`));
    await Promise.all([quiet.close(), quiet.close()]);
    quiet.append(lineOf('a-701'));
    t.match(quiet.status(), { waitingRecords: 0, waitingBytes: 0, appendedRecords: 700, droppedRecords: 1 });
    t.same((await readAll(openReader(t, place), 700)).ids, ids('a', 700));
    const stuck = openWriter(t, place, 'b', { closeWithinMs: 50, timeoutMs: 50 });
    const repair = await place.breakDown();
    stuck.append(lineOf('b-1'));
    await stuck.close();
    await repair();
    t.match(stuck.status(), { waitingRecords: 0, droppedRecords: 1 });
  },

  async 'a killed process loses what it had not flushed, and spoils nothing'(t, place) {
    const options = { flushIntervalMs: 1, segmentBytes: 200_000 };
    const task: WriterTask = { settings: place.settings, instance: 'a', options };
    const start = { t, entry: 'test/contracts/journal-writer.ts', args: [JSON.stringify(task)] };
    const writer = await startProcess({ ...start, ready: { line: 'kept' } });
    const kept = (): number => Number(writer.logs().findLast(({ kept: count }) => count !== undefined)?.['kept'] ?? 0);
    const reader = openReader(t, place);
    const early = await readAll(reader, 100, 50);
    await waitFor('a thousand more', () => kept() > early.ids.length + 1_000);
    await writer.kill();
    const next = openWriter(t, place, 'a');
    await write(next, ['after-1', 'after-2']);
    const late = await collect(reader, (found) => of('after', found).length === 2);
    const found = { ids: [...early.ids, ...late.ids], unreadable: 0 };
    const written = of('a', found);
    t.ok(written.length >= kept(), `${written.length} of ${kept()}`);
    t.same(written, ids('a', written.length));
    t.ok(early.unreadable + late.unreadable <= 1);
  },
};

export async function testJournal(engine: Engine): Promise<void> {
  for (const [claim, run] of Object.entries(cases)) {
    await test(`${engine.name}: ${claim}`, async (t) => run(t, await engine.start(t)));
  }
}
