// Several statements that happen together or not at all.
import type { DatabaseSync } from 'node:sqlite';

/** Runs `work` between BEGIN and COMMIT; whatever is thrown takes everything back. */
export function transact<Result>(database: DatabaseSync, mode: 'DEFERRED' | 'IMMEDIATE', work: () => Result): Result {
  database.exec(`BEGIN ${mode}`);
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}
