// A database of records as the SQL of this room sees it. Two drivers keep this contract: SQLite in a thread, a pool of connections to PostgreSQL.
import type { ColumnType, Dialect } from './dialect.ts';

/** A list is one value, see `isOneOf` of `Dialect`. */
export type Value = string | number | null | readonly number[] | readonly string[];
export type Row = Readonly<Record<string, unknown>>;

/** Rows for one table, in the order of `columns`. */
export interface Insertion {
  readonly table: string;
  readonly columns: Readonly<Record<string, ColumnType>>;
  /** The SQL behind the rows: ON CONFLICT, RETURNING. */
  readonly tail?: string;
}

/** The statements of one transaction. Placeholders are `?`; numbers come back as numbers. */
export interface Statements {
  readonly dialect: Dialect;
  all(sql: string, ...values: Value[]): Promise<Row[]>;
  /** Gives how many rows it has changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
  /** Gives the output of RETURNING, of all rows. */
  insert(into: Insertion, rows: readonly (readonly (string | number | null)[])[]): Promise<Row[]>;
}

/** Both operations reject with `StoreUnavailable`; what `work` throws takes everything back. */
export interface Database {
  /** All statements of it see the same moment. */
  read<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result>;
  /** One at a time, of all processes. `makesRoom`: it removes more than it adds, so it may go a little beyond the most room. */
  write<Result>(work: (statements: Statements) => Promise<Result>, makesRoom: boolean): Promise<Result>;
}
