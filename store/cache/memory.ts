// The response cache in the memory of one process: bounded in bytes, and those go first that were not asked for the longest.
import { LRUCache } from 'lru-cache';
import { type AnswerCache, type CachedAnswer, sizeOfAnswer } from './answer-cache.ts';

type Answers = LRUCache<string, CachedAnswer>;

/** `mostBytes`: of all answers. */
export function openMemoryCache(mostBytes: number): AnswerCache {
  let evicted = 0;
  const made = (bytes: number): Answers =>
    new LRUCache({
      maxSize: bytes,
      sizeCalculation: sizeOfAnswer,
      dispose: (_answer, _key, reason) => {
        if (reason === 'evict') evicted += 1;
      },
    });
  let most = mostBytes;
  let answers = made(most);
  return {
    isAway: false,
    get(key, nowMs) {
      const answer = answers.get(key);
      if (answer === undefined || answer.expiresAtMs > nowMs) return answer;
      answers.delete(key);
      return undefined;
    },
    put(key, answer) {
      answers.set(key, { ...answer, body: ownBytes(answer.body) });
    },
    resize(bytes) {
      if (bytes === most) return;
      most = bytes;
      const before = answers.dump();
      answers = made(bytes);
      answers.load(before);
    },
    status: () => ({ entries: answers.size, bytes: answers.calculatedSize, evicted, dropped: 0 }),
    close: () => Promise.resolve(),
  };
}

/** A copy in memory of its own: a piece of a larger buffer would keep all of that. */
function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
