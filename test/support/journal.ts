// The records that a gateway has journaled into files, for tests that run without a control plane which would take them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { readRecords } from '../../store/records/read-record.ts';
import type { Gateway } from './gateway.ts';
import { waitFor } from './wait-for.ts';

type Journaling = Pick<Gateway, 'dataDir'>;

/** All lines, of all instances, as they lie on the disk. */
export function journalText({ dataDir }: Journaling): string {
  const folders = readdirSync(dataDir)
    .map((instance) => join(dataDir, instance, 'journal'))
    .filter((folder) => existsSync(folder));
  const files = folders.flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .map((name) => join(folder, name)),
  );
  return files.map((file) => readFileSync(file, 'utf8')).join('');
}

/** The records that are written so far. Throws when a line is none. */
export function journaled(gateway: Journaling): readonly RequestRecord[] {
  const lines = journalText(gateway).split('\n').slice(0, -1);
  const { records, unreadable } = readRecords(lines);
  if (unreadable > 0) throw new Error(`${unreadable} lines of the journal are no records`);
  return records;
}

/** The record of the request with this id (`x-request-id`), once it is written. */
export function recordOf(gateway: Journaling, requestId: string): Promise<RequestRecord> {
  return waitFor(`the record of ${requestId}`, () =>
    journaled(gateway).find((record) => record.request_id === requestId),
  );
}
