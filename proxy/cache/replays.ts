// Kept answers as event streams. What was told once is told again without reading and writing JSON.
import type { AnswerCache, CachedAnswer } from '../../store/cache/answer-cache.ts';
import type { Operation } from '../dialects/dialect.ts';
import { shortBytes, sliced } from '../pacing/slices.ts';
import { replayed } from '../translation/replay.ts';

/** Of all streams that are remembered. */
export const replayBytes = 8 * 1024 * 1024;

/** Who wants the stream of which answer. */
interface Wish {
  /** Of the kept answer; it stands for the operation, too. */
  readonly key: string;
  readonly operation: Operation;
  /** The client asked for the usage of its stream. */
  readonly wantsUsage: boolean;
}

export class Replays {
  readonly #told: AnswerCache;

  /** `told`: takes the streams, in memory, up to `replayBytes`. */
  constructor(told: AnswerCache) {
    this.#told = told;
  }

  /** `nowMs`: Unix milliseconds. Undefined: the answer cannot be told so. A promise only where it is long. */
  stream(
    kept: CachedAnswer,
    { key, operation, wantsUsage }: Wish,
    nowMs: number,
  ): Buffer | undefined | Promise<Buffer | undefined> {
    const name = wantsUsage ? `${key} usage` : key;
    const told = this.#told.get(name, nowMs);
    if (told !== undefined && !(told instanceof Promise) && told.storedAtMs === kept.storedAtMs) return told.body;
    const stream = sliced(kept.body.length, replayed(operation, kept.body, wantsUsage));
    if (stream instanceof Promise || stream === undefined) return stream;
    if (stream.length <= shortBytes) this.#told.put(name, { ...kept, body: stream }, nowMs);
    return stream;
  }
}
