// The response cache in the memory of one process: bounded in bytes; of its answers, those that were not asked for the longest go first. Their
// bytes lie outside the heap: there, V8 would copy them twice and look at each answer again and again, which costs more than the rest of a put.
import {
  type AnswerCache,
  answerOverheadBytes,
  type CachedAnswer,
  type CacheStatus,
  sizeOfAnswer,
} from './answer-cache.ts';
import { PlaceTable } from './place-table.ts';
import { segmentBytes } from './segment.ts';
import { mostSegments, offsetOf, Segments } from './segments.ts';

/** Characters; what is longer is not kept. */
const longestKey = 1024;

/** `mostBytes`: of all answers. `processes`: how many share them; each keeps answers of its own. */
export function openMemoryCache(mostBytes: number, processes: number = 1): MemoryCache {
  return new MemoryCache(mostBytes, processes);
}

/** An answer of it is there at once. */
export class MemoryCache implements AnswerCache {
  readonly isAway = false;
  readonly isShared = false;
  readonly #segments = new Segments();
  /** Of the answers that are there. An entry that it does not lead to is gone, and takes room until it is the oldest. */
  readonly #positions = new PlaceTable();
  readonly #processes: number;
  #mostBytes: number;
  #bytes = 0;
  #evicted = 0;

  constructor(mostBytes: number, processes: number) {
    this.#processes = processes;
    this.#mostBytes = mostBytes / processes;
  }

  get(key: string, nowMs: number): CachedAnswer | undefined {
    const place = placeOf(key);
    const position = this.#positions.get(place);
    if (position === undefined) return undefined;
    const segment = this.#segments.segmentOf(position);
    const at = offsetOf(position);
    if (!segment.has(at, key)) return undefined;
    const answer = segment.read(at);
    if (answer.expiresAtMs <= nowMs) {
      this.#remove(place, position);
      return undefined;
    }
    if (this.#segments.isInOlderHalf(position)) this.#replace(place, key, answer, segment.longBodyOf(at));
    return answer;
  }

  put(key: string, answer: CachedAnswer): void {
    if (key.length <= longestKey) this.#replace(placeOf(key), key, answer);
  }

  resize(mostBytes: number): void {
    this.#mostBytes = mostBytes / this.#processes;
    this.#makeRoom();
    this.#segments.release();
  }

  status(): CacheStatus {
    return { entries: this.#positions.size, bytes: this.#bytes, evicted: this.#evicted, dropped: 0 };
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #replace(place: number, key: string, answer: CachedAnswer, ownBody?: Buffer): void {
    const before = this.#positions.get(place);
    if (before !== undefined) this.#remove(place, before);
    const size = sizeOfAnswer(answer);
    if (size > this.#mostBytes) return;
    this.#positions.set(place, this.#segments.append({ place, key, answer, ownBody }));
    this.#bytes += size;
    this.#makeRoom();
  }

  /** The oldest entries go. */
  #makeRoom(): void {
    // One more than what is wanted, because the newest is not full and the oldest may be half empty.
    const most = Math.min(Math.ceil(this.#mostBytes / segmentBytes) + 1, mostSegments);
    while (this.#bytes > this.#mostBytes || this.#segments.count > most) {
      const position = this.#segments.oldest;
      if (position === undefined) return;
      const place = this.#segments.segmentOf(position).placeOf(offsetOf(position));
      if (this.#positions.get(place) === position) {
        this.#remove(place, position);
        this.#evicted += 1;
      }
      this.#segments.dropOldest();
    }
  }

  #remove(place: number, position: number): void {
    const segment = this.#segments.segmentOf(position);
    const at = offsetOf(position);
    this.#bytes -= segment.bodyBytesOf(at) + answerOverheadBytes;
    segment.forget(at);
    this.#positions.delete(place);
  }
}

/**
 * Where the answer with this key is found (FNV-1a): to hash a new text, and to compare it with those in a table, takes twice as long as this
 * and one comparison. Where two keys have the same place, the later one has it: with a million answers, of one key in four thousand.
 */
function placeOf(key: string): number {
  let place = 0x811c9dc5 | 0;
  for (let at = 0; at < key.length; at += 1) place = Math.imul(place ^ key.charCodeAt(at), 0x01000193);
  return place;
}
