// The contract of the journal on a real Redis server, and what only a server can do: be killed, be emptied, be full, hold foreign keys.
import { type Test, test } from 'tap';
import { redisKeys } from '../../store/state/redis/keys.ts';
import { type RedisServer, type RedisServerOptions, startRedis } from '../support/redis.ts';
import { asDocumentedUser, documentedUsers } from '../support/redis-user.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  collect,
  type Engine,
  ids,
  type JournalUnderTest,
  lineOf,
  openReader,
  openWriter,
  readAll,
  write,
} from './journal-case-tools.ts';
import { testJournal } from './journal-cases.ts';

const { journal, journalBytes } = redisKeys('gateway');

interface RedisPlace extends JournalUnderTest {
  readonly server: RedisServer;
  readonly client: ReturnType<RedisServer['client']>;
}

async function start(t: Test, options: RedisServerOptions = {}): Promise<RedisPlace> {
  const server = await startRedis(t, { users: documentedUsers, ...options });
  const client = server.client();
  return {
    server,
    client,
    settings: { dataDirectory: '/nonexistent', redisUrl: asDocumentedUser(server), redisPrefix: 'gateway' },
    async putLines(lines) {
      for (const line of lines) await client.xadd(journal, '*', 'record', line);
    },
    async breakDown() {
      server.freeze();
      return async () => server.thaw();
    },
  };
}

const redis: Engine = { name: 'Redis', start };

await testJournal(redis);

await test('a server that is killed while records come in loses none that was kept', async (t) => {
  const place = await start(t, { appendOnly: true });
  const writer = openWriter(t, place, 'a', { timeoutMs: 100 });
  const [reader, impatient] = [openReader(t, place), openReader(t, place, { timeoutMs: 100 })];
  await write(writer, ids('a', 200));
  await (await reader.next(50))?.acknowledge();
  for (let kill = 0; kill < 2; kill += 1) {
    for (const id of ids('a', 500, 201 + 500 * kill)) writer.append(lineOf(id));
    await place.server.kill();
    await t.rejects(impatient.next(50), { name: 'StoreUnavailable' });
    await waitFor('the trouble to be told', () => writer.status().trouble?.includes('cannot be reached'));
    await place.server.restart();
    await waitFor('the lines to be kept', () => writer.status().waitingRecords === 0);
  }
  await waitFor('the reader to be connected', () => reader.backlog().catch(() => 0));
  const found = await collect(reader, ({ ids: seen }) => seen.includes('a-1200'));
  // What a writer had no answer about in time is there twice, the first ones included.
  const late = [...new Set(found.ids)].filter((id) => Number(id.slice(2)) > 50);
  t.same(late, ids('a', 1_150, 51));
  t.match(writer.status(), { droppedRecords: 0, trouble: undefined });
});

await test('an emptied server is read again, and foreign keys in our places are replaced', async (t) => {
  const place = await start(t);
  const [writer, reader] = [openWriter(t, place, 'a'), openReader(t, place)];
  await write(writer, ids('a', 5));
  t.equal((await reader.next(10))?.lines.length, 5);
  await place.client.flushall();
  t.equal(await reader.next(10), undefined);
  await write(writer, ids('a', 5, 6));
  t.same((await readAll(reader, 5)).ids, ids('a', 5, 6));
  for (const key of [journal, journalBytes]) {
    await place.client.del(key);
    await place.client.hset(key, 'field', 'garbage');
  }
  t.equal(await reader.next(10), undefined);
  await write(writer, ids('a', 5, 11));
  await place.client.xadd(journal, '*', 'other', 'field');
  t.same(await readAll(reader, 5), { ids: ids('a', 5, 11), unreadable: 1 });
  t.equal(await place.client.xlen(journal), 0);
});

await test('entries of a dead reader go to another one after a time, and the dead one is removed', async (t) => {
  const place = await start(t);
  const writer = openWriter(t, place, 'a');
  await write(writer, ids('a', 20));
  const dead = openReader(t, place);
  t.equal((await dead.next(10))?.lines.length, 10);
  const patient = openReader(t, place);
  t.same((await readAll(patient, 10)).ids, ids('a', 10, 11), 'it may be at work still');
  await dead.close();
  const consumers = async (): Promise<number> =>
    ((await place.client.xinfo('CONSUMERS', journal, 'control-plane')) as []).length;
  t.equal(await consumers(), 2, 'it has entries');
  const quick = openReader(t, place, { idleMs: 0 });
  t.same((await readAll(quick, 10, 4)).ids, ids('a', 10));
  await quick.close();
  await patient.close();
  t.equal(await consumers(), 1);
});

for (const [what, bound] of Object.entries({
  entries: { mostEntries: 10 },
  bytes: { mostBytes: 9 * lineOf('a-1').length + 9 },
})) {
  await test(`a journal that is full of ${what} takes no more until it is read, and loses nothing`, async (t) => {
    const place = await start(t);
    const writer = openWriter(t, place, 'a', bound);
    for (const id of ids('a', 25)) writer.append(lineOf(id));
    await waitFor('the trouble to be told', () => writer.status().trouble?.includes('is full'));
    t.match(writer.status(), { waitingRecords: 15, droppedRecords: 0 });
    t.equal(await place.client.xlen(journal), 10);
    t.same((await readAll(openReader(t, place), 25)).ids, ids('a', 25));
    t.equal(await place.client.get(journalBytes), '0');
    await waitFor('the trouble to end', () => writer.status().trouble === undefined);
  });
}

await test('writer and reader go over to another server', async (t) => {
  const [place, other] = [await start(t), await start(t)];
  const journals = [openWriter(t, place, 'a'), openReader(t, place)] as const;
  const [writer, reader] = journals;
  await write(writer, ids('a', 3));
  t.equal((await readAll(reader, 3)).ids.length, 3);
  for (const each of journals) t.equal(await each.reconnect(other.server.url, () => undefined), true);
  await write(writer, ids('a', 3, 4));
  t.equal(await place.client.xlen(journal), 0);
  t.same((await readAll(reader, 3)).ids, ids('a', 3, 4));
});
