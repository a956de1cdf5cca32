// Records come from the journal into the store in few transactions.
import { pino } from 'pino';
import { test } from 'tap';
import { drainJournal } from '../../control-plane/records/drain-journal.ts';
import { openJournal, openJournalReader } from '../../store/records/open-journal.ts';
import { openRecordStore } from '../../store/records/open-records.ts';
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
