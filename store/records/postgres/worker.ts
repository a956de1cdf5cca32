// The thread of the record store in PostgreSQL: to read and write long records takes the driver longer than the event loop of a plane has.
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadSettings } from '../../state/sqlite/messages.ts';
import { serveOperations } from '../serve-operations.ts';
import { openPostgres } from './pool.ts';

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) {
  const { databaseUrl = '', busyMs } = workerData as ThreadSettings;
  serveOperations(parentPort, openPostgres({ databaseUrl, timeoutMs: busyMs }));
}
