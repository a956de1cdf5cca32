// Tools of the cases of the journal: records, readers that collect, and the engines they run on.
import type { Test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { Journal, JournalBatch, JournalReader } from '../../store/records/journal.ts';
import {
  type JournalOptions,
  type JournalReaderOptions,
  type JournalSettings,
  openJournal,
  openJournalReader,
  type Reconnecting,
} from '../../store/records/open-journal.ts';
import { readRecords } from '../../store/records/read-record.ts';
import { waitFor } from '../support/wait-for.ts';

/** One journal of its own for one test. */
export interface JournalUnderTest {
  /** Also as JSON, for other processes. */
  readonly settings: JournalSettings;
  /** Puts lines into the journal, as a foreign program could. */
  putLines(lines: readonly string[]): Promise<void>;
  /** From now on nothing can be written, until the function given is called. What was there is there again then. */
  breakDown(): Promise<() => Promise<void>>;
}

export interface Engine {
  readonly name: string;
  start(t: Test): Promise<JournalUnderTest>;
}

export function record(id: string, path = '/v1/chat/completions'): RequestRecord {
  return {
    id,
    request_id: `request-${id}`,
    started_ms: 1_000,
    duration_ns: 5,
    method: 'POST',
    path,
    status_code: 200,
    stream: false,
    user_path: '/',
    client_ip: '127.0.0.1',
    alias_used: false,
    attempts: [],
  };
}

export const lineOf = (id: string, path?: string): string => JSON.stringify(record(id, path));

/** `a-1` to `a-<count>`. */
export function ids(name: string, count: number, first = 1): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index + first}`);
}

/** A writer that flushes often, closed with the test. */
export function openWriter(
  t: Test,
  place: JournalUnderTest,
  instance: string,
  options: JournalOptions = {},
): Journal & Reconnecting {
  const journal = openJournal(
    { ...place.settings, instance },
    { flushIntervalMs: 5, closeWithinMs: 500, timeoutMs: 1_000, ...options },
  );
  t.teardown(() => journal.close());
  return journal;
}

export function openReader(
  t: Test,
  place: JournalUnderTest,
  options: JournalReaderOptions = {},
): JournalReader & Reconnecting {
  const reader = openJournalReader(place.settings, { timeoutMs: 1_000, ...options });
  t.teardown(() => reader.close());
  return reader;
}

/** Appends them, and waits until none waits any more. */
export async function write(journal: Journal, names: readonly string[], path?: string): Promise<void> {
  for (const id of names) journal.append(lineOf(id, path));
  await waitFor('the lines to be kept', () => journal.status().waitingRecords === 0);
}

/** What the lines of a batch are; undefined: none. */
export function read(batch: JournalBatch | undefined): ReturnType<typeof readRecords> {
  const { records, unreadable } = readRecords(batch?.lines ?? []);
  return { records, unreadable: unreadable + (batch?.passedOver ?? 0) };
}

export interface Collected {
  readonly ids: string[];
  unreadable: number;
}

/** Reads and acknowledges until `isEnough`, which is asked after each batch and when there is none. */
export async function collect(
  reader: JournalReader,
  isEnough: (found: Collected) => boolean,
  most = 1_000,
): Promise<Collected> {
  const found: Collected = { ids: [], unreadable: 0 };
  await waitFor(
    'the records',
    async () => {
      for (;;) {
        const batch = await reader.next(most);
        if (batch === undefined) return isEnough(found);
        const { records, unreadable } = read(batch);
        found.ids.push(...records.map(({ id }) => id));
        found.unreadable += unreadable;
        await batch.acknowledge();
        if (isEnough(found)) return true;
      }
    },
    20_000,
  );
  return found;
}

export const readAll = (reader: JournalReader, count: number, most?: number): Promise<Collected> =>
  collect(reader, (found) => found.ids.length >= count, most);

/** In their order, those that begin so. */
export const of = (name: string, found: Collected): string[] => found.ids.filter((id) => id.startsWith(`${name}-`));
