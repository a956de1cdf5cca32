// The operations on kept items in SQL; every method is one transaction on an open database.
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type KeptKey, keptOverheadBytes } from '../kept-items.ts';
import type { KeyInput, PutInput, SweepInput } from './kept-messages.ts';
import { transact } from './transact.ts';

/** Kept in `user_version`. Raise it with every change of the tables. */
export const keptVersion = 1;

/** `item.number` is the order of the puts. Triggers keep the sums right at every write. The bytes stand last, so that nothing else reads them. */
export const createKept = `
CREATE TABLE item (
  number INTEGER PRIMARY KEY,
  owner TEXT NOT NULL,
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  size INTEGER NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  bytes BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX item_key ON item (owner, kind, id);
CREATE INDEX item_order ON item (owner);
CREATE INDEX item_owner_expiry ON item (owner, expires_at_ms);
CREATE INDEX item_expiry ON item (expires_at_ms);

CREATE TABLE owner_size (
  owner TEXT PRIMARY KEY,
  size INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE total_size (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  size INTEGER NOT NULL
) STRICT;
INSERT INTO total_size VALUES (1, 0);

CREATE TRIGGER item_put AFTER INSERT ON item BEGIN
  INSERT INTO owner_size VALUES (NEW.owner, NEW.size) ON CONFLICT DO UPDATE SET size = size + excluded.size;
  UPDATE total_size SET size = size + NEW.size;
END;
CREATE TRIGGER item_gone AFTER DELETE ON item BEGIN
  UPDATE owner_size SET size = size - OLD.size WHERE owner = OLD.owner;
  DELETE FROM owner_size WHERE owner = OLD.owner AND size <= 0;
  UPDATE total_size SET size = size - OLD.size;
END;

PRAGMA user_version = ${keptVersion};
`;

/** Of expired items removed at once: so many, or as soon as they have so many bytes. Longer would keep others waiting. */
const [portionItems, portionBytes] = [64, 16 * 1024 * 1024];

const removeNumber = 'DELETE FROM item WHERE number = ?';

export interface FoundItem {
  readonly bytes: Uint8Array | undefined;
}

/** The operations on one open database; statements are prepared at once, so that foreign tables are found out at the start. */
export class KeptTables {
  readonly #database: DatabaseSync;
  readonly #add: StatementSync;
  readonly #find: StatementSync;
  readonly #removeKey: StatementSync;
  readonly #removeNumber: StatementSync;
  readonly #expired: StatementSync;
  readonly #ofOwner: Sums;
  readonly #ofAll: Sums;

  constructor(database: DatabaseSync) {
    const prepare = (text: string): StatementSync => database.prepare(text);
    this.#database = database;
    this.#add = prepare(
      'INSERT INTO item (owner, kind, id, size, expires_at_ms, bytes) VALUES (:owner, :kind, :id, :size, :end, :bytes)',
    );
    this.#find = prepare(
      'SELECT bytes FROM item WHERE owner = :owner AND kind = :kind AND id = :id AND expires_at_ms > :now',
    );
    this.#removeKey = prepare(
      'DELETE FROM item WHERE owner = :owner AND kind = :kind AND id = :id RETURNING expires_at_ms',
    );
    this.#removeNumber = prepare(removeNumber);
    this.#expired = prepare(`SELECT number, size FROM item WHERE expires_at_ms <= :now LIMIT ${portionItems}`);
    this.#ofOwner = {
      size: prepare('SELECT size FROM owner_size WHERE owner = ?'),
      ended: prepare('SELECT number FROM item WHERE owner = ? AND expires_at_ms <= ? LIMIT 1'),
      oldest: prepare('SELECT number FROM item WHERE owner = ? ORDER BY number LIMIT 1'),
    };
    // One that begins with a parameter as those of an owner do, so that both are asked in the same way.
    this.#ofAll = {
      size: prepare('SELECT size FROM total_size WHERE ? IS NOT NULL'),
      ended: prepare('SELECT number FROM item WHERE ? IS NOT NULL AND expires_at_ms <= ? LIMIT 1'),
      oldest: prepare('SELECT number FROM item WHERE ? IS NOT NULL ORDER BY number LIMIT 1'),
    };
  }

  put({ key, expiresAtMs, limits, nowMs }: PutInput, bytes: Uint8Array): void {
    const size = bytes.length + keptOverheadBytes;
    transact(this.#database, 'IMMEDIATE', () => {
      this.#removePortion(nowMs);
      this.#removeKey.get(named(key));
      this.#makeRoom(this.#ofOwner, key.owner, { most: limits.owner - size, nowMs });
      this.#makeRoom(this.#ofAll, key.owner, { most: limits.all - size, nowMs });
      this.#add.run({ ...named(key), size, end: expiresAtMs, bytes });
    });
  }

  get({ key, nowMs }: KeyInput): FoundItem {
    const bytes = this.#find.get({ ...named(key), now: nowMs })?.['bytes'];
    return { bytes: bytes instanceof Uint8Array ? bytes : undefined };
  }

  remove({ key, nowMs }: KeyInput): boolean {
    return transact(this.#database, 'IMMEDIATE', () => {
      const end = this.#removeKey.get(named(key))?.['expires_at_ms'];
      return Number(end ?? 0) > nowMs;
    });
  }

  /** Removes a portion of what has expired; true when more may be left. */
  sweep({ nowMs }: SweepInput): boolean {
    return transact(this.#database, 'IMMEDIATE', () => this.#removePortion(nowMs));
  }

  #removePortion(nowMs: number): boolean {
    let bytes = 0;
    let items = 0;
    for (const { number, size } of this.#expired.all({ now: nowMs })) {
      if (bytes >= portionBytes) return true;
      this.#removeNumber.run(number ?? null);
      bytes += Number(size);
      items += 1;
    }
    return items === portionItems;
  }

  /** Removes what has expired, then the oldest, until no more than `most` bytes are left. */
  #makeRoom(
    { size, ended, oldest }: Sums,
    owner: string,
    { most, nowMs }: { readonly most: number; readonly nowMs: number },
  ): void {
    while (Number(size.get(owner)?.['size'] ?? 0) > most) {
      const next = ended.get(owner, nowMs) ?? oldest.get(owner);
      if (next === undefined) return;
      this.#removeNumber.run(next['number'] ?? null);
    }
  }
}

/** The items of an owner, or all of them, asked with an owner. */
interface Sums {
  readonly size: StatementSync;
  readonly ended: StatementSync;
  readonly oldest: StatementSync;
}

function named({ kind, id, owner }: KeptKey): { kind: string; id: string; owner: string } {
  return { kind, id, owner };
}
