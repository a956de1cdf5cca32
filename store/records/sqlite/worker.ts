// The thread of the embedded record store: runs its operations, one after the other. There are two, one that reads and one that writes.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Answer, Request, ThreadSettings } from '../../state/sqlite/messages.ts';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import { type OperationName, runOperation } from '../sql/operations.ts';
import { RecordFile } from './record-file.ts';

/** What the threads are asked. */
export type RecordRequest = OperationName | 'room';

function serve(port: MessagePort, { directory, busyMs }: ThreadSettings): void {
  const file = new RecordFile(directory, busyMs);
  port.on('message', (request: Request<RecordRequest | 'close'>) => void take(request));
  say({ kind: 'online' });

  function say(message: Answer): void {
    port.postMessage(message, []);
  }

  /** The next request comes when this one is answered. */
  async function take({ name, input }: Request<RecordRequest | 'close'>): Promise<void> {
    if (name !== 'close') {
      say(await answer(name, input));
      return;
    }
    file.close();
    say({ kind: 'output', output: 'null' });
    port.close();
  }

  async function answer(name: RecordRequest, input: string): Promise<Answer> {
    try {
      const given = JSON.parse(input) as unknown[];
      const output = name === 'room' ? await file.room(Number(given[0])) : await runOperation(file, name, given);
      return { kind: 'output', output: JSON.stringify(output ?? null) };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return { kind: 'broken', message: String(error) };
      const { reason, message, cause } = error;
      return { kind: 'failure', reason, message, cause: cause instanceof Error ? cause.message : '' };
    }
  }
}

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) serve(parentPort, workerData as ThreadSettings);
