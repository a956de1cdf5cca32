// The thread of kept items, apart from that of the state, so that no large item keeps counters and documents waiting.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { noRoom } from '../../disk-room.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { failure } from './failure.ts';
import { keptFile } from './kept-file.ts';
import type { KeptOperation, KeyInput, PutInput, SweepInput } from './kept-messages.ts';
import type { KeptTables } from './kept-tables.ts';
import type { Answer, Request, ThreadSettings } from './messages.ts';

type KeptMessage = Request<KeptOperation | 'close'>;
type Output = Extract<Answer, { readonly kind: 'output' }>;

const operations: Readonly<Record<KeptOperation, (tables: KeptTables, input: unknown, bytes: Uint8Array) => Output>> = {
  put(tables, input, bytes) {
    tables.put(input as PutInput, bytes);
    return said(null);
  },
  get(tables, input) {
    const { bytes } = tables.get(input as KeyInput);
    return bytes === undefined ? said(false) : { ...said(true), bytes };
  },
  remove: (tables, input) => said(tables.remove(input as KeyInput)),
  sweep: (tables, input) => said(tables.sweep(input as SweepInput)),
};

const noBytes = new Uint8Array();

function said(output: boolean | null): Output {
  return { kind: 'output', output: JSON.stringify(output) };
}

function serve(port: MessagePort, { directory, busyMs }: ThreadSettings): void {
  const file = keptFile(directory, busyMs);
  port.on('message', ({ name, input, bytes = noBytes }: KeptMessage) => {
    if (name !== 'close') {
      say(answer((tables) => operations[name](tables, JSON.parse(input), bytes), name === 'put'));
      return;
    }
    file.close();
    say(said(null));
    port.close();
  });
  say({ kind: 'online' });

  function say(message: Answer): void {
    port.postMessage(message, []);
  }

  function answer(work: (tables: KeptTables) => Output, isPut: boolean): Answer {
    try {
      const problem = isPut ? noRoom(directory) : undefined;
      if (problem !== undefined) throw failure(file.path, 'full', new Error(problem));
      return file.use(work);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return { kind: 'broken', message: String(error) };
      const { reason, message, cause } = error;
      return { kind: 'failure', reason, message, cause: cause instanceof Error ? cause.message : '' };
    }
  }
}

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) serve(parentPort, workerData as ThreadSettings);
