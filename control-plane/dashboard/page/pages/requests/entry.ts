// The words for an audit entry. Pure.
import type { AuditEntry } from '../../../../../domain/records/audit-entry.ts';
import { parseTime } from '../../time.ts';

export type Entry = AuditEntry;

/** The answer of /admin/audit/sessions. */
export interface SessionPage {
  readonly sessions: readonly { readonly request_count: number; readonly latest: Entry }[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

/** The answer of /admin/audit/log. */
export interface EntryPage {
  readonly entries: readonly Entry[];
  readonly total: number;
  readonly limit: number;
  readonly offset: number;
}

/** A row of the list: a request, or a conversation by its latest request. */
export interface EntryRow {
  readonly entry: Entry;
  /** Of its conversation; absent in a list of requests. */
  readonly count?: number;
}

export function toneOf({ status_code }: Entry): 'good' | 'warn' | 'bad' {
  if (status_code < 400) return 'good';
  return status_code < 500 ? 'warn' : 'bad';
}

/** `429 rate_limit_exceeded`. */
export function statusWords({ status_code, error_type, data }: Entry): string {
  const code = data.error_code ?? error_type;
  return code === undefined ? String(status_code) : `${status_code} ${code}`;
}

/** The title of an entry, in one line. */
export function titleOf({ path, requested_model }: Entry): string {
  return requested_model ?? path;
}

/** Behind the name that a client gives its session stands a digest of the user path. */
const digest = /~[0-9a-f]{16}$/;

/** The name of a session, as its client says it; the whole id where it says none. */
export function sessionName(sessionId: string): string {
  return sessionId.replace(digest, '');
}

/** The name that its client gives its session; undefined: none. */
export function nameOfSession({ session_id: id = '' }: Pick<Entry, 'session_id'>): string | undefined {
  return digest.test(id) ? sessionName(id) : undefined;
}

/** Whether an entry is of the session with this id, or of one with this name. */
export function isOfSession(entry: Entry, session: string): boolean {
  return entry.session_id === session || nameOfSession(entry) === session;
}

/** A write of an operator, or a reload of the configuration: what the API lists for `kind=change`. */
export function isChange({ path }: Pick<Entry, 'path'>): boolean {
  return path.startsWith('/admin/');
}

/** The newest first; each id once, the first one of a list wins. */
export function newestFirst(rows: readonly EntryRow[], most: number): EntryRow[] {
  const byId = new Map<string, EntryRow>();
  for (const row of rows) if (!byId.has(row.entry.id)) byId.set(row.entry.id, row);
  const startOf = ({ entry }: EntryRow): number => parseTime(entry.timestamp);
  return [...byId.values()].toSorted((a, b) => startOf(b) - startOf(a)).slice(0, most);
}
