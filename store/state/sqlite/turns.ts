// Turns in SQL, by the clock of the machine that all processes of the file share.
import type { DatabaseSync } from 'node:sqlite';
import { forgottenAfterMs } from '../state-store.ts';
import { createTurns } from './ddl.ts';
import type { EndInput, TakeInput, TakeOutput } from './messages.ts';
import { transact } from './transact.ts';

/** Unix milliseconds, whole. */
const now = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

export function takeTurn(database: DatabaseSync, { name, holder, everyMs, lifeMs }: TakeInput): TakeOutput {
  return transact(database, 'IMMEDIATE', () => {
    database.exec(createTurns);
    database.exec(`DELETE FROM turn WHERE max(until_ms, ended_ms) < ${now} - ${forgottenAfterMs}`);
    const taken = database
      .prepare(
        `INSERT INTO turn VALUES (?1, ?2, ${now} + ?4, 0, '') ON CONFLICT DO UPDATE
          SET holder = excluded.holder, until_ms = excluded.until_ms
          WHERE (until_ms <= ${now} OR holder = ?2) AND ended_ms + ?3 <= ${now}`,
      )
      .run(name, holder, everyMs, lifeMs);
    const row = database.prepare('SELECT ended_ms, value FROM turn WHERE name = ?').get(name);
    return {
      isTaken: taken.changes > 0,
      endedMs: Number(row?.['ended_ms'] ?? 0),
      value: String(row?.['value'] ?? ''),
    };
  });
}

/** When it ended; null: another process holds it. */
export function endTurn(database: DatabaseSync, { name, holder, value }: EndInput): number | null {
  return transact(database, 'IMMEDIATE', () => {
    database.exec(createTurns);
    const ended = database
      .prepare(
        `UPDATE turn SET holder = '', until_ms = 0, ended_ms = ${now}, value = ?3 WHERE name = ?1 AND holder = ?2
          RETURNING ended_ms`,
      )
      .get(name, holder, value);
    return ended === undefined ? null : Number(ended['ended_ms']);
  });
}
