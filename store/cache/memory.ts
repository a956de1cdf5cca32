// The response cache in the memory of one process: bounded in bytes; the answer that was unused the longest goes first.
import { LRUCache } from 'lru-cache';
import { type AnswerCache, type CachedAnswer, type CachedFacts, type PutAnswer, sizeOfAnswer } from './answer-cache.ts';

/** Up to so many bytes an answer is a text, one character a byte: collecting a thousand buffers costs more than what is in them. */
const textBytes = 8 * 1024;

/**
 * An answer as it lies there: a text has one character a byte. As few objects as can be, because they are collected one by one: a time of
 * today would be an object of its own, milliseconds since `epochMs` are none for 24 days.
 */
interface Held {
  readonly key: string;
  readonly storedAfterMs: number;
  readonly lifeMs: number;
  readonly facts: CachedFacts;
  readonly body: Buffer | string;
  readonly isEvents: boolean;
}

type Answers = LRUCache<number, Held>;

/** `mostBytes`: of all answers. */
export function openMemoryCache(mostBytes: number): AnswerCache {
  let epochMs: number | undefined;
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
      const place = placeOf(key);
      const held = answers.get(place);
      if (held?.key !== key || epochMs === undefined) return undefined;
      const answer = answerOf(held, epochMs);
      if (answer.expiresAtMs > nowMs) return answer;
      answers.delete(place);
      return undefined;
    },
    put(key, answer) {
      epochMs ??= answer.storedAtMs;
      answers.set(placeOf(key), heldOf(key, answer, epochMs));
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

/**
 * Where the answer with this key lies (FNV-1a): to hash a new text, and to compare it with those in a table, takes twice as long as this and
 * one comparison. Where two keys have the same place, the later one has it: with a million answers, of one key in four thousand.
 */
function placeOf(key: string): number {
  let place = 0x811c9dc5 | 0;
  for (let at = 0; at < key.length; at += 1) place = Math.imul(place ^ key.charCodeAt(at), 0x01000193);
  return place;
}

function heldOf(
  key: string,
  { storedAtMs, expiresAtMs, facts, body, isEvents = false }: PutAnswer,
  epochMs: number,
): Held {
  const kept = body.length <= textBytes ? textOf(body) : ownBytes(body);
  const storedAfterMs = inPlace(storedAtMs - epochMs);
  return { key, storedAfterMs, lifeMs: inPlace(expiresAtMs - storedAtMs), facts, body: kept, isEvents };
}

/** The same number, held in its object, where it is a whole one of 32 bits. */
function inPlace(value: number): number {
  const small = value | 0;
  return small === value ? small : value;
}

function answerOf({ storedAfterMs, lifeMs, facts, body: kept, isEvents }: Held, epochMs: number): CachedAnswer {
  const storedAtMs = epochMs + storedAfterMs;
  const expiresAtMs = storedAtMs + lifeMs;
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
