// The connections of shared limits to Redis: one for scripts, one for notices. Both must be there, and neither is shared with others.
import { patienceMs } from '../limits/limit-store.ts';
import type { RedisAddress } from './address.ts';
import { type ConnectionSettings, connectRedis, type RedisLine } from './client.ts';
import { explainRedisFailure, redisFailure } from './failure.ts';
import { AbsurdAnswer } from './guard.ts';
import type { RedisScript } from './scripts.ts';

/** The client's own deadline comes after ours: it does not know that this process may have been stopped meanwhile. */
const clientTimeoutMs = 10 * patienceMs;

export interface LimitConnectionEvents {
  /** Both connections are there, and notices are heard. */
  ready(): void;
  /** One has ended, or could not be made. Another one is tried. */
  lost(error: Error): void;
  told(text: string): void;
}

export interface LimitConnectionSettings {
  readonly address: RedisAddress;
  readonly channel: string;
  /** Of the keys. */
  readonly prefix: string;
}

export class LimitConnection {
  readonly #settings: LimitConnectionSettings;
  readonly #events: LimitConnectionEvents;
  readonly #opening: Promise<readonly RedisLine[]>;
  readonly #ready = new Set<RedisLine>();
  #line: RedisLine | undefined;
  #asked = 0;
  #isClosed = false;

  constructor(settings: LimitConnectionSettings, events: LimitConnectionEvents) {
    this.#settings = settings;
    this.#events = events;
    this.#opening = this.#open();
    this.#opening.catch((error: Error) => events.lost(error));
  }

  get isReady(): boolean {
    return this.#ready.size === 2;
  }

  /** What the script gives beside the sign. It stands third in `values`. Rejects with `StoreUnavailable` when the connection ends. */
  async script(script: RedisScript, keys: readonly string[], values: SignedValues): Promise<string> {
    const line = this.#line;
    if (line === undefined) throw redisFailure(this.#settings.address, 'unreachable');
    this.#asked += 1;
    const sign = String(this.#asked);
    const [version, clock, ...more] = values;
    const rest = [String(keys.length), ...keys, version, clock, sign, ...more];
    const answer = await this.#withPatience(line, async () => {
      try {
        return await line.client.call('EVALSHA', [script.digest, ...rest]);
      } catch (error) {
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return line.client.call('EVAL', [script.text, ...rest]);
      }
    });
    if (Array.isArray(answer) && answer[0] === sign && typeof answer[1] === 'string') return answer[1];
    // Answers carry no name, only their place in the row: behind one that is lost, each is that to another question.
    const problem = explainRedisFailure(
      this.#settings.address,
      new AbsurdAnswer('an answer is not the one to what was asked'),
    );
    line.cut(problem);
    throw problem;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { client } of await this.#opening.catch(() => [])) client.disconnect();
  }

  /** A connection that is silent for too long is cut, so that no answer to it can arrive. */
  async #withPatience<Answer>(line: RedisLine, ask: () => Promise<Answer>): Promise<Answer> {
    const { address } = this.#settings;
    let isOver = false;
    const expire = (): void => {
      if (!isOver) line.cut(redisFailure(address, 'timeout'));
    };
    // An answer that arrived while this process was busy or stopped is read before it counts as missing.
    const timer = setTimeout(() => setImmediate(expire), patienceMs);
    try {
      return await ask();
    } catch (error) {
      throw explainRedisFailure(address, line.whyCut() ?? error);
    } finally {
      isOver = true;
      clearTimeout(timer);
    }
  }

  async #open(): Promise<readonly RedisLine[]> {
    const lines = await Promise.all([this.#connect(), this.#connect({ signOfLifeMs: 1_000 })]);
    const [line, listening] = lines;
    this.#line = line;
    line.client.on('ready', () => this.#isThere(line));
    listening.client.on('ready', () => {
      // A user without the right to listen hears of room later, from the next answer.
      const { channel } = this.#settings;
      listening.client.subscribe(channel).then(
        () => this.#isThere(listening),
        (error: Error) => {
          if (error.message.startsWith('NOPERM')) this.#isThere(listening);
        },
      );
    });
    listening.client.on('message', (_channel: string, text: string) => this.#events.told(text));
    if (this.#isClosed) for (const { client } of lines) client.disconnect();
    return lines;
  }

  async #connect(more: Pick<ConnectionSettings, 'signOfLifeMs'> = {}): Promise<RedisLine> {
    const { address, prefix } = this.#settings;
    let lastError: Error | undefined;
    const line = await connectRedis({ address, prefix, timeoutMs: clientTimeoutMs, ...more }, (error) => {
      lastError = error;
    });
    const { client } = line;
    let timer: NodeJS.Timeout | undefined;
    const hurry = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => setImmediate(late), patienceMs);
    };
    const late = (): void => {
      if (client.status !== 'ready') line.cut(redisFailure(address, 'timeout'));
    };
    hurry();
    client.on('connecting', hurry);
    client.on('ready', () => {
      clearTimeout(timer);
      lastError = undefined;
    });
    client.on('close', () => {
      clearTimeout(timer);
      this.#ready.delete(line);
      const why = line.whyCut() ?? lastError ?? new Error('the connection broke');
      if (!this.#isClosed) this.#events.lost(explainRedisFailure(address, why));
    });
    return line;
  }

  #isThere(line: RedisLine): void {
    if (line.client.status !== 'ready') return;
    this.#ready.add(line);
    if (this.isReady) this.#events.ready();
  }
}

/** The version that is known, and the clock or nothing; then what is the script's own. */
export type SignedValues = readonly [version: string, clock: string, ...more: string[]];
