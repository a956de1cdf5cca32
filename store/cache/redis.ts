// The response cache in Redis, for all proxies. A look-up that is late is a miss; a server that is late again and again is not used until
// it answers in time.

import { type RedisUrl, redisAddress } from '../state/redis/address.ts';
import type { ConnectionSettings } from '../state/redis/client.ts';
import { RedisConnection } from '../state/redis/connection.ts';
import { type RedisKeys, redisKeys } from '../state/redis/keys.ts';
import {
  type AnswerCache,
  type CachedAnswer,
  type CachedFacts,
  type CacheStatus,
  sizeOfAnswer,
} from './answer-cache.ts';
import { putScript } from './redis-scripts.ts';

export interface RedisCacheOptions {
  readonly redisUrl: RedisUrl;
  readonly prefix: string;
  /** Of all answers. */
  readonly mostBytes: number;
  /** How long a request waits for an answer; default 5. */
  readonly patienceMs?: number;
}

/** The connections move to a renewed address; see `RedisStore`. */
export interface RedisCache extends AnswerCache {
  reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

/** Deadline of writes and of signs of life. Milliseconds. */
const timeoutMs = 1_000;
/** The number of late look-ups in a row after which no request waits any more. */
const mostLate = 8;
/** Between two questions whether a server answers in time again: one that is silent, and one that is only late. Milliseconds. */
const probeMs = 200;
const lateProbeMs = 20;
/** Of what is being written. */
const mostWriting = 256;
const mostWritingBytes = 16 * 1024 * 1024;
/** Answers that one put drops at most: it holds the server up for a millisecond or two. */
const portionAnswers = 200;
/** A proxy asks for as many at once as it serves requests. */
const mostAtOnce = 1_024;

/** Throws a TypeError for what is no address. Until the server has answered once, it is away. */
export function openRedisCache(options: RedisCacheOptions): RedisCache {
  return new RedisAnswers(options);
}

class RedisAnswers implements RedisCache {
  readonly #keys: RedisKeys;
  readonly #prefix: string;
  readonly #patienceMs: number;
  // Long answers that are written must not delay those that are waited for.
  readonly #reading: RedisConnection;
  readonly #writing: RedisConnection;
  #most: number;
  readonly isShared = true;
  #isAway = true;
  #isClosed = false;
  #probe: NodeJS.Timeout | undefined;
  #lateInARow = 0;
  #writes = 0;
  #writingBytes = 0;
  #status: CacheStatus = { entries: 0, bytes: 0, evicted: 0, dropped: 0 };

  constructor({ redisUrl, prefix, mostBytes, patienceMs = 5 }: RedisCacheOptions) {
    this.#keys = redisKeys(prefix);
    this.#prefix = prefix;
    this.#patienceMs = patienceMs;
    this.#most = mostBytes;
    this.#reading = new RedisConnection(settingsOf(redisUrl, prefix));
    this.#writing = new RedisConnection(settingsOf(redisUrl, prefix));
    this.#findOut();
  }

  get isAway(): boolean {
    return this.#isAway;
  }

