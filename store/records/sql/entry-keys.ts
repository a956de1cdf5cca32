// What a page is made of before its entries are read: which they are, in their order.
import type { Row } from './database.ts';

/** `uid` is the entry's id, as it is shown. */
export interface EntryKey {
  readonly uid: string;
  readonly startedMs: number;
  /** Its own number, negative, when it has no session. */
  readonly thread: number;
}

/** Of rows with `uid`, `started_ms` and `thread`. */
export function keysOf(rows: readonly Row[]): EntryKey[] {
  return rows.map((row) => ({
    uid: String(row['uid']),
    startedMs: Number(row['started_ms']),
    thread: Number(row['thread']),
  }));
}

/** The newest first; of one moment the highest id first. */
export function newestFirst(a: EntryKey, b: EntryKey): number {
  if (a.startedMs !== b.startedMs) return b.startedMs - a.startedMs;
  if (a.uid === b.uid) return 0;
  return a.uid < b.uid ? 1 : -1;
}

/** The same order in SQL. */
export const byNewest = 'ORDER BY started_ms DESC, uid DESC';
