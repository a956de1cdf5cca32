// Connections to PostgreSQL: a transaction has one of its own and a deadline, and is given up with its connection.
import { setTimeout as pause } from 'node:timers/promises';
import { Pool, type PoolClient, type QueryResult, types } from 'pg';
import type { Database, Insertion, Row, Statements } from '../sql/database.ts';
import { postgresDialect } from '../sql/dialect.ts';
import { migrate, recordsVersion, versionIn, versionOfTables } from '../sql/migrations.ts';
import { explainFailure, failure, placeOf } from './failure.ts';

export interface PostgresRecordOptions {
  readonly databaseUrl: string;
  /** Deadline of every operation. */
  readonly timeoutMs: number;
}

/** Our tables lie in a schema of their own: others may use the database too. */
const schema = 'gateway_records';
/** One of these writes, for all others wait for the same lock. */
export const mostConnections = 6;
/** The connection that holds this lock of the database writes. Any number that others are unlikely to use. */
const writeLock = 7_205_759_403;
/** Rows with more text than this go in several statements. Characters. */
const mostStatementText = 4 * 1024 * 1024;

export interface PostgresDatabase extends Database {
  close(): Promise<void>;
}

/** Deadline of the steps that bring the tables up to date: some read every record. */
const longestStepsMs = 30 * 60_000;

/** Connects when it is used. Tables are made, or brought up to date, before the first transaction, and looked at again after a failure. */
export function openPostgres({ databaseUrl, timeoutMs }: PostgresRecordOptions): PostgresDatabase {
  const place = placeOf(databaseUrl);
  const pool = poolOf(databaseUrl, timeoutMs);
  let isReady = false;
  let bringing: Promise<void> | undefined;
  let closing: Promise<void> | undefined;

  /** Runs `work` on a connection of its own, for as long as it may take. */
  async function connected<Result>(
    work: (client: PoolClient) => Promise<Result>,
    longestMs = timeoutMs,
  ): Promise<Result> {
    const client = await pool.connect();
    let isDone = false;
    try {
      const result = await within(longestMs, work(client), place);
      isDone = true;
      return result;
    } finally {
      // A transaction that was not committed ends with its connection.
      client.release(!isDone);
    }
  }

  /** Those that wait for a long step give up in time, and it goes on. */
  async function prepare(): Promise<void> {
    const before = await connected((client) => versionIn(statementsOf(client)));
    if (before === 0) await connected(bringUpToDate);
    else if (before < recordsVersion) {
      bringing ??= connected(bringUpToDate, longestStepsMs).finally(() => {
        bringing = undefined;
      });
      await within(timeoutMs, bringing, place);
    }
    isReady = true;
  }

  async function transaction<Result>(
    begin: string,
    work: (statements: Statements) => Promise<Result>,
  ): Promise<Result> {
    try {
      if (!isReady) await prepare();
      return await connected(async (client) => {
        const statements = statementsOf(client);
        await client.query(begin);
        if ((await versionOfTables(statements)) > recordsVersion) throw failure(place, 'newer_schema');
        const result = await work(statements);
        await client.query('COMMIT');
        return result;
      });
    } catch (error) {
      isReady = false;
      throw explainFailure(place, error);
    }
  }

  return {
    read: (work) => transaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work),
    write: (work) => transaction(`BEGIN; SELECT pg_advisory_xact_lock(${writeLock})`, work),
    close() {
      // A server that hangs does not say goodbye.
      closing ??= Promise.race([pool.end(), pause(timeoutMs, undefined, { ref: false })]);
      return closing;
    },
  };
}

/** Rejects when it takes longer. `place`: of the database. */
async function within<Result>(ms: number, result: Promise<Result>, place: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(failure(place, 'timeout')), ms);
  });
  return Promise.race([result, late]).finally(() => clearTimeout(timer));
}

async function bringUpToDate(client: PoolClient): Promise<void> {
  await client.query('BEGIN');
  await client.query('SELECT pg_advisory_xact_lock($1)', [writeLock]);
  const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
  if (rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
  await client.query('SET LOCAL statement_timeout = 0');
  await migrate(statementsOf(client));
  await client.query('COMMIT');
}

function poolOf(databaseUrl: string, timeoutMs: number): Pool {
  const settings = [
    `search_path = ${schema}`,
    `statement_timeout = ${timeoutMs}`,
    `lock_timeout = ${timeoutMs}`,
    // Compiling a statement takes longer than what it does here; groups of a page's threads fit into this memory.
    'jit = off',
    "work_mem = '64MB'",
  ];
  const pool = new Pool({
    connectionString: databaseUrl,
    max: mostConnections,
    connectionTimeoutMillis: timeoutMs,
    keepAlive: true,
    types: { getTypeParser: parserOf as typeof types.getTypeParser },
    async onConnect(client) {
      // A connection that breaks is given up by the statement that it breaks, or by the next one.
      client.on('error', () => undefined);
      await client.query(settings.map((setting) => `SET ${setting}`).join('; '));
    },
  });
  pool.on('error', () => undefined);
  return pool;
}

/** Sums and 64-bit numbers as numbers, all else as the driver has it. */
function parserOf(oid: Parameters<typeof types.getTypeParser>[0]): unknown {
  return oid === types.builtins.INT8 || oid === types.builtins.NUMERIC ? Number : types.getTypeParser(oid);
}

function statementsOf(client: PoolClient): Statements {
  const query = (sql: string, values: readonly unknown[]): Promise<QueryResult<Row>> =>
    client.query<Row>(numbered(sql), [...values]);
  return {
    dialect: postgresDialect,
    async all(sql, ...values) {
      const { rows } = await query(sql, values);
      return rows;
    },
    async run(sql, ...values) {
      const { rowCount } = await query(sql, values);
      return rowCount ?? 0;
    },
    async insert(into, rows) {
      const returned: Row[] = [];
      for (const portion of portionsOf(rows)) {
        const columns = Object.keys(into.columns).map((_, index) => portion.map((row) => row[index]));
        returned.push(...(await query(insertionText(into), columns)).rows);
      }
      return returned;
    },
  };
}

/** Placeholders as PostgreSQL numbers them; our SQL has no question mark besides. */
function numbered(sql: string): string {
  let count = 0;
  return sql.replaceAll('?', () => {
    count += 1;
    return `$${count}`;
  });
}

/** Each column is one value, so that a batch is one statement. */
function insertionText({ table, columns, tail = '' }: Insertion): string {
  const lists = Object.values(columns).map((type) => `?::${type}[]`);
  return `INSERT INTO ${table} (${Object.keys(columns).join(', ')}) SELECT * FROM unnest(${lists.join(', ')}) ${tail}`;
}

function portionsOf<Value>(rows: readonly (readonly Value[])[]): (readonly Value[])[][] {
  const portions: (readonly Value[])[][] = [];
  let room = 0;
  for (const row of rows) {
    const text = row.reduce((sum, value) => sum + (typeof value === 'string' ? value.length : 0), 0);
    if (portions.length === 0 || text > room) {
      portions.push([]);
      room = mostStatementText;
    }
    room -= text;
    portions.at(-1)?.push(row);
  }
  return portions;
}
