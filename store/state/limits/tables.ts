// What the store keeps of shared limits: facts of all counters, sessions, graves and counters. An engine reads and writes them.
import type { Counter } from './counter.ts';

/** What is known of all counters together. */
export interface LimitMeta {
  /** The newest version of the messages that a proxy has spoken. */
  version: number;
  /** Drawn when the store was empty: another one says that all was lost. */
  readonly generation: string;
  /** Added to the clock, which never seems to go back. */
  offsetMs: number;
  /** The last moment that was told. */
  lastMs: number;
  /** Time in which the store was in use: it ages sessions, so that an outage buries none. */
  runningMs: number;
  nextSession: number;
  /** Raised with each burial. */
  graves: number;
  live: number;
  /** The run of the server of the last attach. */
  server: string;
  /** While it recovers: until when at most, in running time; 0: it does not. */
  recoveringUntilMs: number;
  /** While it recovers: for how many sessions it waits, and how many of them have told. */
  awaited: number;
  told: number;
}

/** One run of one proxy. */
export interface LimitSession {
  readonly instance: string;
  readonly boot: string;
  connection: number;
  sequence: number;
  /** Its last message: in running time, and on the clock. */
  seenMs: number;
  contactMs: number;
  /** It has told since the store began to recover. */
  hasTold: boolean;
}

/** A session that is over: what it held counts as used at `usedMs`. */
export interface LimitGrave {
  readonly usedMs: number;
  readonly sequence: number;
  readonly instance: string;
  readonly boot: string;
}

/** Where it is kept. Objects that are read are changed in place and put back. */
export interface LimitTables {
  meta(): LimitMeta | undefined;
  putMeta(meta: LimitMeta): void;
  session(id: number): LimitSession | undefined;
  putSession(id: number, session: LimitSession | undefined): void;
  /** As they stand now, whatever is put later. */
  sessions(): readonly (readonly [id: number, session: LimitSession])[];
  grave(id: number): LimitGrave | undefined;
  /** It may be forgotten `graveMs` later. */
  putGrave(id: number, grave: LimitGrave): void;
  counter(key: string): Counter | undefined;
  /** It may be forgotten after `expiresInMs`. */
  putCounter(key: string, counter: Counter, expiresInMs: number): void;
}

/**
 * The last moment at which a session that is over can have used what it held; undefined: it is not over. A counter may outlast the grave:
 * then its units count from now on, because it is not known when they were used.
 */
export function lastUseMs(tables: LimitTables, id: number, nowMs: number): number | undefined {
  return tables.grave(id)?.usedMs ?? (tables.session(id) === undefined ? nowMs : undefined);
}
