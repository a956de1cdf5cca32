// The semantic cache in PostgreSQL, for all proxies: a table that the extension pgvector compares within a partition.
import { setTimeout as pause } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { explainFailure, placeOf } from '../../records/postgres/failure.ts';
import { StoreUnavailable } from '../../state/store-unavailable.ts';
import {
  type Neighbour,
  type NeighbourStatus,
  type Neighbours,
  type PlacedAnswer,
  Puts,
  similarityOf,
  type VectorPlace,
} from './neighbours.ts';

export interface PostgresNeighbourOptions {
  readonly databaseUrl: string;
  readonly mostEntries: number;
  /** Deadline of a question. */
  readonly timeoutMs: number;
}

/** Our table lies in a schema of its own: others may use the database too. */
const schema = 'gateway_cache';
const table = `${schema}.placed`;
const store = 'the semantic cache';
const mostConnections = 4;
/** The connection that holds this lock of the database makes the table. Any number that others are unlikely to use. */
const makingLock = 7_205_759_404;

const tables = (extension: string): string => `
CREATE TABLE IF NOT EXISTS ${table} (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  part TEXT NOT NULL,
  key TEXT NOT NULL,
  expires_at_ms BIGINT NOT NULL,
  vector ${extension}.vector NOT NULL,
  UNIQUE (part, key)
);
CREATE INDEX IF NOT EXISTS placed_end ON ${table} (expires_at_ms);
`;

/** Connects when it is used. The extension, the schema and the table are made where they are not there. */
export function openPostgresNeighbours(options: PostgresNeighbourOptions): Neighbours {
  return new PostgresNeighbours(options);
}

class PostgresNeighbours implements Neighbours {
  readonly isShared = true;
  readonly #place: string;
  readonly #options: PostgresNeighbourOptions;
  #pool: Promise<Pool> | undefined;
  #isClosed = false;
  /** The schema of the extension, quoted, once the table is there. */
  #extension: Promise<string> | undefined;
  #most: number;
  readonly #puts = new Puts();
  /** Until it is looked again whether there are too many. */
  #untilTrim = 0;
  #entries = 0;

  constructor(options: PostgresNeighbourOptions) {
    this.#options = options;
    this.#place = placeOf(options.databaseUrl);
    this.#most = options.mostEntries;
  }

  async ready(): Promise<void> {
    await this.#prepared();
  }

