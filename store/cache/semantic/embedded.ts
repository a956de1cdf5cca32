// The semantic cache in the memory of one process, in a thread of its own: a comparison with many vectors must not hold requests up.
import { SqliteThread } from '../../state/sqlite/thread.ts';
import type { VectorInput, VectorOperation, VectorOutput } from './messages.ts';
import { type Neighbours, Puts, type VectorPlace } from './neighbours.ts';

export interface EmbeddedOptions {
  readonly mostEntries: number;
  /** How many processes share them; each has vectors of its own. Default 1. */
  readonly processes?: number;
  /** Deadline of a question. */
  readonly timeoutMs: number;
}

/** Questions and puts that wait for the thread. */
const mostWaiting = 256;
/** For messages; the vectors lie outside of it. */
const memoryMb = 128;
const nothing: Omit<VectorInput, 'partition'> = { key: '', expiresAtMs: 0, mostEntries: 0, nowMs: 0 };

/** Starts the thread. A thread that dies is started anew, with no vectors. */
export function openEmbeddedNeighbours({ mostEntries, processes = 1, timeoutMs }: EmbeddedOptions): Neighbours {
  const thread = new SqliteThread<VectorOperation>({
    store: 'the semantic cache',
    directory: 'memory',
    timeoutMs,
    pollMs: 0,
    memoryMb,
    mostWaiting,
    program: new URL('worker.ts', import.meta.url),
  });
  let most = Math.ceil(mostEntries / processes);
  let entries = 0;
  const puts = new Puts();

  async function run(name: VectorOperation, input: VectorInput, vector?: VectorPlace['vector']): Promise<VectorOutput> {
    const bytes = vector && new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength);
    const { output } = await thread.exchange(name, input, bytes);
    const told = JSON.parse(output) as VectorOutput;
    ({ entries } = told);
    return told;
  }

  return {
    isShared: false,
    async ready() {
      await run('forget', { ...nothing, partition: '' });
    },
    async nearest({ partition, vector }, nowMs) {
      const { neighbour } = await run('nearest', { ...nothing, partition, nowMs: Math.floor(nowMs) }, vector);
      return neighbour ?? undefined;
    },
    put({ partition, vector, key, expiresAtMs }, nowMs) {
      const times = { expiresAtMs: Math.floor(expiresAtMs), nowMs: Math.floor(nowMs) };
      puts.start(() => run('put', { partition, key, mostEntries: most, ...times }, vector));
    },
    forget(partition, key) {
      run('forget', { ...nothing, partition, key }).catch(() => undefined);
    },
    resize(entriesAtMost) {
      most = Math.ceil(entriesAtMost / processes);
    },
    status: () => ({ entries, dropped: puts.dropped }),
    close: () => thread.close(),
  };
}
