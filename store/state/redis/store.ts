// The state store in Redis, for gateways on several machines.
import { randomUUID } from 'node:crypto';
import { changedState } from '../changed-state.ts';
import { type ClosingItems, type KeptOptions, keptItems, keptPatience, mostKeptAtOnce } from '../kept-items.ts';
import type { LimitOptions } from '../limits/limit-store.ts';
import {
  bodyText,
  type Commit,
  type CommitResult,
  type DocumentUses,
  type Inspection,
  isSamePosition,
  mostNamed,
  mostPast,
  newMark,
  type StateChanges,
  type StateStore,
  type StoredState,
  type StorePosition,
  type Turns,
} from '../state-store.ts';
import { type RedisUrl, redisAddress } from './address.ts';
import type { ConnectionSettings } from './client.ts';
import { type RedisCommand, RedisConnection } from './connection.ts';
import { redisCounters } from './counters.ts';
import { explainRedisFailure, ofAnotherType, redisFailure } from './failure.ts';
import { type HeartbeatAsking, redisHeartbeats } from './heartbeats.ts';
import { redisKept } from './kept.ts';
import { keysVersion, kindField, type RedisKeys, redisKeys } from './keys.ts';
import { type RedisLimitOptions, RedisLimits } from './limits.ts';
import { hashPortions, readHash } from './portions.ts';
import { commitScript, initialiseScript, type RedisScript, rewriteScript, sinceScript } from './scripts.ts';
import { changeText, FieldReading, fieldOf, fieldsOf, parsePosition, parseSince, positionFields } from './state.ts';
import { redisTurns } from './turns.ts';
import { type Asking, redisUses } from './uses.ts';
import { RedisInspector } from './warnings.ts';
import { type RedisWatch, watchRedis } from './watch.ts';

export interface RedisStoreOptions extends KeptOptions, LimitOptions {
  /** As `parseRedisUrl` takes it. */
  readonly redisUrl: RedisUrl;
  /** The prefix of all keys, in braces; default `gateway`. */
  readonly prefix?: string;
  /** Deadline of every operation, four times as long for reading everything; default 250. */
  readonly timeoutMs?: number;
  /** Replicas that must have a commit before it counts as done; default 0. They have `timeoutMs` for it. */
  readonly waitReplicas?: number;
  /** Between two polls of a watch, notified or not; default 500. */
  readonly pollMs?: number;
}

/** A document has up to 16 KiB, a heartbeat up to 1 MB: each portion stays below half of the largest answer. */
const [documentsAtOnce, heartbeatsAtOnce] = [500, 8];
/**
 * The most bytes of changes that are read after a state was read in portions; beyond it the state is read again,
 * `mostReadings` times at most.
 */
const mostChangedBytes = 4 * 1024 * 1024;
/** The most documents of which it is said what has become of them. */
const mostChangedDocuments = 5_000;
const mostReadings = 3;
const version = String(keysVersion);

/** Opens the store. Throws a TypeError for options that make no sense; what is wrong besides is said by the first operation. */
export function openRedisStore(options: RedisStoreOptions): RedisStore {
  const { redisUrl, prefix = 'gateway', timeoutMs = 250 } = options;
  return new RedisStore({ address: redisAddress(redisUrl), timeoutMs, prefix }, redisKeys(prefix), options);
}

/** The documents, counters and heartbeats of one prefix in a database of Redis. */
export class RedisStore implements StateStore {
  #settings: ConnectionSettings;
  readonly #connection: RedisConnection;
  /** Its own where commits wait for replicas: nothing else waits behind them. */
  readonly #commits: RedisConnection;
  readonly #waitReplicas: number;
  readonly #keys: RedisKeys;
  readonly #pollMs: number;
  readonly #watches: { watch: RedisWatch; readonly onChange: () => void }[] = [];
  readonly uses: DocumentUses;
  readonly turns: Turns;
  readonly loadCounters: StateStore['loadCounters'];
  readonly writeCounters: StateStore['writeCounters'];
  readonly writeHeartbeat: StateStore['writeHeartbeat'];
  readonly heartbeats: StateStore['heartbeats'];
  readonly removeHeartbeat: StateStore['removeHeartbeat'];
  readonly kept: ClosingItems;
  readonly limits: RedisLimits;
  readonly #inspector: RedisInspector;
  #keptConnection: RedisConnection | undefined;

