// The state store in Redis, for gateways on several machines.
import { randomUUID } from 'node:crypto';
import type { CounterRow } from '../rules/counter-row.ts';
import { decodeCounts, encodeCounts, expiresAtMs } from './counter-row.ts';
import { parseRedisUrl } from './redis-address.ts';
import { type ConnectionSettings, RedisConnection } from './redis-connection.ts';
import { redisFailure } from './redis-failure.ts';
import { counterField, keysVersion, kindField, parseCounterField, type RedisKeys, redisKeys } from './redis-keys.ts';
import {
  anyStore,
  commitScript,
  heartbeatScript,
  initialiseScript,
  type RedisScript,
  removeHeartbeatScript,
  reseedScript,
  writeCountersScript,
} from './redis-scripts.ts';
import { fieldOf, fieldsOf, parseHeartbeat, parseMark, parseState } from './redis-state.ts';
import { redisWarnings } from './redis-warnings.ts';
import { type RedisWatch, watchRedis } from './redis-watch.ts';
import { SequenceRefused } from './sequence-refused.ts';
import {
  bodyText,
  type Commit,
  type CommitResult,
  type CounterBatch,
  forgottenAfterMs,
  type Heartbeat,
  type StateStore,
  type StoredCounters,
  type StoredState,
  type StoreMark,
} from './state-store.ts';
import { StoreUnavailable } from './store-unavailable.ts';

export interface RedisStoreOptions {
  /** As `parseRedisUrl` takes it. */
  readonly redisUrl: string;
  /** What all keys begin with, in braces; default `gateway`. */
  readonly prefix?: string;
  /** Deadline of every operation, four times as long for reading everything; default 250. */
  readonly timeoutMs?: number;
  /** How often a watch looks, notified or not; default 500. */
  readonly pollMs?: number;
  /** Certificates besides those the system trusts, for `rediss:`. */
  readonly tls?: ConnectionSettings['tls'];
}

/** Rows of one page when counters are loaded. */
const page = '1000';
const version = String(keysVersion);

/** Opens the store. Throws a TypeError for options that make no sense; what is wrong besides is said by the first operation. */
export function openRedisStore(options: RedisStoreOptions): StateStore {
  const { redisUrl, prefix = 'gateway', timeoutMs = 250, pollMs = 500, tls = {} } = options;
  const address = parseRedisUrl(redisUrl);
  if (address === undefined)
    throw new TypeError('the address of Redis must be redis[s]://[[user]:password@]host[:port]');
  return new RedisStore({ address, timeoutMs, tls }, redisKeys(prefix), pollMs);
}

class RedisStore implements StateStore {
  readonly #settings: ConnectionSettings;
  readonly #connection: RedisConnection;
  readonly #keys: RedisKeys;
  readonly #pollMs: number;
  readonly #watches: RedisWatch[] = [];

  constructor(settings: ConnectionSettings, keys: RedisKeys, pollMs: number) {
    this.#settings = settings;
    this.#connection = new RedisConnection(settings);
    this.#keys = keys;
    this.#pollMs = pollMs;
  }

