// Makes a filter into numbers: the combos and the thread that entries must have.
import { sessionsOfName } from '../../../../domain/records/session-name.ts';
import { foldUserPath } from '../../../../domain/user-path.ts';
import type { EntryFilter, Span } from '../../record-store.ts';
import { isAskedBy } from '../asked-by.ts';
import { areChanges } from '../changes.ts';
import { allOf, anyOf, type Condition, condition, contains } from '../condition.ts';
import type { Row, Statements } from '../database.ts';
import type { Dialect } from '../dialect.ts';
import { plainText } from '../plain-values.ts';

export interface Sought {
  readonly span: Span;
  /** Entries with one of these match; undefined: all entries do. */
  readonly combos: readonly number[] | undefined;
  /** How many entries have one of them, of all times. */
  readonly comboEntries: number;
  /** The session that is asked for, or those of its name; undefined: all are. */
  readonly threads: readonly number[] | undefined;
  readonly text: SoughtText | undefined;
}

/** Entries with one of these combos match when their own texts, or their session, have the text in it; `combos` undefined: all. */
export interface SoughtText {
  readonly term: string;
  readonly combos: readonly number[] | undefined;
}

/** Sessions of one name: as many user paths may have given it. */
const mostThreads = 1_000;

/** All moments that an entry may have. */
export const allTimes: Span = { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER };

const searchedColumns = ['requested_model', 'provider', 'provider_name', 'method', 'path', 'error_type'];

/** Undefined: nothing can match. */
export async function seek(statements: Statements, filter: EntryFilter): Promise<Sought | undefined> {
  const { dialect } = statements;
  const { span = allTimes, search = '', sessionId = '' } = filter;
  const threads = sessionId === '' ? undefined : await threadsOf(statements, sessionId);
  if (threads?.length === 0) return undefined;
  const conditions = comboConditions(dialect, filter);
  if (conditions.length === 0 && search === '')
    return { span, combos: undefined, comboEntries: 0, threads, text: undefined };

  const isNamed =
    search === '' ? condition('1 = 1') : anyOf(...searchedColumns.map((name) => contains(dialect, name, search)));
  const where = allOf(...conditions);
  const sql = `SELECT id, n, CASE WHEN ${isNamed.sql} THEN 1 ELSE 0 END AS named FROM combo WHERE ${where.sql}`;
  const rows = await statements.all(sql, ...isNamed.values, ...where.values);
  const [all] = await statements.all('SELECT count(*) AS n FROM combo');
  const named = rows.filter((row) => row['named'] === 1);
  const others = rows.filter((row) => row['named'] !== 1);
  const idsOf = (some: readonly Row[]): number[] | undefined =>
    some.length === Number(all?.['n']) ? undefined : some.map(({ id }) => Number(id));
  return {
    span,
    combos: idsOf(named),
    comboEntries: named.reduce((sum, { n }) => sum + Number(n), 0),
    threads,
    text: others.length === 0 ? undefined : { term: search, combos: idsOf(others) },
  };
}

async function threadsOf(statements: Statements, sessionId: string): Promise<number[]> {
  const { sql, values } = isSession('key', sessionId);
  const rows = await statements.all(`SELECT id FROM thread WHERE ${sql} LIMIT ?`, ...values, mostThreads);
  return rows.map(({ id }) => Number(id));
}

/** Whether a column has this id of a session, or one of those that clients of any user path have given this name. */
export function isSession(column: string, sessionId: string): Condition {
  const { from, to, length } = sessionsOfName(plainText(sessionId));
  return anyOf(
    condition(`${column} = ?`, plainText(sessionId)),
    condition(`${column} >= ? AND ${column} < ? AND length(${column}) = ?`, from, to, length),
  );
}

/** Whether a column has the number of a session that is asked for; undefined: all are. */
export function isThread({ isOneOf }: Dialect, column: string, threads: Sought['threads']): Condition | undefined {
  const [only, another] = threads ?? [];
  if (threads === undefined || only === undefined) return undefined;
  // Its entries are in order, those of several are not.
  return another === undefined ? condition(`${column} = ?`, only) : condition(isOneOf(column, 'BIGINT'), threads);
}

/** Of the columns of `combo`. A text that is empty asks for nothing. */
function comboConditions(dialect: Dialect, filter: EntryFilter): Condition[] {
  const { requestedModel, provider, method, path, userPath, errorType, statusCode, stream, askedBy, kind } = filter;
  const within = (column: string, text = ''): Condition | undefined =>
    text === '' ? undefined : contains(dialect, column, text);
  const isProvider = anyOf(within('provider', provider), within('provider_name', provider));
  return [
    within('requested_model', requestedModel),
    (provider ?? '') === '' ? undefined : isProvider,
    (method ?? '') === '' ? undefined : condition('method = ?', plainText(method ?? '')),
    within('path', path),
    userPath === undefined ? undefined : belowUserPath(userPath),
    within('error_type', errorType),
    statusCode === undefined ? undefined : condition('status_code = ?', statusCode),
    stream === undefined ? undefined : condition('stream = ?', stream ? 1 : 0),
    isAskedBy(askedBy),
    kind === undefined ? undefined : areChanges(kind === 'change'),
  ].filter((each) => each !== undefined);
}

/** This path and all below it, of a column of folded paths; undefined: all. */
export function belowUserPath(path: string, column: 'user_path' | 'folded_path' = 'user_path'): Condition | undefined {
  if (path === '/' || path === '') return undefined;
  const plain = plainText(foldUserPath(path));
  // The hyphen, the dot and others sort before the slash, so a range would take in other paths.
  return condition(`${column} = ? OR substr(${column}, 1, length(?) + 1) = ?`, plain, plain, `${plain}/`);
}