  async nearest({ partition, vector }: VectorPlace, nowMs: number): Promise<Neighbour | undefined> {
    const extension = await this.#prepared();
    const sql = `SELECT key, vector OPERATOR(${extension}.<=>) $1::${extension}.vector AS distance FROM ${table}
      WHERE part = $2 AND expires_at_ms > $3 ORDER BY distance LIMIT 1`;
    const [found] = await this.#ask<{ key: string; distance: number }>(sql, [
      vectorLiteral(vector),
      partition,
      Math.floor(nowMs),
    ]);
    return found && { key: found.key, similarity: similarityOf(found.distance) };
  }

  put(placed: PlacedAnswer, nowMs: number): void {
    this.#puts.start(() => this.#write(placed, nowMs));
  }

  forget(partition: string, key: string): void {
    this.#ask(`DELETE FROM ${table} WHERE part = $1 AND key = $2`, [partition, key]).catch(() => undefined);
  }

  resize(mostEntries: number): void {
    this.#most = mostEntries;
    this.#untilTrim = 0;
  }

  status(): NeighbourStatus {
    return { entries: this.#entries, dropped: this.#puts.dropped };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const pool = await this.#pool;
    // A server that hangs does not say goodbye.
    await Promise.race([pool?.end(), pause(this.#options.timeoutMs, undefined, { ref: false })]);
  }

  async #write({ partition, vector, key, expiresAtMs }: PlacedAnswer, nowMs: number): Promise<void> {
    const extension = await this.#prepared();
    const sql = `INSERT INTO ${table} (part, key, expires_at_ms, vector) VALUES ($1, $2, $3, $4::${extension}.vector)
      ON CONFLICT (part, key) DO UPDATE SET expires_at_ms = excluded.expires_at_ms, vector = excluded.vector`;
    await this.#ask(sql, [partition, key, Math.floor(expiresAtMs), vectorLiteral(vector)]);
    this.#untilTrim -= 1;
    if (this.#untilTrim > 0) return;
    // Finding those that are too many goes through all of them: once for each hundredth.
    this.#untilTrim = Math.floor(this.#most / 100);
    await this.#trim(Math.floor(nowMs));
  }

  async #trim(nowMs: number): Promise<void> {
    await this.#ask(
      `DELETE FROM ${table} WHERE expires_at_ms <= $1
         OR id IN (SELECT id FROM ${table} ORDER BY expires_at_ms DESC, id DESC OFFSET $2)`,
      [nowMs, this.#most],
    );
    const [counted] = await this.#ask<{ entries: string }>(`SELECT count(*) AS entries FROM ${table}`, []);
    this.#entries = Number(counted?.entries ?? 0);
  }

  async #ask<Row extends object>(sql: string, values: unknown[]): Promise<Row[]> {
    try {
      const pool = await this.#connected();
      return (await pool.query<Row>(sql, values)).rows;
    } catch (error) {
      // The table may have been dropped.
      this.#extension = undefined;
      throw explainFailure(this.#place, error, store);
    }
  }

  #connected(): Promise<Pool> {
    if (this.#isClosed) return Promise.reject(new StoreUnavailable('unreachable', `${store} is closed`));
    this.#pool ??= openPool(this.#options);
    return this.#pool;
  }

  #prepared(): Promise<string> {
    this.#extension ??= this.#prepare().catch((error: unknown) => {
      this.#extension = undefined;
      throw explainFailure(this.#place, error, store);
    });
    return this.#extension;
  }

  async #prepare(): Promise<string> {
    const pool = await this.#connected();
    const client = await pool.connect();
    let isDone = false;
    try {
      await client.query('BEGIN');
      await client.query('SELECT pg_advisory_xact_lock($1)', [makingLock]);
      const extension = await this.#extensionOf(client);
      const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema]);
      if (rowCount === 0) await client.query(`CREATE SCHEMA ${schema}`);
      const { rows } = await client.query<{ name: string | null }>('SELECT to_regclass($1) AS name', [table]);
      if (rows[0]?.name === null) await client.query(tables(extension));
      await client.query('COMMIT');
      isDone = true;
      return extension;
    } finally {
      client.release(!isDone);
    }
  }

  /** The schema that the extension lies in. */
  async #extensionOf(client: PoolClient): Promise<string> {
    const where = `SELECT quote_ident(nspname) AS name FROM pg_extension JOIN pg_namespace ON pg_namespace.oid = extnamespace
      WHERE extname = 'vector'`;
    const found = await client.query<{ name: string }>(where);
    if (found.rows[0] !== undefined) return found.rows[0].name;
    try {
      await client.query('CREATE EXTENSION vector');
    } catch (error) {
      throw withoutExtension(this.#place, error);
    }
    const [made] = (await client.query<{ name: string }>(where)).rows;
    return made?.name ?? 'public';
  }
}

/** The driver is loaded by those who use it. */
async function openPool({ databaseUrl, timeoutMs }: PostgresNeighbourOptions): Promise<Pool> {
  const { default: driver } = await import('pg');
  const pool = new driver.Pool({
    connectionString: databaseUrl,
    max: mostConnections,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    async onConnect(client) {
      // A connection that breaks is given up by the statement that it breaks, or by the next one.
      client.on('error', () => undefined);
      await client.query(`SET statement_timeout = ${timeoutMs}; SET lock_timeout = ${timeoutMs}; SET jit = off`);
    },
  });
  pool.on('error', () => undefined);
  return pool;
}

/** The server does not have it, or the user may not create it; any other failure comes back as it is. */
function withoutExtension(place: string, error: unknown): unknown {
  const { code, message } = error as { code?: unknown; message?: unknown };
  if (typeof code !== 'string' || !/^(0A000|58P01|42501)$/.test(code)) return error;
  const advice = 'install it on the server and run CREATE EXTENSION vector as a user who may';
  return new StoreUnavailable(
    'denied',
    `${store} ${place} needs the extension pgvector; ${advice} (${String(message)})`,
    error,
  );
}

function vectorLiteral(vector: VectorPlace['vector']): string {
  return `[${vector.join(',')}]`;
}
