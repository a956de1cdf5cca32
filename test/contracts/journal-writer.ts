// Another process that appends to a journal: for ever, saying how many records are kept, or so many and then it ends.
import { setImmediate, setTimeout } from 'node:timers/promises';
import { type JournalOptions, type JournalSettings, openJournal } from '../../store/records/open-journal.ts';
import { lineOf } from './journal-case-tools.ts';

export interface WriterTask {
  readonly settings: JournalSettings;
  readonly instance: string;
  readonly options: JournalOptions;
  /** Absent: for ever. */
  readonly count?: number;
}

const { settings, instance, options, count }: WriterTask = JSON.parse(process.argv[2] ?? '') as WriterTask;
const journal = openJournal({ ...settings, instance }, options);
const path = `/${'x'.repeat(600)}`;

for (let number = 1; number <= (count ?? Number.POSITIVE_INFINITY); number += 1) {
  journal.append(lineOf(`${instance}-${number}`, path));
  if (number % 50 !== 0) continue;
  await setImmediate();
  const { appendedRecords, waitingRecords } = journal.status();
  console.log(JSON.stringify({ kept: appendedRecords - waitingRecords }));
  if (waitingRecords > 1_000) await setTimeout(1);
}
await journal.close();
console.log(JSON.stringify({ ended: journal.status() }));
