// Tells the operator when the journal of records fails, and when it works again.
import type { Journal } from '../store/records/journal.ts';
import type { Log } from './log-events.ts';

/** How often the journal is asked how it is. Milliseconds. */
const watchMs = 1_000;

/** One line for each change, with the number of records that were dropped so far. `clearInterval` ends the watch. */
export function watchJournal(journal: Pick<Journal, 'status'>, log: Log): NodeJS.Timeout {
  let told: string | undefined;
  return setInterval(() => {
    const { trouble, droppedRecords } = journal.status();
    if (trouble === told) return;
    told = trouble;
    const facts = { dropped_records: droppedRecords };
    if (trouble === undefined) log.info(facts, 'the journal of records works again');
    else log.error(facts, trouble);
  }, watchMs).unref();
}