  async read(): Promise<StoredState> {
    // All of it may take longer than anything else. A server that gives no answer at all is found out before.
    await this.revision();
    const deadlineMs = 4 * this.#settings.timeoutMs;
    const flat = await this.#connection.run((client) => client.call('HGETALL', this.#keys.state), deadlineMs);
    const state = parseState(flat as string[]);
    if (typeof state === 'string') throw redisFailure(this.#settings.address, state);
    return state;
  }

  async revision(): Promise<StoreMark> {
    const fields = ['version', 'store_id', 'revision'];
    const found = await this.#connection.run((client) => client.call('HMGET', [this.#keys.state, ...fields]));
    const [stored, storeId, revision] = found as (string | null)[];
    const mark = parseMark(stored, storeId, revision);
    if (typeof mark === 'string') throw redisFailure(this.#settings.address, mark);
    return mark;
  }

  async commit({ storeId, expected, changes }: Commit): Promise<CommitResult> {
    const store = storeId === undefined ? anyStore : (storeId ?? '');
    const values = [version, randomUUID(), this.#keys.changed, store, String(expected.size)];
    for (const [kind, revision] of expected) values.push(kindField + kind, String(revision));
    for (const change of changes) {
      const body = change.body === undefined ? '' : bodyText(change.body);
      values.push(fieldOf(change), kindField + change.kind, body);
    }
    const [outcome, revision] = await this.#ask(commitScript, values);
    return outcome === 'conflict' ? { conflict: true } : { revision: Number(revision) };
  }

  /** A user that may not read settings hears nothing. */
  async warnings(): Promise<readonly string[]> {
    const settings = new Map<string, string>();
    for (const name of ['maxmemory-policy', 'appendonly', 'save']) {
      const found = await this.#connection.run((client) => client.call('CONFIG', ['GET', name])).catch(() => []);
      const [, value] = found as string[];
      if (value !== undefined) settings.set(name, value);
    }
    return redisWarnings(settings);
  }

  async initialise(storeId: string = randomUUID()): Promise<string> {
    const [, id = ''] = await this.#ask(initialiseScript, [version, storeId, this.#keys.changed]);
    return id;
  }

  async reseed(state: StoredState): Promise<boolean> {
    const { storeId, revision } = state;
    if (storeId === undefined) throw new TypeError('a state without store id cannot be put back');
    const fields = fieldsOf({ ...state, storeId });
    const [outcome] = await this.#ask(reseedScript, [version, this.#keys.changed, String(revision), ...fields]);
    return outcome === 'done';
  }

  watch(onChange: () => void): void {
    const settings = { ...this.#settings, channel: this.#keys.changed, pollMs: this.#pollMs };
    this.#watches.push(watchRedis(settings, () => this.revision(), onChange));
  }

  /**
   * In pages: the rows of a large gateway take longer than one deadline, and nobody else writes them. A page may repeat what an
   * earlier one gave.
   */
  async loadCounters(instance: string): Promise<StoredCounters> {
    const key = this.#keys.counters(instance);
    const rows = new Map<string, CounterRow | undefined>();
    let sequence = 0;
    let cursor: string | undefined = '0';
    while (cursor !== undefined) {
      const values: string[] = [key, cursor, 'COUNT', page];
      const found = await this.#connection.run((client) => client.call('HSCAN', values)).catch(ofAnotherType);
      if (found === undefined) return { sequence: 0, rows: [], skipped: 1 };
      const [next, flat] = found as [string, string[]];
      for (let at = 0; at + 1 < flat.length; at += 2) {
        const [field = '', text = ''] = [flat[at], flat[at + 1]];
        if (field === 'sequence') sequence = Number(text);
        else rows.set(field, parseRow(field, text));
      }
      cursor = next === '0' ? undefined : next;
    }
    const readable = [...rows.values()].filter((row) => row !== undefined);
    const isNumber = Number.isSafeInteger(sequence) && sequence >= 0;
    return { sequence: isNumber ? sequence : 0, rows: readable, skipped: rows.size - readable.length };
  }

  async writeCounters(instance: string, { sequence, nowMs, removed, rows }: CounterBatch): Promise<void> {
    const keys = [this.#keys.state, this.#keys.counters(instance), this.#keys.counterExpiry(instance)];
    const now = String(Math.floor(nowMs));
    const values = [version, String(sequence), now, String(forgottenAfterMs), String(removed.length), ...removed];
    for (const row of rows) {
      values.push(counterField(row.key, row.child), encodeCounts(row), String(expiresAtMs(row) ?? ''));
    }
    const stored = await this.#write(writeCountersScript, keys, values);
    if (stored !== null) throw new SequenceRefused(instance, sequence, Number(stored));
  }

  async writeHeartbeat({ instance, atMs, body }: Heartbeat): Promise<void> {
    const at = Math.floor(atMs);
    const value = `{"at_ms":${at},"body":${bodyText(body)}}`;
    const values = [version, instance, String(at), value, String(at - forgottenAfterMs)];
    await this.#write(heartbeatScript, this.#heartbeatKeys(), values);
  }

  async heartbeats(): Promise<Heartbeat[]> {
    const found = await this.#connection
      .run((client) => client.call('HGETALL', this.#keys.heartbeats))
      .catch(ofAnotherType);
    const flat = (found ?? []) as string[];
    const heartbeats: Heartbeat[] = [];
    for (let at = 0; at + 1 < flat.length; at += 2) {
      const heartbeat = parseHeartbeat(flat[at] ?? '', flat[at + 1] ?? '');
      if (heartbeat !== undefined) heartbeats.push(heartbeat);
    }
    return heartbeats.sort((a, b) => (a.instance < b.instance ? -1 : 1));
  }

  async removeHeartbeat(instance: string): Promise<void> {
    await this.#write(removeHeartbeatScript, this.#heartbeatKeys(), [version, instance]);
  }

  async close(): Promise<void> {
    await Promise.all(this.#watches.map((watch) => watch.close()));
    await this.#connection.close();
  }

  #heartbeatKeys(): string[] {
    return [this.#keys.state, this.#keys.heartbeats, this.#keys.heartbeatTimes];
  }

  /** The answer of a script that writes beside the state. */
  async #write(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const answer = await this.#connection.script(script, keys, values);
    if (answer === 'newer') throw redisFailure(this.#settings.address, 'newer_schema');
    return answer;
  }

  /** The answer of a script on the state: an outcome, and what belongs to it. */
  async #ask(script: RedisScript, values: readonly string[]): Promise<readonly string[]> {
    const answer = (await this.#connection.script(script, [this.#keys.state], values)) as string[];
    if (answer[0] === 'newer') throw redisFailure(this.#settings.address, 'newer_schema');
    if (answer[0] === 'corrupt') throw redisFailure(this.#settings.address, 'corrupt');
    return answer;
  }
}

function parseRow(field: string, text: string): CounterRow | undefined {
  const names = parseCounterField(field);
  return names === undefined ? undefined : decodeCounts(names[0], names[1], text);
}

/** Keys that only one process writes are no loss: the next write puts them right. */
function ofAnotherType(error: unknown): undefined {
  if (error instanceof StoreUnavailable && error.reason === 'corrupt') return undefined;
  throw error;
}
