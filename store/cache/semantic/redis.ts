// The semantic cache in Redis, for all proxies: a vector set for each partition, which Redis has since version 8.
import { placeOf, type RedisAddress, type RedisUrl, redisAddress } from '../../state/redis/address.ts';
import { RedisConnection } from '../../state/redis/connection.ts';
import { type RedisKeys, redisKeys } from '../../state/redis/keys.ts';
import type { RedisScript } from '../../state/redis/scripts.ts';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import {
  type Neighbour,
  type NeighbourStatus,
  type Neighbours,
  type PlacedAnswer,
  Puts,
  similarityOf,
  type VectorPlace,
} from './neighbours.ts';
import { announceVectorScript, forgetVectorScript } from './redis-scripts.ts';

export interface RedisNeighbourOptions {
  readonly redisUrl: RedisUrl;
  readonly prefix: string;
  readonly mostEntries: number;
  /** Deadline of a question. */
  readonly timeoutMs: number;
}

/** The connections move to a renewed address; see `RedisStore`. */
export interface RedisNeighbours extends Neighbours {
  reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean>;
}

/** Vectors that one put drops at most: each holds the server up for some 0.4 ms. */
const portionVectors = 10;
const mostAtOnce = 256;

/** Throws a TypeError for what is no address. Connects at once. */
export function openRedisNeighbours(options: RedisNeighbourOptions): RedisNeighbours {
  return new VectorSets(options);
}

class VectorSets implements RedisNeighbours {
  readonly isShared = true;
  readonly #keys: RedisKeys;
  readonly #prefix: string;
  readonly #timeoutMs: number;
  // Vectors that are put take milliseconds each, and must not delay those that are asked for.
  readonly #reading: RedisConnection;
  readonly #writing: RedisConnection;
  #address: RedisAddress;
  #most: number;
  readonly #puts = new Puts();
  #entries = 0;

  constructor({ redisUrl, prefix, mostEntries, timeoutMs }: RedisNeighbourOptions) {
    this.#keys = redisKeys(prefix);
    this.#prefix = prefix;
    this.#most = mostEntries;
    this.#timeoutMs = timeoutMs;
    this.#address = redisAddress(redisUrl);
    this.#reading = new RedisConnection(this.#settings());
    this.#writing = new RedisConnection(this.#settings());
  }

  async ready(): Promise<void> {
    await this.#explained(this.#reading.ask(['VCARD', this.#keys.placed('')]));
  }

  async nearest({ partition, vector }: VectorPlace, nowMs: number): Promise<Neighbour | undefined> {
    const set = this.#keys.placed(partition);
    const filter = `.end > ${Math.floor(nowMs)}`;
    const asked = ['WITHSCORES', 'COUNT', '1', 'FILTER', filter] as const;
    const told = await this.#explained(this.#reading.ask(['VSIM', set, 'FP32', bytesOf(vector), ...asked]));
    const [key, score] = Array.isArray(told) ? (told as string[]) : [];
    // Redis gives 1 for the same direction and 0 for the opposite one.
    return key === undefined ? undefined : { key, similarity: similarityOf(2 - 2 * Number(score)) };
  }

  put(placed: PlacedAnswer, nowMs: number): void {
    this.#puts.start(() => this.#write(placed, nowMs));
  }

  forget(partition: string, key: string): void {
    this.#run(forgetVectorScript, [partition, key]).catch(() => undefined);
  }

  resize(mostEntries: number): void {
    this.#most = mostEntries;
  }

  status(): NeighbourStatus {
    return { entries: this.#entries, dropped: this.#puts.dropped };
  }

  async reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean> {
    this.#address = redisAddress(redisUrl);
    const settings = this.#settings();
    const both = [this.#reading.renew(settings, onTrouble), this.#writing.renew(settings, () => undefined)];
    return (await Promise.all(both)).every(Boolean);
  }

  async close(): Promise<void> {
    await Promise.all([this.#reading.close(), this.#writing.close()]);
  }

  async #write({ partition, vector, key, expiresAtMs }: PlacedAnswer, nowMs: number): Promise<void> {
    const [now, end] = [Math.floor(nowMs), Math.floor(expiresAtMs)];
    const numbers = [now, end, this.#most, portionVectors].map(String);
    const told = await this.#run(announceVectorScript, [partition, key, ...numbers]);
    const [entries = 0, isAmongThem = 0] = told as number[];
    this.#entries = entries;
    if (isAmongThem === 0) return;
    const set = this.#keys.placed(partition);
    // Not within a script: with CAS, what takes milliseconds is done in a thread of its own.
    const how = ['CAS', 'NOQUANT', 'SETATTR', `{"end":${end}}`];
    await this.#writing.ask(['VADD', set, 'FP32', bytesOf(vector), key, ...how]);
    const left = String(Math.max(1, end - now));
    await Promise.all(['NX', 'GT'].map((when) => this.#writing.ask(['PEXPIRE', set, left, when])));
  }

  #run(script: RedisScript, values: readonly (string | Buffer)[]): Promise<unknown> {
    return this.#writing.script(script, [this.#keys.placedEnds, this.#keys.placed('')], values);
  }

  #settings() {
    return { address: this.#address, timeoutMs: this.#timeoutMs, mostAtOnce, prefix: this.#prefix };
  }

  /** An older server does not know the commands. */
  async #explained<Told>(asked: Promise<Told>): Promise<Told> {
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof StoreUnavailable) || !/unknown command/i.test(error.message)) throw error;
      throw new StoreUnavailable(
        'denied',
        `the semantic cache on ${placeOf(this.#address)} needs Redis 8 or newer: its vector sets`,
        error,
      );
    }
  }
}

/** Floats of 32 bits, in the byte order of this machine: it must be that of the server's. */
function bytesOf({ buffer, byteOffset, byteLength }: VectorPlace['vector']): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
