// The numbered steps that bring a database of records from nothing, or from an older version, to this one.
import { askedByColumns } from './asked-by.ts';
import type { Statements } from './database.ts';
import type { Dialect } from './dialect.ts';
import { mirrorTables } from './mirror-tables.ts';
import { paceTables, recordTables, searchTables } from './record-tables.ts';
import { revisionTables } from './revision-tables.ts';
import { countedRequests, foldPaths, keyTables, minuteTables, usageTables } from './usage-tables.ts';

/** Step 1 stands first. A step that was released is never changed: what changes is a step more. */
const steps: readonly ((dialect: Dialect) => readonly string[])[] = [
  (dialect) => [...recordTables(dialect), ...usageTables(dialect)],
  searchTables,
  keyTables,
  countedRequests,
  foldPaths,
  askedByColumns,
  (dialect) => [...paceTables(dialect), ...minuteTables(dialect)],
  mirrorTables,
  revisionTables,
];

export const recordsVersion = steps.length;

/** The version of the tables; 0: there are none. */
export async function versionIn(statements: Statements): Promise<number> {
  const { catalogue } = statements.dialect;
  const [table] = await statements.all(`SELECT 1 AS found FROM ${catalogue} = 'record_version'`);
  return table === undefined ? 0 : versionOfTables(statements);
}

/** Reads the version of a database that has tables. */
export async function versionOfTables(statements: Statements): Promise<number> {
  const [row] = await statements.all('SELECT version FROM record_version');
  return Number(row?.['version'] ?? 0);
}

/**
 * Applies the steps that are missing, in the transaction of the caller, who lets one process do so at a time. Gives the version that the
 * database had; higher than `recordsVersion`: nothing was done, a newer gateway keeps its records there.
 */
export async function migrate(statements: Statements): Promise<number> {
  const before = await versionIn(statements);
  if (before >= recordsVersion) return before;
  if (before === 0) await statements.run('CREATE TABLE record_version (version BIGINT NOT NULL)');
  for (const step of steps.slice(before)) for (const sql of step(statements.dialect)) await statements.run(sql);
  await statements.run('DELETE FROM record_version');
  await statements.run('INSERT INTO record_version VALUES (?)', recordsVersion);
  return before;
}
