// The store's side of shared limits on tables in memory, with proxies that speak to it and a clock that a test moves.
import type {
  AttachAnswer,
  AttachMessage,
  ExchangeAnswer,
  ExchangeMessage,
  LimitAnswer,
  LimitNotice,
  LimitView,
} from '../../domain/limits/exchange.ts';
import { attach, detach, exchange, look } from '../../store/state/limits/book.ts';
import { attachMessage, exchangeMessage } from './limit-messages.ts';
import { MemoryTables } from './limit-tables.ts';

export type DoneAnswer = Extract<ExchangeAnswer, { status: 'done' }>;

/** The start of a slice of a minute, which has slices of a second. */
export const startMs = 1_700_000_000_000;
export const startSlice = startMs / 1_000;

/** One proxy as the store knows it. */
export interface BookedProxy {
  readonly attached: AttachAnswer;
  readonly session: number;
  /** The next exchange, or one with another sequence number; it must be answered. */
  exchange(more: Partial<ExchangeMessage>): DoneAnswer;
  /** The same, whatever the answer is. */
  send(more: Partial<ExchangeMessage>): ExchangeAnswer;
  detach(): void;
}

export class Book {
  readonly tables = new MemoryTables();
  readonly notices: LimitNotice[] = [];
  clockMs = startMs;

  attach(instance: string, more: Partial<AttachMessage> = {}): BookedProxy {
    const message = attachMessage(instance, more);
    const attached = attach(this.tables, message, this.clockMs);
    const { session } = attached;
    const { connection } = message;
    let { sequence } = attached;
    if (attached.former !== 'known') sequence = 0;
    const send = (given: Partial<ExchangeMessage>): ExchangeAnswer => {
      sequence += 1;
      const said = exchangeMessage(session, { connection, sequence, ...given });
      return exchange(this.tables, said, this.clockMs, (notice) => this.notices.push(notice));
    };
    return {
      attached,
      session,
      send,
      exchange(given) {
        const answer = send(given);
        if (answer.status !== 'done') throw new Error(`the store said ${answer.status}`);
        return answer;
      },
      detach: () => detach(this.tables, { session, connection }, this.clockMs),
    };
  }

  look(key: string): LimitView {
    return look(this.tables, key, this.clockMs);
  }

  /** Lets time pass in which somebody beats each second. */
  pass(ms: number, beating: readonly BookedProxy[]): void {
    for (let left = ms; left > 0; left -= 1_000) {
      this.clockMs += Math.min(left, 1_000);
      for (const proxy of beating) proxy.exchange({ beat: true });
    }
  }
}

/** The answer of the only item. */
export function only({ answers }: DoneAnswer): LimitAnswer {
  const [answer] = answers;
  if (answer === undefined || answers.length > 1) throw new Error(`there are ${answers.length} answers`);
  return answer;
}
