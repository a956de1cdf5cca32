// The record store in a file of this machine, with a thread that reads and one that writes.
import { SqliteThread } from '../../state/sqlite/thread.ts';
import type { RecordRoom } from '../record-store.ts';
import type { RecordRequest } from '../serve-operations.ts';
import { type OpenRecordStore, operationsBy, readNames } from '../sql/operations.ts';
import { threadMemoryMb as memoryMb, mostWaiting, writerYoungMb } from '../thread-bounds.ts';

export interface SqliteRecordOptions {
  readonly directory: string;
  /** Deadline of every operation. */
  readonly timeoutMs: number;
  /** See `RecordStoreOptions`. */
  readonly reads?: 'all' | 'onwards';
}

/** What is read once is not read again. */
const onwardsCacheKiB = 4 * 1024;

/** Starts both threads; what is wrong with the file is said by the first operation. */
export function openSqliteRecords({ directory, timeoutMs, reads = 'all' }: SqliteRecordOptions): OpenRecordStore {
  const program = new URL('worker.ts', import.meta.url);
  const options = { store: 'the record store', directory, timeoutMs, pollMs: 0, memoryMb, program, mostWaiting };
  const reader = new SqliteThread<RecordRequest>(reads === 'all' ? options : { ...options, cacheKiB: onwardsCacheKiB });
  const writer = reads === 'all' ? new SqliteThread<RecordRequest>({ ...options, youngMb: writerYoungMb }) : reader;
  return {
    ...operationsBy((name, input, bytes) => (readNames.includes(name) ? reader : writer).exchange(name, input, bytes)),
    room: async (mostBytes) => JSON.parse(await writer.ask('room', [mostBytes])) as RecordRoom,
    async close() {
      await Promise.all([reader.close(), writer.close()]);
    },
  };
}
