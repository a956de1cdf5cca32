// One connection to Redis with a deadline for every operation: no operation waits for ever or is sent twice, and few wait at a time.
import { StoreUnavailable } from '../store-unavailable.ts';
import { type ConnectionSettings, connectRedis, isElsewhere, type RedisLine } from './client.ts';
import { explainRedisFailure, redisFailure } from './failure.ts';
import { AbsurdAnswer } from './guard.ts';
import type { RedisScript } from './scripts.ts';

/** The client says this of a command it has kept to itself. */
function wasNotSent(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith("Stream isn't writeable");
}

/** How many replicas must have a write, and how long that is waited for. Milliseconds. */
export interface Replication {
  readonly replicas: number;
  readonly waitMs: number;
}

export interface Replicated {
  readonly answer: unknown;
  /** That have what was written. */
  readonly replicas: number;
}

/** Text, or bytes as they are. */
export type RedisValue = string | Buffer;

/** A command and its arguments. */
export type RedisCommand = readonly [name: string, ...values: RedisValue[]];

/**
 * Deadlines for which an answer may be late before it counts as lost, with all behind it, and the connection is cut. Sooner would make a
 * server that is only slow slower still: a new connection takes several answers. An echo tells a lost answer at once.
 */
const patience = 3;

/** A user who may do everything else need not have the right to ask for an echo. */
const echoDenied = /^NOPERM .*'echo'/i;

