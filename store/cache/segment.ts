// A block of memory outside the heap with kept answers, one behind the other.
import type { CachedAnswer, CachedFacts } from './answer-cache.ts';

export const segmentBytes = 256 * 1024;
/** Each entry begins at a multiple of so many bytes. */
export const alignment = 8;
/** Longer bodies have a buffer of their own, which goes to clients as it is. Bytes. */
const longestBody = 8 * 1024;

/** An entry: whole numbers of 32 bits, here by their index, two times of 64 bits, its key and, unless that has a buffer of its own, its body. */
const words = { place: 0, nextEntry: 1, keyBytes: 2, bodyBytes: 3, number: 4 };
const times = { storedAtMs: 3, expiresAtMs: 4 };
const headBytes = 40;

/** An answer as it is put here. `ownBody`: its body, in memory of its own, where it has that already. */
export interface NewEntry {
  /** A whole number of 32 bits that is found again with it. */
  readonly place: number;
  /** Of ASCII. */
  readonly key: string;
  readonly answer: CachedAnswer;
  readonly ownBody?: Buffer | undefined;
}

export class Segment {
  readonly #bytes = Buffer.allocUnsafeSlow(segmentBytes);
  readonly #words = new Int32Array(this.#bytes.buffer);
  readonly #times = new Float64Array(this.#bytes.buffer);
  /** By the numbers of entries. */
  readonly #facts: (CachedFacts | undefined)[] = [];
  readonly #longBodies = new Map<number, Buffer>();
  #end = 0;
  /** How many were begun before it. */
  serial = 0;

  /** Where the last entry ends. */
  get end(): number {
    return this.#end;
  }

  hasRoomFor({ key, answer }: NewEntry): boolean {
    return this.#end + entryBytes(key, answer) <= segmentBytes;
  }

  /** Gives where the entry is. There must be room for it. */
  add({ place, key, answer, ownBody }: NewEntry): number {
    const { body, storedAtMs, expiresAtMs, facts } = answer;
    const at = this.#end;
    this.#end = at + entryBytes(key, answer);
    const number = this.#facts.push(facts) - 1;
    const word = at / Int32Array.BYTES_PER_ELEMENT;
    this.#words[word + words.place] = place;
    this.#words[word + words.nextEntry] = this.#end;
    this.#words[word + words.keyBytes] = key.length;
    this.#words[word + words.bodyBytes] = body.length;
    this.#words[word + words.number] = number;
    const time = at / Float64Array.BYTES_PER_ELEMENT;
    this.#times[time + times.storedAtMs] = storedAtMs;
    this.#times[time + times.expiresAtMs] = expiresAtMs;
    const keyAt = at + headBytes;
    for (let index = 0; index < key.length; index += 1) this.#bytes[keyAt + index] = key.charCodeAt(index);
    if (isLong(answer)) this.#longBodies.set(number, ownBody ?? ownBytes(body));
    else body.copy(this.#bytes, keyAt + key.length);
    return at;
  }

  /** Whether the entry there has this key. */
  has(at: number, key: string): boolean {
    if (this.#word(at, words.keyBytes) !== key.length) return false;
    for (let index = 0; index < key.length; index += 1)
      if (this.#bytes[at + headBytes + index] !== key.charCodeAt(index)) return false;
    return true;
  }

  /** The answer there, which was not forgotten. */
  read(at: number): CachedAnswer {
    const number = this.#word(at, words.number);
    const facts = this.#facts[number];
    if (facts === undefined) throw new Error('a forgotten answer was read');
    const time = at / Float64Array.BYTES_PER_ELEMENT;
    const storedAtMs = this.#times[time + times.storedAtMs] as number;
    const expiresAtMs = this.#times[time + times.expiresAtMs] as number;
    const body = this.#longBodies.get(number) ?? this.#copyOfBody(at);
    return { storedAtMs, expiresAtMs, facts, body };
  }

  placeOf(at: number): number {
    return this.#word(at, words.place);
  }

  bodyBytesOf(at: number): number {
    return this.#word(at, words.bodyBytes);
  }

  /** Undefined: its body lies here. */
  longBodyOf(at: number): Buffer | undefined {
    return this.#longBodies.get(this.#word(at, words.number));
  }

  /** Where the entry behind this one is. */
  nextOf(at: number): number {
    return this.#word(at, words.nextEntry);
  }

  /** Lets go what this entry holds elsewhere. */
  forget(at: number): void {
    const number = this.#word(at, words.number);
    this.#facts[number] = undefined;
    this.#longBodies.delete(number);
  }

  /** Begins anew. */
  begin(serial: number): void {
    this.serial = serial;
    this.#facts.length = 0;
    this.#longBodies.clear();
    this.#end = 0;
  }

  #word(at: number, word: number): number {
    return this.#words[at / Int32Array.BYTES_PER_ELEMENT + word] as number;
  }

  /** A copy, because this place is overwritten later, perhaps while the client still reads. */
  #copyOfBody(at: number): Buffer {
    const from = at + headBytes + this.#word(at, words.keyBytes);
    const length = this.#word(at, words.bodyBytes);
    const copy = Buffer.allocUnsafe(length);
    this.#bytes.copy(copy, 0, from, from + length);
    return copy;
  }
}

function isLong({ body }: Pick<CachedAnswer, 'body'>): boolean {
  return body.length > longestBody;
}

function entryBytes(key: string, answer: CachedAnswer): number {
  const bytes = headBytes + key.length + (isLong(answer) ? 0 : answer.body.length);
  return Math.ceil(bytes / alignment) * alignment;
}

/** A copy in memory of its own: a piece of a larger buffer would keep all of that. */
function ownBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(own);
  return own;
}
