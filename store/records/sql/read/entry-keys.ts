// The keys of a page, before its entries are read: which entries they are, in their order.
import { recordTimeOf } from '../../record-id.ts';
import type { Page } from '../../record-store.ts';
import { type Condition, condition } from '../condition.ts';
import type { Row, Statements } from '../database.ts';

/** `uid` is the entry's id, as it is shown. */
export interface EntryKey {
  readonly uid: string;
  readonly startedMs: number;
  /** Its own number, negative, when it has no session. */
  readonly thread: number;
}

/** A place in the order of entries. */
export type EntryPosition = Omit<EntryKey, 'thread'>;

/** A page, with what it is behind. */
export interface PlacedPage extends Page {
  readonly after: EntryPosition | undefined;
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
export function newestFirst(a: EntryPosition, b: EntryPosition): number {
  if (a.startedMs !== b.startedMs) return b.startedMs - a.startedMs;
  if (a.uid === b.uid) return 0;
  return a.uid < b.uid ? 1 : -1;
}

/** The order of `newestFirst` in SQL. */
export const byNewest = 'ORDER BY started_ms DESC, uid DESC';

/** Behind an entry in that order; `names`: the columns of the moment and of the id. Undefined: behind none. */
export function behind(
  after: EntryPosition | undefined,
  [ms, uid]: readonly [ms: string, uid: string] = ['started_ms', 'uid'],
): Condition | undefined {
  if (after === undefined) return undefined;
  // An index of the moment alone serves the first part.
  return condition(`${ms} <= ? AND (${ms}, ${uid}) < (?, ?)`, after.startedMs, after.startedMs, after.uid);
}

/** Where an entry stands in that order; of one that is gone, where its id says that it stood. */
export async function placeOf(statements: Statements, uid: string): Promise<EntryPosition> {
  const [row] = await statements.all('SELECT started_ms FROM entry WHERE uid = ?', uid);
  return { uid, startedMs: row === undefined ? recordTimeOf(uid) : Number(row['started_ms']) };
}
