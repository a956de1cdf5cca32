// Shared limits as a proxy reaches them in the state store. Two engines keep this contract: the script of Redis, and `book.ts` on a file.
import type {
  AttachAnswer,
  AttachMessage,
  DetachMessage,
  ExchangeAnswer,
  ExchangeMessage,
  LimitNotice,
  LimitView,
} from '../../../domain/limits/exchange.ts';

/**
 * One connection to the store. A call rejects with `StoreUnavailable` when the connection ends before its answer; it has no deadline of its own,
 * but a connection that is silent for `patienceMs` while something is asked is cut.
 */
export interface LimitLine {
  /** Which run of the server answers; empty where the engine cannot say it. */
  readonly server: string;
  attach(message: AttachMessage): Promise<AttachAnswer>;
  exchange(message: ExchangeMessage): Promise<ExchangeAnswer>;
  detach(message: DetachMessage): Promise<void>;
}

export interface LimitListener {
  /** A connection is there: attach. Notices of other proxies are heard from here on. */
  ready(line: LimitLine): void;
  /** It ended, or none could be made; another one is tried. Called once for each end, and once for each new reason. */
  lost(error: Error): void;
  told(notice: LimitNotice): void;
}

export interface LimitStore {
  /** Connects, and again whenever the connection ends, until `close`. Called once. */
  connect(listener: LimitListener): void;
  /** The present state of counters, in the order of `keys` (`counterKey`). Rejects with `StoreUnavailable` at its deadline. */
  look(keys: readonly string[]): Promise<LimitView[]>;
  close(): Promise<void>;
}

export interface LimitOptions {
  /** Whole milliseconds since 1970, instead of the clock of the engine: for tests that move it. */
  readonly limitClockMs?: (() => number) | undefined;
}

/** A connection whose answers stay out for so long is cut, in milliseconds. */
export const patienceMs = 2_000;
