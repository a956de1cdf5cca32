// The file of shared limits, and its tables: bodies as JSON, and the notices to other processes.
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { LimitNotice } from '../../../domain/limits/exchange.ts';
import { graveMs } from '../limits/book.ts';
import type { Counter } from '../limits/counter.ts';
import type { LimitGrave, LimitMeta, LimitSession, LimitTables } from '../limits/tables.ts';
import { failure } from './failure.ts';
import { SpareFile } from './spare-file.ts';
import { transact } from './transact.ts';

/** Kept in `user_version`. Raise it with every change of the tables. */
export const limitsVersion = 1;

const create = `
CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  body TEXT NOT NULL
) STRICT;

CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE grave (
  id INTEGER PRIMARY KEY,
  ends_ms INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE counter (
  number INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  ends_ms INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

CREATE TABLE notice (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  writer TEXT NOT NULL,
  kind TEXT NOT NULL,
  key TEXT NOT NULL
) STRICT;

PRAGMA user_version = ${limitsVersion};
`;

/** Counters that one sweep looks at. */
const countersAtOnce = 256;
/** A process that is behind by more notices has missed the oldest. */
const mostNotices = 4_096;

/** Where shared limits lie in the gateway's data directory. */
export function limitFilePath(directory: string): string {
  return join(directory, 'limits.sqlite');
}

/** Opened at its first use. `busyMs`: how long a statement waits for a lock of another process. */
export function limitFile(directory: string, busyMs: number): SpareFile<SqliteLimitTables> {
  const path = limitFilePath(directory);
  return new SpareFile({
    path,
    what: 'the shared limits',
    create,
    version: limitsVersion,
    prepare: (database) => new SqliteLimitTables(database, path),
    busyMs,
    synchronous: 'OFF',
  });
}

type Row = Readonly<Record<string, unknown>> | undefined;

interface StoredCounter extends Omit<Counter, 'sessions' | 'spares' | 'slices'> {
  readonly sessions: readonly (readonly [id: number, units: number])[];
  readonly spares: readonly (readonly [id: number, units: number])[];
  readonly slices: readonly (readonly [slice: number, units: number])[];
}

/** The tables on one open database. Everything but `dataVersion` belongs into a transaction. */
export class SqliteLimitTables implements LimitTables {
  readonly #database: DatabaseSync;
  readonly #path: string;
  readonly #statements = new Map<string, StatementSync>();
  /** That of the present transaction. */
  #meta: LimitMeta | undefined;
  /** Up to which counter the last sweep has come. */
  #swept = 0;

