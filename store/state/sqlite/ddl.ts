// The tables of the embedded state store, and who writes each.

/** Made with the first use that is written: files of older versions have none, and those versions pass it over. By every process. */
export const createUses = `
CREATE TABLE IF NOT EXISTS document_use (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  hour INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT, WITHOUT ROWID;
`;

/** Made with the first turn that is taken. By every process that shares the file. Times: Unix milliseconds; `until_ms`, `ended_ms` 0: never. */
export const createTurns = `
CREATE TABLE IF NOT EXISTS turn (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until_ms INTEGER NOT NULL,
  ended_ms INTEGER NOT NULL,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
`;

/**
 * Made with the first commit of a version that remembers changes. By the control plane. `change_name`: the documents that the change of that
 * mark wrote or deleted; a version that does not name them leaves rows of other marks behind.
 */
export const createPast = `
CREATE TABLE IF NOT EXISTS past_change (
  revision INTEGER PRIMARY KEY,
  marks TEXT NOT NULL,
  deleted TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS change_name (
  revision INTEGER PRIMARY KEY,
  mark TEXT NOT NULL,
  names TEXT NOT NULL
) STRICT;
`;

/** Kept in `user_version`. Raise it with every change of the tables. */
export const tablesVersion = 1;

/**
 * `store`: one row, by the process that creates the file. `kind`, `document`: the control plane. `counter`, `counter_write`: each proxy its
 * own instance. `heartbeat`: each process its own instance.
 */
export const createTables = `
CREATE TABLE store (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  store_id TEXT,
  revision INTEGER NOT NULL
) STRICT;

CREATE TABLE kind (
  kind TEXT PRIMARY KEY,
  revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE document (
  kind TEXT NOT NULL,
  id TEXT NOT NULL,
  body TEXT NOT NULL,
  revision INTEGER NOT NULL,
  PRIMARY KEY (kind, id)
) STRICT;

CREATE TABLE counter (
  instance TEXT NOT NULL,
  rule_key TEXT NOT NULL,
  child TEXT NOT NULL,
  counts TEXT NOT NULL,
  expires_at_ms INTEGER NOT NULL,
  PRIMARY KEY (instance, rule_key, child)
) STRICT;
CREATE INDEX counter_expiry ON counter (expires_at_ms);

CREATE TABLE counter_write (
  instance TEXT PRIMARY KEY,
  sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE heartbeat (
  instance TEXT PRIMARY KEY,
  at_ms INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT;

PRAGMA user_version = ${tablesVersion};
`;
