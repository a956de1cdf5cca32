// The response cache in the memory of one process: bounded in bytes; the answer that was unused the longest goes first.
import { LRUCache } from 'lru-cache';
import { type AnswerCache, type CachedAnswer, sizeOfAnswer } from './answer-cache.ts';

/** Up to so many bytes an answer is a text, one character a byte: collecting a thousand buffers costs more than what is in them. */
const textBytes = 8 * 1024;

/** An answer as it lies there. */
interface Held {
  readonly answer: CachedAnswer;
  /** Its bytes, in place of those of the answer; undefined: they are there. */
  readonly text: string | undefined;
  readonly size: number;
}

type Answers = LRUCache<string, Held>;

const nothing: Buffer = Buffer.alloc(0);

/** `mostBytes`: of all answers. */
export function openMemoryCache(mostBytes: number): AnswerCache {
  let evicted = 0;
  const made = (bytes: number): Answers =>
    new LRUCache({
      maxSize: bytes,
      sizeCalculation: ({ size }: Held) => size,
      dispose: (_answer, _key, reason) => {
        if (reason === 'evict') evicted += 1;
      },
    });
  let most = mostBytes;
  let answers = made(most);
  return {
    isAway: false,
    get(key, nowMs) {
      const held = answers.get(key);
      if (held === undefined || held.answer.expiresAtMs > nowMs) return held && answerOf(held);
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

function heldOf(answer: CachedAnswer): Held {
  const { storedAtMs, expiresAtMs, facts, body } = answer;
  const size = sizeOfAnswer(answer);
  const isShort = body.length <= textBytes;
  const kept = { storedAtMs, expiresAtMs, facts, body: isShort ? nothing : ownBytes(body) };
  return { answer: kept, text: isShort ? body.toString('latin1') : undefined, size };
}

function answerOf({ answer, text }: Held): CachedAnswer {
  return text === undefined ? answer : { ...answer, body: Buffer.from(text, 'latin1') };
}

/** A copy in memory of its own: a piece of a larger buffer would keep all of that. */
function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
