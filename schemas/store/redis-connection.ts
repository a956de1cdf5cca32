// One connection to Redis that gives up at its deadline: nothing waits for ever, nothing is sent twice, nothing piles up.
import type { ConnectionOptions } from 'node:tls';
import type { Redis } from 'ioredis';
import type { RedisAddress } from './redis-address.ts';
import { explainRedisFailure, redisFailure } from './redis-failure.ts';
import type { RedisScript } from './redis-scripts.ts';
import { StoreUnavailable } from './store-unavailable.ts';

export interface ConnectionSettings {
  readonly address: RedisAddress;
  readonly timeoutMs: number;
  readonly tls: Pick<ConnectionOptions, 'ca' | 'cert' | 'key'>;
}

/** More than this many operations at once are refused: a plane has a handful. */
const mostAtOnce = 64;
const longestPauseMs = 1_000;

/**
 * A client that reports errors instead of hiding them, and reconnects for ever: soon at first, later once a second. The package
 * is loaded here, because it takes 20 MB that a gateway without Redis need not pay.
 */
export async function connectRedis(
  { address, timeoutMs, tls }: ConnectionSettings,
  onError: (error: Error) => void,
): Promise<Redis> {
  const ioredis = await import('ioredis');
  const client = new ioredis.Redis({
    host: address.host,
    port: address.port,
    db: address.database,
    ...(address.username === undefined ? {} : { username: address.username }),
    ...(address.password === undefined ? {} : { password: address.password }),
    ...(address.isTls ? { tls } : {}),
    connectTimeout: Math.max(1_000, timeoutMs),
    // A server that is silent for so long is given up, with everything that waits for it.
    socketTimeout: Math.max(500, 2 * timeoutMs),
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // It would subscribe on its own behind our back, and nobody would catch a refusal.
    autoResubscribe: false,
    disableClientInfo: true,
    retryStrategy: (attempt) => Math.min(25 * 2 ** Math.min(attempt, 10), longestPauseMs),
    // After a failover the same name may lead to the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  client.on('error', onError);
  return client;
}

/** The client says this of a command it has kept to itself. */
function wasNotSent(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Stream isn't writeable");
}

/** Operations on one client, each with its deadline. */
export class RedisConnection {
  readonly #settings: ConnectionSettings;
  readonly #opening: Promise<void>;
  readonly #running = new Set<Promise<unknown>>();
  #client: Redis | undefined;
  #awaitingReady: ((client: Redis) => void)[] = [];
  #lastError: Error | undefined;
  #isClosed = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#opening = this.#open();
    this.#opening.catch(() => undefined);
  }

  /** Runs `work` once the connection is up. Rejects with `StoreUnavailable`, at the latest at the deadline. */
  async run<Result>(
    work: (client: Redis) => Promise<Result>,
    deadlineMs: number = this.#settings.timeoutMs,
  ): Promise<Result> {
    if (this.#isClosed) throw new StoreUnavailable('unreachable', 'the state store is closed');
    if (this.#running.size >= mostAtOnce) {
      throw redisFailure(this.#settings.address, 'timeout', new Error('too many operations wait for it'));
    }
    // Loading the package is no fault of the server: the deadline begins afterwards.
    const running = this.#opening.then(() => this.#withDeadline(work, deadlineMs));
    this.#running.add(running);
    try {
      return await running;
    } catch (error) {
      throw explainRedisFailure(this.#settings.address, error);
    } finally {
      this.#running.delete(running);
    }
  }

  /** `run` of one script; a server that does not know it yet is sent its text. */
  script(script: RedisScript, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...values];
    return this.run(async (client) => {
      try {
        return await client.call('EVALSHA', [script.digest, ...rest]);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return client.call('EVAL', [script.text, ...rest]);
      }
    });
  }

  /** Waits for what is under way, at most until its deadline. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.allSettled(this.#running);
    await this.#opening;
    this.#client?.disconnect();
  }

  async #open(): Promise<void> {
    const client = await connectRedis(this.#settings, (error) => {
      this.#lastError = error;
    });
    this.#client = client;
    client.on('ready', () => {
      this.#lastError = undefined;
      for (const go of this.#awaitingReady.splice(0)) go(client);
    });
  }

  #withDeadline<Result>(work: (client: Redis) => Promise<Result>, deadlineMs: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isLate = false;
      const begin = (client: Redis): void => {
        if (isLate) return;
        work(client).then(
          (result) => {
            clearTimeout(timer);
            resolve(result);
          },
          (error: unknown) => {
            if (wasNotSent(error)) {
              // The connection was lost a moment ago: the next one may be there before the deadline.
              this.#awaitingReady.push(begin);
              return;
            }
            clearTimeout(timer);
            reject(error);
          },
        );
      };
      const timer = setTimeout(() => {
        isLate = true;
        this.#awaitingReady = this.#awaitingReady.filter((waiting) => waiting !== begin);
        // Why there is no connection says more than that there was no answer.
        reject(this.#lastError ?? redisFailure(this.#settings.address, 'timeout'));
      }, deadlineMs);
      if (this.#client?.status === 'ready') begin(this.#client);
      else this.#awaitingReady.push(begin);
    });
  }
}