  get(key: string, nowMs: number): undefined | Promise<CachedAnswer | undefined> {
    if (this.#isAway) return undefined;
    return inTime(this.#reading.askBytes(['GET', this.#keys.cached(key)]), this.#patienceMs).then(
      (found) => {
        if (found === late) return this.#wasLate();
        this.#lateInARow = 0;
        const answer = Buffer.isBuffer(found) ? decodeAnswer(key, found) : undefined;
        return answer !== undefined && answer.expiresAtMs > nowMs ? answer : undefined;
      },
      () => this.#leave(probeMs),
    );
  }

  put(key: string, answer: CachedAnswer, nowMs: number): void {
    const { length } = answer.body;
    const isFull = this.#writes >= mostWriting || this.#writingBytes + length > mostWritingBytes;
    if (isFull || this.#isAway || this.#isClosed) {
      this.#drop();
      return;
    }
    this.#writes += 1;
    this.#writingBytes += length;
    const written = this.#write(key, answer, nowMs).catch(() => this.#drop());
    void written.then(() => {
      this.#writes -= 1;
      this.#writingBytes -= length;
    });
  }

  resize(mostBytes: number): void {
    this.#most = mostBytes;
  }

  status(): CacheStatus {
    return this.#status;
  }

  async reconnect(url: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean> {
    const settings = settingsOf(url, this.#prefix);
    const both = [this.#reading.renew(settings, onTrouble), this.#writing.renew(settings, () => undefined)];
    return (await Promise.all(both)).every(Boolean);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#probe);
    await Promise.all([this.#reading.close(), this.#writing.close()]);
  }

  async #write(key: string, answer: CachedAnswer, nowMs: number): Promise<void> {
    const numbers = [sizeOfAnswer(answer), nowMs, answer.expiresAtMs, this.#most, portionAnswers];
    const values = [key, ...numbers.map((number) => String(Math.floor(number))), encodeAnswer(key, answer)];
    const { cachedEnds, cachedSizes } = this.#keys;
    const told = await this.#writing.script(putScript, [cachedEnds, cachedSizes, this.#keys.cached('')], values);
    const [isPut = 0, gone = 0, entries = 0, bytes = 0] = told as number[];
    this.#status = { ...this.#status, entries, bytes, evicted: this.#status.evicted + gone };
    if (isPut === 0) this.#drop();
  }

  #drop(): void {
    this.#status = { ...this.#status, dropped: this.#status.dropped + 1 };
  }

  /** One that is late says little: this process may have been busy, or another command of the server was long. */
  #wasLate(): undefined {
    this.#lateInARow += 1;
    if (this.#lateInARow >= mostLate) this.#leave(lateProbeMs);
  }

  #leave(pauseMs: number): undefined {
    this.#isAway = true;
    this.#probe ??= setTimeout(() => this.#findOut(), pauseMs).unref();
  }

  /** Whether the server answers in time, asked until it does. */
  #findOut(): void {
    const again = (pauseMs: number): void => {
      this.#probe = this.#isClosed ? undefined : setTimeout(() => this.#findOut(), pauseMs).unref();
    };
    const answer = this.#reading.ask(['PING']);
    inTime(answer, this.#patienceMs).then(
      (come) => {
        // The next question waits for this answer: it is on the same connection.
        if (come === late)
          void answer.then(
            () => again(lateProbeMs),
            () => again(probeMs),
          );
        else this.#return();
      },
      () => again(probeMs),
    );
  }

  #return(): void {
    this.#probe = undefined;
    this.#lateInARow = 0;
    this.#isAway = false;
  }
}

const late = Symbol('late');

/**
 * The value if it comes within `ms` milliseconds, else `late`. A value that arrived while this process was busy is read
 * before it counts as late.
 */
function inTime<Value>(coming: Promise<Value>, ms: number): Promise<Value | typeof late> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => resolve(late)), ms);
    void coming.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function settingsOf(redisUrl: RedisUrl, prefix: string): ConnectionSettings {
  return { address: redisAddress(redisUrl), timeoutMs, mostAtOnce, prefix };
}

const lineFeed = 0x0a;
/** Of the line. Bytes. */
const mostHeadBytes = 16 * 1024;

interface Head {
  readonly key: string;
  readonly storedAtMs: number;
  readonly expiresAtMs: number;
  readonly facts: CachedFacts;
}

function encodeAnswer(key: string, { body, storedAtMs, expiresAtMs, facts }: CachedAnswer): Buffer {
  const head: Head = { key, storedAtMs, expiresAtMs, facts };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

/** Undefined for garbage, and for the answer of another key: where replies are mixed up, no client gets the answer of another. */
function decodeAnswer(key: string, bytes: Buffer): CachedAnswer | undefined {
  const end = bytes.subarray(0, mostHeadBytes).indexOf(lineFeed);
  const head = end === -1 ? undefined : headIn(bytes.toString('utf8', 0, end));
  if (head === undefined || head.key !== key) return undefined;
  const { storedAtMs, expiresAtMs, facts } = head;
  return { storedAtMs, expiresAtMs, facts, body: bytes.subarray(end + 1) };
}

function headIn(line: string): Head | undefined {
  try {
    const head = JSON.parse(line) as Partial<Head> | null;
    const { key, storedAtMs, expiresAtMs, facts } = head ?? {};
    if (typeof key !== 'string' || typeof facts !== 'object' || facts === null) return undefined;
    if (typeof storedAtMs !== 'number' || typeof expiresAtMs !== 'number') return undefined;
    return { key, storedAtMs, expiresAtMs, facts };
  } catch {
    return undefined;
  }
}
