// Kept answers as event streams. What was told once is told again without reading and writing JSON.
import { LRUCache } from 'lru-cache';
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import type { Operation } from '../dialects/dialect.ts';
import { replayed } from './replay.ts';

/** Of all streams that are remembered. */
const mostBytes = 8 * 1024 * 1024;
/** Of one that is. */
const longest = 64 * 1024;
/** What one counts besides its bytes. */
const overheadBytes = 512;

interface Told {
  readonly storedAtMs: number;
  readonly stream: Buffer;
}

/** Who wants the stream of which answer. */
interface Wish {
  /** Of the kept answer; it stands for the operation, too. */
  readonly key: string;
  readonly operation: Operation;
  /** The client asked for the usage of its stream. */
  readonly wantsUsage: boolean;
}

export class Replays {
  readonly #told = new LRUCache<string, Told>({
    maxSize: mostBytes,
    maxEntrySize: longest + overheadBytes,
    sizeCalculation: ({ stream }) => stream.length + overheadBytes,
  });

  /** Undefined: the answer cannot be told so. */
  stream({ storedAtMs, body }: CachedAnswer, { key, operation, wantsUsage }: Wish): Buffer | undefined {
    const name = wantsUsage ? `${key} usage` : key;
    const told = this.#told.get(name);
    if (told?.storedAtMs === storedAtMs) return told.stream;
    const text = replayed(operation, body, wantsUsage);
    if (text === undefined) return undefined;
    // Memory of its own: a short buffer from a pool would keep all of that.
    const stream = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
    stream.write(text);
    this.#told.set(name, { storedAtMs, stream });
    return stream;
  }
}
