// The record store in PostgreSQL, for more than one machine: its operations run here, on connections of a pool.
import { type OpenRecordStore, operationsBy, runOperation } from '../sql/operations.ts';
import { openPostgres, type PostgresRecordOptions } from './pool.ts';

/** Connects at the first operation, which says what is wrong. */
export function openPostgresRecords(options: PostgresRecordOptions): OpenRecordStore {
  const database = openPostgres(options);
  return { ...operationsBy((name, input) => runOperation(database, name, input)), close: () => database.close() };
}
