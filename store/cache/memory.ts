// The response cache in the memory of one process: bounded in bytes; the answer that was unused the longest goes first.
import { LRUCache } from 'lru-cache';
import { type AnswerCache, type CachedAnswer, type PutAnswer, sizeOfAnswer } from './answer-cache.ts';

/** Up to so many bytes an answer is a text, one character a byte: collecting a thousand buffers costs more than what is in them. */
const textBytes = 8 * 1024;

/** An answer as it lies there: a text has one character a byte. One object, without others in it: they are collected one by one. */
interface Held extends PutAnswer {
  readonly isEvents: boolean;
}

type Answers = LRUCache<string, Held>;

/** `mostBytes`: of all answers. */
export function openMemoryCache(mostBytes: number): AnswerCache {
  let evicted = 0;
  const made = (bytes: number): Answers =>
    new LRUCache({
      maxSize: bytes,
      sizeCalculation: (held: Held) => sizeOfAnswer(held),
      dispose: (_answer, _key, reason) => {
        if (reason === 'evict') evicted += 1;
      },
    });
  let most = mostBytes;
  let answers = made(most);
  return {
    isAway: false,
    keepsEvents: true,
    get(key, nowMs) {
      const held = answers.get(key);
      if (held === undefined || held.expiresAtMs > nowMs) return held && answerOf(held);
      answers.delete(key);
      return undefined;
    },
    put(key, answer) {
      answers.set(key, heldOf(answer));
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

function heldOf({ storedAtMs, expiresAtMs, facts, body, isEvents = false }: PutAnswer): Held {
  const kept = body.length <= textBytes ? textOf(body) : ownBytes(body);
  return { storedAtMs, expiresAtMs, facts, body: kept, isEvents };
}

function answerOf({ storedAtMs, expiresAtMs, facts, body: kept, isEvents }: Held): CachedAnswer {
  const body = typeof kept === 'string' ? Buffer.from(kept, 'latin1') : kept;
  const answer = { storedAtMs, expiresAtMs, facts, body };
  return isEvents ? { ...answer, isEvents } : answer;
}

function textOf(body: Buffer | string): string {
  return typeof body === 'string' ? body : body.toString('latin1');
}

/** A copy in memory of its own: a piece of a larger buffer would keep all of that. */
function ownBytes(bytes: Buffer | string): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  if (typeof bytes === 'string') own.write(bytes, 'latin1');
  else bytes.copy(own);
  return own;
}