  constructor(
    settings: ConnectionSettings,
    keys: RedisKeys,
    { pollMs = 500, waitReplicas = 0, limitClockMs: clockMs, ...keptOptions }: Omit<RedisStoreOptions, 'redisUrl'>,
  ) {
    this.#settings = settings;
    this.#connection = new RedisConnection(settings);
    this.#commits = waitReplicas > 0 ? new RedisConnection(settings) : this.#connection;
    this.#waitReplicas = waitReplicas;
    this.#keys = keys;
    this.#pollMs = pollMs;
    this.#inspector = new RedisInspector((command) => this.#connection.ask(command));
    const write: Asking['write'] = (...given) => this.#write(...given);
    this.uses = redisUses({ write, read: (command) => this.#readOwn(command) }, keys);
    this.turns = redisTurns({ write }, keys);
    const explain = (error: unknown): Error => explainRedisFailure(this.#settings.address, error);
    const counters = redisCounters({ ask: (command) => this.#connection.ask(command), write, explain }, keys);
    this.loadCounters = counters.loadCounters;
    this.writeCounters = counters.writeCounters;
    const readAll: HeartbeatAsking['readAll'] = (key) => this.#readHash(key, heartbeatsAtOnce).catch(ofAnotherType);
    const heartbeats = redisHeartbeats({ write, read: (command) => this.#readOwn(command), readAll }, keys);
    this.writeHeartbeat = heartbeats.writeHeartbeat;
    this.heartbeats = heartbeats.heartbeats;
    this.removeHeartbeat = heartbeats.removeHeartbeat;
    this.kept = keptItems(
      () => redisKept(this.#openKept(), { keys, newer: () => redisFailure(this.#settings.address, 'newer_schema') }),
      keptOptions,
    );
    const read: RedisLimitOptions['read'] = (...given) => this.#connection.script(...given);
    this.limits = new RedisLimits({ address: settings.address, keys, read, clockMs });
  }

  async read(): Promise<StoredState> {
    for (let reading = 1; reading <= mostReadings; reading += 1) {
      // A server that gives no answer at all is found out here: the rest may take longer than anything else.
      const before = await this.revision();
      const fields = new FieldReading();
      for await (const portion of this.#portions(this.#keys.state, documentsAtOnce)) fields.take(portion);
      const state = await fields.stateAt(before);
      if (isSamePosition(await this.revision(), before)) return state;
      const changes = await this.changesSince(before);
      if (changes !== undefined) return changedState(state, changes);
    }
    throw redisFailure(this.#settings.address, 'timeout', new Error('it changes faster than it can be read'));
  }

  async revision(): Promise<StorePosition> {
    const found = await this.#connection.ask(['HMGET', this.#keys.state, ...positionFields]);
    const [stored, storeId, revision, mark] = found as (string | null)[];
    const position = parsePosition(stored, storeId, revision, mark);
    if (typeof position === 'string') throw redisFailure(this.#settings.address, position);
    return position;
  }

  async changesSince({ storeId, revision, mark }: StorePosition): Promise<StateChanges | undefined> {
    if (storeId === undefined || mark === undefined) return undefined;
    const bounds = [String(mostChangedDocuments), String(mostChangedBytes)];
    const values = [version, storeId, String(revision), mark, ...bounds];
    const [outcome, now, marked, number, ...found] = await this.#ask(sinceScript, values);
    const position = outcome === 'done' ? parsePosition(version, storeId, now, marked) : 'corrupt';
    if (typeof position === 'string' || position.mark === undefined) return undefined;
    const count = Number(number);
    return parseSince({ ...position, storeId }, found.slice(0, count), found.slice(count));
  }

  async commit({ storeId, expected, changes }: Commit): Promise<CommitResult> {
    const mark = newMark();
    const deleted = changes.filter(({ body }) => body === undefined);
    const named = changes.length > mostNamed ? undefined : changes;
    const remembered = [mark, changeText({ marks: [mark], deleted }, named), String(mostPast)];
    const values = [version, randomUUID(), this.#keys.changed, storeId ?? '', ...remembered, String(expected.size)];
    for (const [kind, revision] of expected) values.push(kindField + kind, String(revision));
    for (const change of changes) {
      const body = change.body === undefined ? '' : bodyText(change.body);
      values.push(fieldOf(change), kindField + change.kind, body);
    }
    const [outcome, revision, after] = await this.#commit(values);
    return outcome === 'conflict' ? { conflict: true } : { revision: Number(revision), mark: after };
  }

  inspect(): Promise<Inspection> {
    return this.#inspector.look();
  }

  async initialise(): Promise<string> {
    const [, id = ''] = await this.#ask(initialiseScript, [version, randomUUID(), this.#keys.changed]);
    return id;
  }

  async rewrite(state: StoredState, over: StorePosition): Promise<boolean> {
    const { storeId } = state;
    if (storeId === undefined) throw new TypeError('a state without store id cannot be put back');
    const place = [over.storeId ?? '', String(over.revision), over.mark ?? ''];
    const values = [version, this.#keys.changed, ...place, ...fieldsOf({ ...state, storeId })];
    const [outcome] = await this.#ask(rewriteScript, values);
    return outcome === 'done';
  }

  watch(onChange: () => void): void {
    this.#watches.push({ watch: this.#watch(onChange), onChange });
  }

  /**
   * Goes over to another address of the same data, such as one with another password. The connection before serves until the new one
   * works; until then it is tried for ever. `onTrouble` is called once, when the first try fails. Resolves to true when the new one
   * is in use, to false when another call or `close` came first. Throws a TypeError for what is no address.
   */
  async reconnect(redisUrl: RedisUrl, onTrouble: (trouble: Error) => void): Promise<boolean> {
    const settings = { ...this.#settings, address: redisAddress(redisUrl) };
    if (!(await this.#connection.renew(settings, onTrouble))) return false;
    this.#settings = settings;
    const replaced = this.#watches.map((each) => {
      const { watch, onChange } = each;
      each.watch = this.#watch(onChange);
      return watch.close();
    });
    const commits = this.#commits === this.#connection ? undefined : this.#commits.renew(settings, () => undefined);
    const kept = this.#keptConnection?.renew(this.#keptSettings(), () => undefined);
    await Promise.all([...replaced, commits, kept, this.limits.renew(settings.address)]);
    return true;
  }

  async close(): Promise<void> {
    await Promise.all(this.#watches.map(({ watch }) => watch.close()));
    await Promise.all([this.#connection.close(), this.#commits.close(), this.kept.close(), this.limits.close()]);
  }

  /** A connection of its own: large items do not delay counters and documents. */
  #openKept(): RedisConnection {
    this.#keptConnection = new RedisConnection(this.#keptSettings());
    return this.#keptConnection;
  }

  #keptSettings(): ConnectionSettings {
    const timeoutMs = keptPatience * this.#settings.timeoutMs;
    return { ...this.#settings, timeoutMs, mostAtOnce: mostKeptAtOnce };
  }

  #watch(onChange: () => void): RedisWatch {
    const settings = { ...this.#settings, channel: this.#keys.changed, pollMs: this.#pollMs };
    return watchRedis(settings, () => this.revision(), onChange);
  }

  /** Each portion has four times the deadline of other operations. */
  async *#portions(key: string, fieldsAtOnce: number): AsyncGenerator<readonly string[], void> {
    const deadlineMs = 4 * this.#settings.timeoutMs;
    try {
      yield* hashPortions((command) => this.#connection.ask(command, deadlineMs), { key, fieldsAtOnce });
    } catch (error) {
      throw explainRedisFailure(this.#settings.address, error);
    }
  }

  #readHash(key: string, fieldsAtOnce: number): Promise<ReadonlyMap<string, string>> {
    const read = readHash((command) => this.#connection.ask(command), { key, fieldsAtOnce });
    return read.catch((error: unknown) => {
      throw explainRedisFailure(this.#settings.address, error);
    });
  }

  /** The answer about a key beside the state; undefined when it holds something else. */
  #readOwn(command: RedisCommand): Promise<unknown> {
    const asked = this.#connection.ask(command);
    return asked.catch((error) => ofAnotherType(explainRedisFailure(this.#settings.address, error)));
  }

  /** The answer of a script that writes beside the state. */
  async #write(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const answer = await this.#connection.script(script, keys, values);
    if (answer === 'newer') throw redisFailure(this.#settings.address, 'newer_schema');
    return answer;
  }

  /** As `#ask`. Rejects with `unreplicated` when too few replicas have the commit, which has happened then. */
  async #commit(values: readonly string[]): Promise<readonly string[]> {
    const [wanted, waitMs] = [this.#waitReplicas, this.#settings.timeoutMs];
    if (wanted === 0) return this.#ask(commitScript, values);
    const replication = { replicas: wanted, waitMs };
    const { answer, replicas } = await this.#commits.replicated(commitScript, [this.#keys.state], values, replication);
    const told = this.#told(answer);
    if (told[0] === 'conflict' || replicas >= wanted) return told;
    const what = `${replicas} of the ${wanted} replicas had it after ${waitMs} ms`;
    throw redisFailure(this.#settings.address, 'unreplicated', new Error(what));
  }

  /** The answer of a script on the state: an outcome, and what belongs to it. */
  async #ask(script: RedisScript, values: readonly string[]): Promise<readonly string[]> {
    return this.#told(await this.#connection.script(script, [this.#keys.state], values));
  }

  #told(given: unknown): readonly string[] {
    const answer = given as string[];
    if (answer[0] === 'newer') throw redisFailure(this.#settings.address, 'newer_schema');
    if (answer[0] === 'corrupt') throw redisFailure(this.#settings.address, 'corrupt');
    return answer;
  }
}
