// The thread of the embedded semantic cache: compares vectors, one question after the other.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Answer, Request } from '../../state/sqlite/messages.ts';
import type { VectorInput, VectorOperation, VectorOutput } from './messages.ts';
import type { Neighbour } from './neighbours.ts';
import { VectorTable } from './vector-table.ts';

type VectorRequest = Request<VectorOperation | 'close'>;

function serve(port: MessagePort): void {
  const table = new VectorTable();
  port.on('message', (request: VectorRequest) => {
    say(answer(request));
    if (request.name !== 'close') return;
    table.close();
    port.close();
  });
  say({ kind: 'online' });

  function say(message: Answer): void {
    port.postMessage(message, []);
  }

  function answer(request: VectorRequest): Answer {
    try {
      const output: VectorOutput = { neighbour: run(request) ?? null, entries: table.entries };
      return { kind: 'output', output: JSON.stringify(output) };
    } catch (error) {
      return { kind: 'broken', message: String(error) };
    }
  }

  function run({ name, input, bytes }: VectorRequest): Neighbour | undefined {
    if (name === 'close') return undefined;
    const { partition, key, expiresAtMs, mostEntries, nowMs } = JSON.parse(input) as VectorInput;
    // Copied: the numbers of a vector begin at a multiple of four.
    const vector = new Float32Array(new Uint8Array(bytes ?? []).buffer);
    if (name === 'nearest') return table.nearest({ partition, vector }, nowMs);
    if (name === 'put') table.put({ partition, vector, key, expiresAtMs }, mostEntries, nowMs);
    else table.forget(partition, key);
    return undefined;
  }
}

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) serve(parentPort);
