// The vectors of the embedded semantic cache: a table in memory, compared one by one within a partition by the extension sqlite-vec.
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { getLoadablePath } from 'sqlite-vec';
import { type Neighbour, type PlacedAnswer, similarityOf, type VectorPlace } from './neighbours.ts';

/** Vectors that one put drops at most for each of two reasons. */
const portion = 100;

const createTable = `
CREATE TABLE placed (
  id INTEGER PRIMARY KEY,
  part TEXT NOT NULL,
  key TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX placed_key ON placed (part, key);
CREATE INDEX placed_end ON placed (expires_at_ms);
`;

export class VectorTable {
  readonly #database: DatabaseSync;
  readonly #nearest: StatementSync;
  readonly #put: StatementSync;
  readonly #forget: StatementSync;
  readonly #expire: StatementSync;
  readonly #oldest: StatementSync;
  #entries = 0;

  /** Throws where the extension cannot be loaded. */
  constructor() {
    const database = new DatabaseSync(':memory:', { allowExtension: true });
    database.loadExtension(getLoadablePath());
    database.enableLoadExtension(false);
    database.exec(createTable);
    this.#database = database;
    this.#nearest = database.prepare(
      `SELECT key, vec_distance_cosine(vector, ?) AS distance FROM placed
       WHERE part = ? AND expires_at_ms > ? ORDER BY distance LIMIT 1`,
    );
    this.#put = database.prepare('INSERT INTO placed (part, key, expires_at_ms, vector) VALUES (?, ?, ?, ?)');
    this.#forget = database.prepare('DELETE FROM placed WHERE part = ? AND key = ?');
    this.#expire = database.prepare(
      'DELETE FROM placed WHERE id IN (SELECT id FROM placed WHERE expires_at_ms <= ? LIMIT ?)',
    );
    this.#oldest = database.prepare(
      'DELETE FROM placed WHERE id IN (SELECT id FROM placed ORDER BY expires_at_ms, id LIMIT ?)',
    );
  }

  get entries(): number {
    return this.#entries;
  }

  nearest({ partition, vector }: VectorPlace, nowMs: number): Neighbour | undefined {
    const found = this.#nearest.get(bytesOf(vector), partition, nowMs);
    if (found === undefined || typeof found['distance'] !== 'number') return undefined;
    return { key: String(found['key']), similarity: similarityOf(found['distance']) };
  }

  put({ partition, vector, key, expiresAtMs }: PlacedAnswer, mostEntries: number, nowMs: number): void {
    this.forget(partition, key);
    this.#entries -= Number(this.#expire.run(nowMs, portion).changes);
    this.#put.run(partition, key, expiresAtMs, bytesOf(vector));
    this.#entries += 1;
    const tooMany = Math.min(portion, this.#entries - mostEntries);
    if (tooMany > 0) this.#entries -= Number(this.#oldest.run(tooMany).changes);
  }

  forget(partition: string, key: string): void {
    this.#entries -= Number(this.#forget.run(partition, key).changes);
  }

  close(): void {
    this.#database.close();
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array<ArrayBuffer>): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
