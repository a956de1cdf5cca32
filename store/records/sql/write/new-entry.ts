// A row of one batch before it is written: an entry with its number, its thread and its combo.
import type { AuditData, RequestRecord } from '../../../../domain/records/request-record.ts';

/** A record of which an audit entry is made. */
export type AuditedRecord = RequestRecord & { readonly data: AuditData };

export interface NewEntry {
  readonly id: number;
  readonly uid: string;
  readonly startedMs: number;
  readonly durationNs: number;
  /** Its own number, negative, when it has no session. */
  readonly thread: number;
  readonly combo: number;
  readonly record: AuditedRecord;
}

export function isAudited(record: RequestRecord): record is AuditedRecord {
  return record.data !== undefined;
}

/** How many, and which are the first and the last of them. */
export interface Extent {
  n: number;
  firstMs: number;
  lastMs: number;
  lastUid: string;
}

/** Adds one to the extent under this key. */
export function extend<Key>(extents: Map<Key, Extent>, key: Key, startedMs: number, uid: string): void {
  const known = extents.get(key);
  if (known === undefined) {
    extents.set(key, { n: 1, firstMs: startedMs, lastMs: startedMs, lastUid: uid });
    return;
  }
  known.n += 1;
  known.firstMs = Math.min(known.firstMs, startedMs);
  if (startedMs < known.lastMs || (startedMs === known.lastMs && uid < known.lastUid)) return;
  known.lastMs = startedMs;
  known.lastUid = uid;
}

/** The end of an upsert of an extent into a table that has its columns. Entries may come in after newer ones. */
export function mergeExtent(table: string): string {
  const isLater = `(excluded.last_ms, excluded.last_uid) > (${table}.last_ms, ${table}.last_uid)`;
  return `DO UPDATE SET n = ${table}.n + excluded.n,
    first_ms = CASE WHEN excluded.first_ms < ${table}.first_ms THEN excluded.first_ms ELSE ${table}.first_ms END,
    last_ms = CASE WHEN ${isLater} THEN excluded.last_ms ELSE ${table}.last_ms END,
    last_uid = CASE WHEN ${isLater} THEN excluded.last_uid ELSE ${table}.last_uid END`;
}