/** Operations on one client, each with its deadline. */
export class RedisConnection {
  #settings: ConnectionSettings;
  readonly #opening: Promise<void>;
  readonly #running = new Set<Promise<unknown>>();
  #line: RedisLine | undefined;
  #awaitingReady: ((line: RedisLine) => void)[] = [];
  #lastError: Error | undefined;
  #isClosed = false;
  #asked = 0;
  /** Gives up the connection that should replace this one. */
  #abandon: (() => void) | undefined;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
    this.#opening = this.#open();
    this.#opening.catch(() => undefined);
  }

  /** The answer to a command once the connection is up. Rejects with `StoreUnavailable`, at the latest at the deadline. */
  ask(command: RedisCommand, deadlineMs: number = this.#settings.timeoutMs): Promise<unknown> {
    return this.#run((line) => this.#send(line, command), deadlineMs);
  }

  /** As `ask`, with the answer as bytes. */
  askBytes(command: RedisCommand, deadlineMs: number = this.#settings.timeoutMs): Promise<unknown> {
    return this.#run((line) => this.#send(line, command, 'bytes'), deadlineMs);
  }

  /** The answer of a script; a server that does not know it yet is sent its text. */
  script(
    script: RedisScript,
    keys: readonly string[],
    values: readonly RedisValue[],
    deadlineMs: number = this.#settings.timeoutMs,
  ): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...values];
    return this.#run(async (line) => {
      try {
        return await this.#send(line, ['EVALSHA', script.digest, ...rest]);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return this.#send(line, ['EVAL', script.text, ...rest]);
      }
    }, deadlineMs);
  }

  /**
   * As `script`, and how many replicas have by then what it wrote: as soon as `replicas` of them have it, at the latest after `waitMs`.
   * The text of the script is sent each time, so that the server is asked once.
   */
  replicated(
    script: RedisScript,
    keys: readonly string[],
    values: readonly RedisValue[],
    { replicas, waitMs }: Replication,
  ): Promise<Replicated> {
    return this.#run(async (line) => {
      // In one go: the server counts for what the same connection has written.
      const [written, counted] = await Promise.allSettled([
        this.#send(line, ['EVAL', script.text, String(keys.length), ...keys, ...values]),
        this.#send(line, ['WAIT', String(replicas), String(waitMs)]),
      ]);
      if (written.status === 'rejected') throw written.reason;
      if (counted.status === 'rejected') throw counted.reason;
      return { answer: written.value, replicas: Number(counted.value) };
    }, this.#settings.timeoutMs + waitMs);
  }

  /**
   * Replaces the connection by one with other settings as soon as that one works; until then it is tried for ever. What is under way
   * ends on the connection it began on. `onTrouble` is called once, when the first try fails. True: it is replaced; false: another
   * call or `close` came first.
   */
  async renew(settings: ConnectionSettings, onTrouble: (trouble: Error) => void): Promise<boolean> {
    this.#abandon?.();
    let isAbandoned = this.#isClosed;
    let abandon = (): void => {
      isAbandoned = true;
    };
    this.#abandon = () => abandon();
    await this.#opening;
    let isTold = false;
    const line = await connectRedis(settings, (error) => {
      if (this.#line === line) this.#lastError = error;
      else if (!isTold && !isAbandoned) {
        isTold = true;
        onTrouble(explainRedisFailure(settings.address, error));
      }
    });
    return new Promise((resolve) => {
      abandon = () => {
        isAbandoned = true;
        line.client.disconnect();
        resolve(false);
      };
      if (isAbandoned || this.#isClosed) return abandon();
      line.client.on('ready', () => {
        if (isAbandoned) return;
        const isFirst = this.#line !== line;
        if (isFirst) this.#replace(line, settings);
        this.#isReady(line);
        if (isFirst) resolve(true);
      });
    });
  }

  #replace(line: RedisLine, settings: ConnectionSettings): void {
    const former = this.#line;
    this.#line = line;
    this.#settings = settings;
    this.#abandon = undefined;
    // Operations on it end at their deadlines.
    void Promise.allSettled(this.#running).then(() => former?.client.disconnect());
  }

  /** Waits for what is under way, at most until its deadline. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#abandon?.();
    await Promise.allSettled(this.#running);
    await this.#opening;
    this.#line?.client.disconnect();
  }

  async #run<Result>(work: (line: RedisLine) => Promise<Result>, deadlineMs: number): Promise<Result> {
    if (this.#isClosed) throw new StoreUnavailable('unreachable', 'the state store is closed');
    const { mostAtOnce = 64 } = this.#settings;
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

  /**
   * Answers carry no name, only their place in the row: one that is lost gives every later command the answer of another. So an echo
   * is asked for behind each command, and its answer is believed only when the echo is its own.
   */
  async #send(line: RedisLine, [name, ...values]: RedisCommand, as: 'text' | 'bytes' = 'text'): Promise<unknown> {
    this.#asked += 1;
    const sign = `echo-${this.#asked}`;
    const asked = as === 'bytes' ? line.client.callBuffer(name, values) : line.client.call(name, values);
    const [answer, echo] = await Promise.allSettled([asked, line.client.call('ECHO', [sign])]);
    if (echo.status === 'rejected' && !echoDenied.test((echo.reason as Error).message)) {
      throw line.whyCut() ?? (answer.status === 'rejected' ? answer.reason : echo.reason);
    }
    if (echo.status === 'fulfilled' && echo.value !== sign) {
      const problem = new AbsurdAnswer('an answer was lost, and those after it cannot be told apart');
      line.cut(problem);
      throw problem;
    }
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  }

  async #open(): Promise<void> {
    const line = await connectRedis(this.#settings, (error) => {
      if (this.#line === undefined || this.#line === line) this.#lastError = error;
    });
    this.#line = line;
    line.client.on('ready', () => this.#isReady(line));
  }

  /** Begins what has waited, unless another connection is in use. */
  #isReady(line: RedisLine): void {
    if (this.#line !== line) return;
    this.#lastError = undefined;
    for (const go of this.#awaitingReady.splice(0)) go(line);
  }

  #withDeadline<Result>(work: (line: RedisLine) => Promise<Result>, deadlineMs: number): Promise<Result> {
    return new Promise((resolve, reject) => {
      let isOver = false;
      let asked: RedisLine | undefined;
      /** What a node said that is not the primary any more: it has done nothing, so another is asked, once. */
      let refused: Error | undefined;
      const end = (then: () => void): void => {
        isOver = true;
        clearTimeout(timer);
        then();
      };
      const begin = (line: RedisLine): void => {
        if (isOver) return;
        asked = line;
        work(line).then(
          (result) => {
            asked = undefined;
            end(() => resolve(result));
          },
          (error: unknown) => {
            asked = undefined;
            const isMoved = refused === undefined && isElsewhere(this.#settings.address, error);
            if (isMoved) refused = error as Error;
            // The connection was lost a moment ago: the next one may be there before the deadline.
            if ((isMoved || wasNotSent(error)) && !isOver) this.#awaitingReady.push(begin);
            else end(() => reject(error));
          },
        );
      };
      const expire = (): void => {
        if (isOver) return;
        this.#awaitingReady = this.#awaitingReady.filter((waiting) => waiting !== begin);
        const problem = redisFailure(this.#settings.address, 'timeout');
        // Why there is no connection says more than that there was no answer.
        end(() => reject(this.#lastError ?? refused ?? problem));
        if (asked !== undefined) setTimeout(() => asked?.cut(problem), patience * deadlineMs).unref();
      };
      // An answer that arrived while this process was busy is read before it counts as missing.
      const timer = setTimeout(() => setImmediate(expire), deadlineMs);
      if (this.#line?.client.status === 'ready') begin(this.#line);
      else this.#awaitingReady.push(begin);
    });
  }
}
