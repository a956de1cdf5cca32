// A thread's end of a record store: runs the operations that it is asked for, and answers with texts, which threads pass on faster than objects.
import type { MessagePort } from 'node:worker_threads';
import type { Answer, Request } from '../state/sqlite/messages.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { RecordRoom } from './record-store.ts';
import type { Database } from './sql/database.ts';
import { type OperationName, runOperation } from './sql/operations.ts';
import type { PackedEntries } from './written-entries.ts';

/** The requests to a thread. */
export type RecordRequest = OperationName | 'room';

export interface ServedDatabase extends Database {
  /** See `RecordStore`. */
  room?(mostBytes: number): Promise<RecordRoom>;
  close(): Promise<void> | void;
}

type OperationMessage = Request<RecordRequest | 'close'>;

/** Serves `port` until it is told to close. How many requests come at once is up to the caller. */
export function serveOperations(port: MessagePort, database: ServedDatabase): void {
  port.on('message', (asked: OperationMessage) => void take(asked));
  say({ kind: 'online' });

  function say(message: Answer, moved: ArrayBuffer[] = []): void {
    port.postMessage(message, moved);
  }

  async function take(asked: OperationMessage): Promise<void> {
    const { id } = asked;
    try {
      const found = await run(asked);
      // Bytes go beside the text, and are moved, not copied.
      const { bytes, ...output } = isPacked(found) ? found : { bytes: undefined };
      if (bytes === undefined) say({ id, kind: 'output', output: JSON.stringify(found ?? null) });
      else say({ id, kind: 'output', output: JSON.stringify(output), bytes }, [bytes.buffer]);
    } catch (error) {
      say(failureOf(id, error));
    }
    if (asked.name === 'close') port.close();
  }

  async function run({ name, input, bytes }: OperationMessage): Promise<unknown> {
    if (name === 'close') return database.close();
    const given = JSON.parse(input) as unknown[];
    if (name === 'room') return database.room?.(Number(given[0]));
    return runOperation(database, name, bytes === undefined ? given : [...given, bytes]);
  }
}

function isPacked(found: unknown): found is PackedEntries {
  return typeof found === 'object' && found !== null && 'bytes' in found;
}

function failureOf(id: number, error: unknown): Answer {
  if (!(error instanceof StoreUnavailable)) return { id, kind: 'broken', message: String(error) };
  const { reason, message, cause } = error;
  return { id, kind: 'failure', reason, message, cause: cause instanceof Error ? cause.message : '' };
}
