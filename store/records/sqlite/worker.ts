// The thread of the embedded record store. There are two, one that reads and one that writes; each does one thing after the other.
import { parentPort, workerData } from 'node:worker_threads';
import type { ThreadSettings } from '../../state/sqlite/messages.ts';
import { serveOperations } from '../serve-operations.ts';
import { RecordFile } from './record-file.ts';

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) {
  const { directory, busyMs, cacheKiB } = workerData as ThreadSettings;
  serveOperations(parentPort, new RecordFile(directory, busyMs, cacheKiB));
}
