// Turns what SQLite and the file system throw into a reason and a sentence that says what to do.
import { type StoreFailure, StoreUnavailable } from '../store-unavailable.ts';

/** Primary result codes of SQLite. */
const reasons: ReadonlyMap<number, StoreFailure> = new Map([
  [1, 'corrupt'],
  [3, 'read_only'],
  [5, 'timeout'],
  [6, 'timeout'],
  [8, 'read_only'],
  [10, 'unreachable'],
  [11, 'corrupt'],
  [13, 'full'],
  [14, 'unreachable'],
  [19, 'corrupt'],
  [20, 'corrupt'],
  [26, 'corrupt'],
]);

/** SQLITE_IOERR_WRITE: so SQLite calls every failed write but ENOSPC, an exceeded quota (EDQUOT) or file size (EFBIG) as a rule. */
const failedWrite = 778;

const systemReasons: ReadonlyMap<string, StoreFailure> = new Map([
  ['EACCES', 'read_only'],
  ['EPERM', 'read_only'],
  ['EROFS', 'read_only'],
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
]);

const advice: Readonly<Record<StoreFailure, string>> = {
  unreachable: 'cannot be opened; check that its directory exists and is a directory',
  timeout: 'was locked by another process for too long',
  garbled: 'gave what cannot be used',
  unreplicated: 'has too few copies of what was written',
  evicts: 'may drop what is in it by itself',
  read_only: 'cannot be written; let the user of the gateway write to the file and its directory',
  full: 'cannot grow; free some space on its disk, or raise its quota',
  denied: 'may not be opened',
  corrupt:
    'is damaged or not ours; stop the gateway, then put a copy in its place or move it away to start with an empty store',
  newer_schema: 'was written by a newer version of the gateway; run that version, or another GATEWAY_DATA',
};

/** The failure as a `StoreUnavailable`; anything that neither SQLite nor the file system has thrown comes back as it is. */
export function explainFailure(path: string, error: unknown, store?: string): Error {
  if (error instanceof StoreUnavailable) return error;
  if (!(error instanceof Error)) return new Error(String(error));
  const reason = reasonOf(error);
  return reason === undefined ? error : failure(path, reason, error, store);
}

/** `path` and what to do about it. `store`: what lies there. */
export function failure(
  path: string,
  reason: StoreFailure,
  cause?: Error,
  store = 'the state store',
): StoreUnavailable {
  const detail = cause === undefined ? '' : ` (${cause.message})`;
  return new StoreUnavailable(reason, `${store} ${path} ${advice[reason]}${detail}`, cause);
}

function reasonOf(error: Error): StoreFailure | undefined {
  const { errcode, code, syscall } = error as { errcode?: unknown; code?: unknown; syscall?: unknown };
  if (errcode === failedWrite) return 'full';
  if (typeof errcode === 'number') return reasons.get(errcode & 0xff) ?? 'unreachable';
  if (typeof code === 'string' && typeof syscall === 'string') return systemReasons.get(code) ?? 'unreachable';
  return undefined;
}
