// Turns what PostgreSQL and the way to it throw into a reason and a sentence that says what to do.
import { type StoreFailure, StoreUnavailable } from '../../state/store-unavailable.ts';

/** SQLSTATE: the first that the code begins with. */
const reasons: readonly (readonly [begin: string, reason: StoreFailure])[] = [
  ['08', 'unreachable'],
  ['25006', 'read_only'],
  ['28', 'denied'],
  ['3D000', 'unreachable'],
  ['42501', 'denied'],
  ['53100', 'full'],
  ['53', 'unreachable'],
  ['55P03', 'timeout'],
  ['57014', 'timeout'],
  ['57P', 'unreachable'],
  ['58', 'unreachable'],
  ['XX', 'corrupt'],
];

const advice: Readonly<Record<StoreFailure, string>> = {
  unreachable: 'cannot be reached; check DATABASE_URL, and that the server runs and has that database',
  timeout: 'did not answer in time',
  garbled: 'gave what cannot be used',
  unreplicated: 'has too few copies of what was written',
  evicts: 'may drop what is in it by itself',
  read_only: 'cannot be written: the server is a replica, or read-only',
  full: 'has no room left; free some space on its disk',
  denied: 'refuses the user of DATABASE_URL; check its password, and that it may create a schema in the database',
  corrupt: 'is damaged; see the log of the server',
  newer_schema: 'was written by a newer version of the gateway; run that version, or use another database',
};

/** The failure as a `StoreUnavailable`; a mistake of ours, such as wrong SQL, comes back as it is. `store`: what lies there. */
export function explainFailure(place: string, error: unknown, store?: string): Error {
  if (error instanceof StoreUnavailable) return error;
  if (!(error instanceof Error)) return new Error(String(error));
  const reason = reasonOf(error);
  return reason === undefined ? error : failure(place, reason, error, store);
}

/** `place`: host and database, without user and password. */
export function failure(
  place: string,
  reason: StoreFailure,
  cause?: Error,
  store = 'the record store',
): StoreUnavailable {
  const detail = cause === undefined || cause.message === '' ? '' : ` (${cause.message})`;
  return new StoreUnavailable(reason, `${store} ${place} ${advice[reason]}${detail}`, cause);
}

/** `at host:port/name`, without user and password. */
export function placeOf(databaseUrl: string): string {
  const url = URL.parse(databaseUrl);
  return url === null
    ? 'of DATABASE_URL'
    : `at ${url.host || url.searchParams.get('host') || 'localhost'}${url.pathname}`;
}

/** Errors of the driver itself have no code: connections that end, or are not made in time. */
function reasonOf(error: Error): StoreFailure | undefined {
  const { code, syscall } = error as { code?: unknown; syscall?: unknown };
  if (typeof code === 'string' && code.length === 5 && syscall === undefined)
    return reasons.find(([begin]) => code.startsWith(begin))?.[1];
  if (code === undefined && /timeout|timed out/i.test(error.message)) return 'timeout';
  return 'unreachable';
}
