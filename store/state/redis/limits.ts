// Shared limits in Redis: one script for each message, on connections of their own.
import {
  type AttachAnswer,
  type AttachMessage,
  type DetachMessage,
  type ExchangeAnswer,
  type ExchangeMessage,
  exchangeVersion,
  type FormerSession,
  type LimitAnswer,
  type LimitView,
} from '../../../domain/limits/exchange.ts';
import { type LimitCalls, LimitLines } from '../limits/limit-lines.ts';
import type { LimitListener, LimitStore } from '../limits/limit-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { RedisAddress } from './address.ts';
import { redisFailure } from './failure.ts';
import type { RedisKeys } from './keys.ts';
import { LimitConnection, type SignedValues } from './limit-connection.ts';
import { attachScript, detachScript, exchangeScript, lookScript, serverScript } from './limit-scripts.ts';
import type { RedisScript } from './scripts.ts';

export interface RedisLimitOptions {
  readonly address: RedisAddress;
  readonly keys: RedisKeys;
  /** Runs a script that only reads, on the connection that the store has anyway, with its deadline. */
  readonly read: (script: RedisScript, keys: readonly string[], values: readonly string[]) => Promise<unknown>;
  /** Instead of the clock of the server. */
  readonly clockMs?: (() => number) | undefined;
}

const version = String(exchangeVersion);
/** Counters that are read at once. */
const countersAtOnce = 256;

/** Nothing is connected before `connect`. */
export class RedisLimits implements LimitStore {
  readonly #options: RedisLimitOptions;
  readonly #common: readonly string[];
  #address: RedisAddress;
  #lines: LimitLines | undefined;
  #connection: LimitConnection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #hasLine = false;
  #isClosed = false;

  constructor(options: RedisLimitOptions) {
    this.#options = options;
    this.#address = options.address;
    const { limits, limitSessions, limitGraves, limitGraveTimes } = options.keys;
    this.#common = [limits, limitSessions, limitGraves, limitGraveTimes];
  }

  connect(listener: LimitListener): void {
    this.#lines = new LimitLines(listener);
    this.#connection = this.#open();
  }