  /** `path`: for messages. */
  constructor(database: DatabaseSync, path: string) {
    this.#database = database;
    this.#path = path;
    // Foreign tables are found out at the start.
    this.#sql(
      'SELECT meta.body, session.body, grave.body, counter.body, notice.key FROM meta, session, grave, counter, notice',
    );
  }

  transact<Result>(work: () => Result): Result {
    return transact(this.#database, 'IMMEDIATE', work);
  }

  /** The clock, read while no other process writes: so it does not go back from one transaction to the next. */
  clockMs(): number {
    const found = this.#sql("SELECT CAST(round(unixepoch('subsec') * 1000) AS INTEGER) AS now_ms").get();
    return Number(found?.['now_ms']);
  }

  /** Another number than before says that another connection has written. */
  dataVersion(): number {
    return Number(this.#sql('PRAGMA data_version').get()?.['data_version']);
  }

  meta(): LimitMeta | undefined {
    this.#meta = this.#body(this.#sql('SELECT body FROM meta').get()) as LimitMeta | undefined;
    return this.#meta;
  }

  putMeta(meta: LimitMeta): void {
    const sql = 'INSERT INTO meta VALUES (1, ?) ON CONFLICT DO UPDATE SET body = excluded.body';
    this.#sql(sql).run(JSON.stringify(meta));
  }

  session(id: number): LimitSession | undefined {
    return this.#body(this.#sql('SELECT body FROM session WHERE id = ?').get(id)) as LimitSession | undefined;
  }

  putSession(id: number, session: LimitSession | undefined): void {
    if (session === undefined) this.#sql('DELETE FROM session WHERE id = ?').run(id);
    else this.#sql('INSERT OR REPLACE INTO session VALUES (?, ?)').run(id, JSON.stringify(session));
  }

  sessions(): readonly (readonly [id: number, session: LimitSession])[] {
    const rows = this.#sql('SELECT id, body FROM session ORDER BY id').all();
    return rows.map(({ id, body }) => [Number(id), this.#parse(body) as LimitSession] as const);
  }

  grave(id: number): LimitGrave | undefined {
    return this.#body(this.#sql('SELECT body FROM grave WHERE id = ?').get(id)) as LimitGrave | undefined;
  }

  putGrave(id: number, grave: LimitGrave): void {
    const nowMs = this.#nowMs();
    this.#sql('DELETE FROM grave WHERE ends_ms <= ?').run(nowMs);
    this.#sql('INSERT OR REPLACE INTO grave VALUES (?, ?, ?)').run(id, nowMs + graveMs, JSON.stringify(grave));
  }

  counter(key: string): Counter | undefined {
    const row = this.#sql('SELECT body FROM counter WHERE key = ? AND ends_ms > ?').get(key, this.#nowMs());
    const stored = this.#body(row) as StoredCounter | undefined;
    return (
      stored && {
        ...stored,
        sessions: new Map(stored.sessions),
        spares: new Map(stored.spares),
        slices: new Map(stored.slices),
      }
    );
  }

  putCounter(key: string, counter: Counter, expiresInMs: number): void {
    const stored: StoredCounter = {
      ...counter,
      sessions: [...counter.sessions],
      spares: [...counter.spares],
      slices: [...counter.slices],
    };
    const sql =
      'INSERT INTO counter (key, ends_ms, body) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET ends_ms = excluded.ends_ms, body = excluded.body';
    this.#sql(sql).run(key, this.#nowMs() + expiresInMs, JSON.stringify(stored));
  }

  /** Removes what is over of the next counters; behind the last one it begins anew. */
  sweep(): void {
    const sql = 'SELECT number, ends_ms FROM counter WHERE number > ? ORDER BY number LIMIT ?';
    const rows = this.#sql(sql).all(this.#swept, countersAtOnce);
    const nowMs = this.#nowMs();
    for (const { number, ends_ms: endsMs } of rows) {
      if (Number(endsMs) <= nowMs) this.#sql('DELETE FROM counter WHERE number = ?').run(Number(number));
    }
    this.#swept = rows.length < countersAtOnce ? 0 : Number(rows.at(-1)?.['number']);
  }

  /** Leaves a notice for other processes. `writer`: this one. */
  tell(writer: string, { kind, key }: LimitNotice): void {
    const { lastInsertRowid } = this.#sql('INSERT INTO notice (writer, kind, key) VALUES (?, ?, ?)').run(
      writer,
      kind,
      key,
    );
    this.#sql('DELETE FROM notice WHERE number <= ?').run(Number(lastInsertRowid) - mostNotices);
  }

  /** The number of the last notice; 0: there was none. */
  lastNotice(): number {
    return Number(this.#sql("SELECT seq FROM sqlite_sequence WHERE name = 'notice'").get()?.['seq'] ?? 0);
  }

  /** The notices of other processes behind the first number, up to the last one. */
  noticesBetween(first: number, last: number, writer: string): LimitNotice[] {
    const sql = 'SELECT kind, key FROM notice WHERE number > ? AND number <= ? AND writer <> ? ORDER BY number';
    const rows = this.#sql(sql).all(first, last, writer);
    return rows.map(({ kind, key }) => ({ kind: kind === 'room' ? 'room' : 'return', key: String(key) }));
  }

  #nowMs(): number {
    return this.#meta?.lastMs ?? 0;
  }

  #sql(text: string): StatementSync {
    const known = this.#statements.get(text);
    if (known !== undefined) return known;
    const prepared = this.#database.prepare(text);
    this.#statements.set(text, prepared);
    return prepared;
  }

  #body(row: Row): unknown {
    return row === undefined ? undefined : this.#parse(row['body']);
  }

  /** Throws `StoreUnavailable` for what no gateway has written. */
  #parse(body: unknown): unknown {
    try {
      return JSON.parse(String(body)) as unknown;
    } catch (error) {
      throw failure(this.#path, 'corrupt', error as Error);
    }
  }
}
