// The record store in PostgreSQL, for more than one machine: its operations run in a thread, on connections of a pool.
import { SqliteThread } from '../../state/sqlite/thread.ts';
import type { RecordRequest } from '../serve-operations.ts';
import { type OpenRecordStore, operationsBy } from '../sql/operations.ts';
import { mostWaiting, threadMemoryMb, writerYoungMb } from '../thread-bounds.ts';
import { placeOf } from './failure.ts';
import { mostConnections, type PostgresRecordOptions } from './pool.ts';

/** Connects at the first operation, which says what is wrong. */
export function openPostgresRecords({ databaseUrl, timeoutMs }: PostgresRecordOptions): OpenRecordStore {
  const thread = new SqliteThread<RecordRequest>({
    store: 'the record store',
    directory: '',
    place: placeOf(databaseUrl),
    databaseUrl,
    timeoutMs,
    pollMs: 0,
    memoryMb: threadMemoryMb,
    youngMb: writerYoungMb,
    program: new URL('worker.ts', import.meta.url),
    mostWaiting,
    mostAtWork: mostConnections,
  });
  return {
    ...operationsBy((name, input, bytes) => thread.exchange(name, input, bytes)),
    close: () => thread.close(),
  };
}
