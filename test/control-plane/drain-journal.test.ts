// Records come from the journal into the store in few transactions.
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { test } from 'tap';
import { drainJournal } from '../../control-plane/records/drain-journal.ts';
import { openJournal, openJournalReader } from '../../store/records/open-journal.ts';
import { openRecordStore } from '../../store/records/open-records.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { record } from '../contracts/journal-case-tools.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

await test('a thousand records make one transaction', async (t) => {
  const directory = temporaryDirectory(t, 'gateway-drain');
  const settings = { dataDirectory: directory, redisUrl: undefined, redisPrefix: '' };
  const journal = openJournal({ ...settings, instance: 'proxy' });
  for (let index = 0; index < 3_000; index += 1) journal.append(JSON.stringify(record(`record-${index}`)));
  await waitFor('the records to be in the journal', () => journal.status().waitingRecords === 0);
  const store = openRecordStore({ directory, databaseUrl: undefined });
  const adds: number[] = [];
  const drain = drainJournal({
    reader: openJournalReader(settings),
    store: {
      add(lines) {
        adds.push(lines.length);
        return store.add(lines);
      },
    },
    log: pino({ enabled: false }),
    stored: () => undefined,
  });
  t.teardown(() => Promise.all([journal.close(), drain.close()]).then(() => store.close()));
  await waitFor('all to be taken', () => adds.reduce((sum, count) => sum + count, 0) === 3_000);
  t.same(adds, [1_000, 1_000, 1_000]);
});

await test('records of a newer version of the gateway wait until one comes that can read them', async (t) => {
  const line = JSON.stringify(record('older'));
  const newer = `{"line_version":2,${line.slice(1)}`;
  const batches = [[line], [line, newer]];
  let acknowledged = 0;
  const stored: string[] = [];
  const drain = drainJournal({
    reader: {
      async next() {
        const lines = batches[acknowledged];
        const acknowledge = async (): Promise<void> => {
          acknowledged += 1;
        };
        return lines && { lines, passedOver: 0, acknowledge };
      },
    },
    store: {
      async add(lines) {
        stored.push(...lines);
        return { added: lines.length, unreadable: 0 };
      },
    },
    log: pino({ enabled: false }),
    stored: () => undefined,
  });
  t.teardown(() => drain.close());
  await waitFor('the trouble', () => drain.status().trouble !== undefined);
  t.match(drain.status(), { storedRecords: 1, lostRecords: 0, trouble: { of: 'journal', reason: /newer version/ } });
  t.same([stored, acknowledged], [[line], 1], 'none of the batch was taken');
});

await test('it says which of the two does not answer, the journal or the store, and tells of each once', async (t) => {
  const lines: string[] = [];
  let [canRead, canStore] = [false, true];
  let acknowledged = 0;
  const acknowledge = async (): Promise<void> => {
    acknowledged += 1;
  };
  const drain = drainJournal({
    reader: {
      async next() {
        if (!canRead) throw new StoreUnavailable('unreachable', 'the journal is away');
        return { lines: ['{}'], passedOver: 0, acknowledge };
      },
    },
    store: {
      async add() {
        if (!canStore) throw new StoreUnavailable('unreachable', 'the store is away');
        await setImmediate();
        return { added: 1, unreadable: 0 };
      },
    },
    log: pino({ messageKey: 'msg' }, { write: (line) => void lines.push((JSON.parse(line) as { msg: string }).msg) }),
    stored: () => undefined,
  });
  t.teardown(() => drain.close());
  const trouble = (of: 'journal' | 'store'): Promise<unknown> =>
    waitFor(`the ${of} to be missed`, () => drain.status().trouble?.of === of);
  await trouble('journal');
  [canRead, canStore] = [true, false];
  await trouble('store');
  canStore = true;
  await waitFor('records to be stored', () => acknowledged > 0 && drain.status().trouble === undefined);
  t.same(lines, [
    'the journal of records cannot be read: the journal is away',
    'records wait in the journal, because they cannot be stored: the store is away',
    'records are stored again',
  ]);
});