  /** Goes over to another address of the same data, which works. */
  async renew(address: RedisAddress): Promise<void> {
    this.#address = address;
    const former = this.#connection;
    if (former === undefined || this.#isClosed) return;
    this.#connection = this.#open();
    this.#lines?.failed(redisFailure(address, 'unreachable', new Error('the address was renewed')));
    await former.close();
  }

  async look(keys: readonly string[]): Promise<LimitView[]> {
    if (this.#isClosed) throw new StoreUnavailable('unreachable', 'the state store is closed');
    const views: LimitView[] = [];
    for (let first = 0; first < keys.length; first += countersAtOnce) {
      const portion = keys.slice(first, first + countersAtOnce);
      const periods = portion.map((key) => Number(/^[0-9]{1,9}(?=:)/.exec(key)?.[0] ?? 0));
      const names = [...this.#common, ...portion.map((key) => this.#options.keys.limit(key))];
      const values = [version, this.#clock(), '', JSON.stringify(periods)];
      const answer = (await this.#options.read(lookScript, names, values)) as readonly string[];
      views.push(...(JSON.parse(answer[1] ?? '[]') as ViewText[]).map(viewOf));
    }
    return views;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#lines?.close();
    await this.#connection?.close();
  }

  #clock(): string {
    const now = this.#options.clockMs?.();
    return now === undefined ? '' : String(now);
  }

  #open(): LimitConnection {
    const { limitNotices: channel, prefix } = this.#options.keys;
    const connection = new LimitConnection(
      { address: this.#address, channel, prefix },
      {
        ready: () => this.#beginLater(connection),
        lost: (error) => {
          if (this.#connection === connection) this.#lines?.failed(error);
        },
        told: (text) => {
          if (this.#connection === connection) this.#hear(text);
        },
      },
    );
    return connection;
  }

  #hear(text: string): void {
    const kind = text[0] === 'r' ? 'return' : 'room';
    this.#lines?.told({ kind, key: text.slice(1) });
  }

  #beginLater(connection: LimitConnection): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.#begin(connection), this.#lines?.pauseMs ?? 0);
  }

  async #begin(connection: LimitConnection): Promise<void> {
    if (this.#connection !== connection || !connection.isReady || this.#hasLine) return;
    try {
      const server = await connection.script(serverScript, this.#common, [version, '']);
      if (this.#isClosed || this.#connection !== connection || this.#hasLine || !connection.isReady) return;
      this.#hasLine = true;
      this.#lines?.begin(server, this.#callsOn(connection));
    } catch (error) {
      if (this.#isClosed || this.#connection !== connection) return;
      this.#lines?.missed(error);
      this.#beginLater(connection);
    }
  }

  #callsOn(connection: LimitConnection): LimitCalls {
    const ask = async (script: RedisScript, message: unknown, more: Ask = {}): Promise<string> => {
      const { counters = [], values = [] } = more;
      const said: SignedValues = [version, this.#clock(), JSON.stringify(message), ...values];
      const answer = await connection.script(script, [...this.#common, ...counters], said);
      if (answer === 'newer') throw redisFailure(this.#address, 'newer_schema');
      return answer;
    };
    const { keys } = this.#options;
    const noticed = [keys.limitNotices, String(Buffer.byteLength(keys.limit('')))];
    return {
      attach: async (message) => attachAnswer(await ask(attachScript, attachText(message))),
      exchange: async (message) => {
        const counters = message.items.map(({ key }) => keys.limit(key));
        return exchangeAnswer(await ask(exchangeScript, exchangeText(message), { counters, values: noticed }));
      },
      detach: async ({ session, connection: number }: DetachMessage) => {
        await ask(detachScript, [session, number]);
      },
      ended: () => {
        this.#hasLine = false;
        if (this.#connection !== undefined) this.#beginLater(this.#connection);
      },
    };
  }
}

interface Ask {
  readonly counters?: readonly string[];
  readonly values?: readonly string[];
}

function attachText({ instance, boot, connection, session, generation, fresh, server, live }: AttachMessage): unknown {
  return [instance, boot, connection, session ?? -1, generation ?? '', fresh, server, live];
}

function exchangeText({ session, connection, sequence, beat, told, items, groups }: ExchangeMessage): unknown {
  const rows = items.map(({ period, cap, held, spare, wish, least, uses, refunds, dated }) => {
    return [period, cap, held, spare, wish, least, uses, refunds, dated];
  });
  return [session, connection, sequence, beat, told, rows, groups.map(({ requests, needs }) => [requests, needs])];
}

type AttachText = readonly [number, number, string, number, FormerSession, number, number, number, boolean];

function attachAnswer(text: string): AttachAnswer {
  const found = JSON.parse(text) as AttachText;
  const [stored, now, generation, session, former, sequence, live, rank, recovering] = found;
  return { version: stored, now, generation, session, former, sequence, live, rank, recovering };
}

type AnswerText = readonly [number, number, number, number, number, number, number, number, number, number];
type ExchangeText = readonly [number, number, number, number, boolean, readonly AnswerText[], readonly number[]];

function exchangeAnswer(text: string): ExchangeAnswer {
  if (text === 'unknown' || text === 'stale') return { status: text };
  const [sequence, now, live, rank, recovering, answers, admitted] = JSON.parse(text) as ExchangeText;
  return {
    status: 'done',
    sequence,
    now,
    live,
    rank,
    recovering,
    answers: answers.map(limitAnswer),
    admitted: [...admitted],
  };
}

function limitAnswer(said: AnswerText): LimitAnswer {
  const [granted, spare, free, used, others, othersOpen, freeInMs, recallMs, oldest, newest] = said;
  return { granted, spare, free, used, others, othersOpen, freeInMs, recallMs, oldest, newest };
}

type ViewText = readonly [number, number, number, number, ...LimitView['sessions']];

function viewOf([used, held, oldest, newest, ...sessions]: ViewText): LimitView {
  return { used, held, oldest, newest, sessions };
}
