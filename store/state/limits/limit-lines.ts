// The lines of an engine to the listener of shared limits: one at a time, ended by its first failure, and begun anew with pauses.
import type {
  AttachAnswer,
  AttachMessage,
  DetachMessage,
  ExchangeAnswer,
  ExchangeMessage,
  LimitNotice,
} from '../../../domain/limits/exchange.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { LimitLine, LimitListener } from './limit-store.ts';

/** How an engine asks on one connection. */
export interface LimitCalls {
  attach(message: AttachMessage): Promise<AttachAnswer>;
  exchange(message: ExchangeMessage): Promise<ExchangeAnswer>;
  detach(message: DetachMessage): Promise<void>;
  /** The line has ended: nothing more is asked on the connection, and another one is wanted. */
  ended(): void;
}

const longestPauseMs = 1_000;

export class LimitLines {
  readonly #listener: LimitListener;
  #line: EndingLine | undefined;
  /** Lines in a row that gave no answer. */
  #failures = 0;
  /** The last reason that was told since there was an answer. */
  #told: string | undefined;

  constructor(listener: LimitListener) {
    this.#listener = listener;
  }

  /** How long to wait before the next line begins, in milliseconds. */
  get pauseMs(): number {
    return this.#failures === 0 ? 0 : Math.min(25 * 2 ** this.#failures, longestPauseMs);
  }

  /** A connection is there. `server`: the run of the server that answers. */
  begin(server: string, calls: LimitCalls): void {
    const line = new EndingLine(server, calls, {
      answered: () => {
        this.#failures = 0;
        this.#told = undefined;
      },
      ended: (error) => {
        if (this.#line === line) this.#line = undefined;
        if (!line.hasAnswered) this.#failures += 1;
        calls.ended();
        this.#told = error.message;
        this.#listener.lost(error);
      },
    });
    this.#line = line;
    this.#listener.ready(line);
  }

  /** A connection was there, but no line could begin on it: the next one waits longer. */
  missed(thrown: unknown): void {
    this.#failures += 1;
    this.failed(thrown);
  }

  /** The connection has ended, or none could be made; told once for each line and each new reason. */
  failed(thrown: unknown): void {
    const error = asUnavailable(thrown);
    if (this.#line !== undefined) {
      this.#line.end(error);
      return;
    }
    if (this.#told === error.message) return;
    this.#told = error.message;
    this.#listener.lost(error);
  }

  told(notice: LimitNotice): void {
    this.#listener.told(notice);
  }

  /** Ends the line without a word to the listener. */
  close(): void {
    this.#line?.close();
    this.#line = undefined;
  }
}

interface LineEvents {
  answered(): void;
  ended(error: StoreUnavailable): void;
}

/** After its end it answers nothing, not even what was asked before. */
class EndingLine implements LimitLine {
  readonly server: string;
  readonly #calls: LimitCalls;
  readonly #events: LineEvents;
  #end: StoreUnavailable | undefined;
  hasAnswered = false;

  constructor(server: string, calls: LimitCalls, events: LineEvents) {
    this.server = server;
    this.#calls = calls;
    this.#events = events;
  }

  attach(message: AttachMessage): Promise<AttachAnswer> {
    return this.#ask(() => this.#calls.attach(message));
  }

  exchange(message: ExchangeMessage): Promise<ExchangeAnswer> {
    return this.#ask(() => this.#calls.exchange(message));
  }

  detach(message: DetachMessage): Promise<void> {
    return this.#ask(() => this.#calls.detach(message));
  }

  end(error: StoreUnavailable): void {
    if (this.#end !== undefined) return;
    this.#end = error;
    this.#events.ended(error);
  }

  close(): void {
    this.#end ??= new StoreUnavailable('unreachable', 'the state store is closed');
  }

  async #ask<Answer>(call: () => Promise<Answer>): Promise<Answer> {
    if (this.#end !== undefined) throw this.#end;
    try {
      const answer = await call();
      if (this.#end !== undefined) throw this.#end;
      this.hasAnswered = true;
      this.#events.answered();
      return answer;
    } catch (thrown) {
      this.end(asUnavailable(thrown));
      throw this.#end;
    }
  }
}

function asUnavailable(thrown: unknown): StoreUnavailable {
  if (thrown instanceof StoreUnavailable) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new StoreUnavailable('unreachable', `the state store has failed in shared limits: ${message}`, thrown);
}
