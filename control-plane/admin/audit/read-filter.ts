// Reads the filters of audit entries (spec: Audit sessions).
import type { IncomingHttpHeaders } from 'node:http';
import { type Days, spanOf } from '../../../domain/records/buckets.ts';
import { askedBy } from '../../../domain/records/request-record.ts';
import { isRecordId } from '../../../store/records/record-id.ts';
import { type EntryFilter, entryKinds, type SessionPage } from '../../../store/records/record-store.ts';
import type { Operator } from '../../authenticate.ts';
import { invalidQuery } from '../../managed/read-query.ts';
import { readForm } from '../records/form.ts';
import { type DayName, dayNames, readDays } from '../records/read-days.ts';
import {
  type Given,
  type Page,
  readChoice,
  readFilled,
  readPage,
  readUserPath,
  readWhole,
} from '../records/read-query.ts';

const names = [
  ...dayNames,
  'requested_model',
  'model',
  'provider',
  'method',
  'path',
  'user_path',
  'error_type',
  'status_code',
  'stream',
  'asked_by',
  'kind',
  'search',
  'session_id',
  'limit',
  'offset',
] as const;

/** Spec, Other constants. */
const usualLimit = 25;

/** A request for entries: its query, headers and operator. */
export interface Asking {
  readonly query: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly operator: Operator;
}

export interface EntryQuestion {
  readonly days: Days;
  readonly form: 'json' | 'csv';
  /** Undefined: the operator may see none of the user paths that are asked for. */
  readonly filter: EntryFilter | undefined;
  readonly page: Page;
}

export interface SessionQuestion {
  readonly filter: EntryFilter | undefined;
  readonly page: SessionPage;
}

/** Throws 400 `invalid_query` and `invalid_header`. `nowMs`: Unix milliseconds. */
export function readEntryQuestion(asking: Asking, nowMs: number): EntryQuestion {
  const { format, ...given } = readFilled(asking.query, [...names, 'format']);
  return { ...questionOf(given, asking, nowMs), form: readForm(format, asking.headers.accept) };
}

/**
 * Reads a request for sessions, whose pages may also begin behind a known one. Throws a Refusal for an invalid query.
 */
export function readSessionQuestion(asking: Asking, nowMs: number): SessionQuestion {
  const { after, ...given } = readFilled(asking.query, [...names, 'after']);
  if (after !== undefined && !isRecordId(after))
    throw invalidQuery('after', 'must be the id of the latest entry of the session before the page');
  const { filter, page } = questionOf(given, asking, nowMs);
  return { filter, page: { ...page, after } };
}

function questionOf(
  given: Given<(typeof names)[number]>,
  { headers, operator }: Asking,
  nowMs: number,
): Omit<EntryQuestion, 'form'> {
  const page = readPage(given, usualLimit);
  const days = readDays(given, headers, nowMs);
  const { status_code, stream, method, provider, path, error_type, asked_by, kind, search, session_id } = given;
  const statusCode = status_code === undefined ? undefined : readWhole('status_code', status_code, [100, 599]);
  const isStream = stream === undefined ? undefined : readChoice('stream', stream, ['true', 'false']) === 'true';
  const requestedModel = readModel(given);
  const userPath = readUserPath(given.user_path, operator);
  if (userPath === undefined) return { days, filter: undefined, page };
  const span = spanIn(given, days);
  const filter: EntryFilter = {
    userPath,
    ...(span === undefined ? {} : { span }),
    ...(requestedModel === undefined ? {} : { requestedModel }),
    ...(provider === undefined ? {} : { provider }),
    ...(method === undefined ? {} : { method: method.toUpperCase() }),
    ...(path === undefined ? {} : { path }),
    ...(error_type === undefined ? {} : { errorType: error_type }),
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(isStream === undefined ? {} : { stream: isStream }),
    ...(asked_by === undefined ? {} : { askedBy: readChoice('asked_by', asked_by, askedBy) }),
    ...(kind === undefined ? {} : { kind: readChoice('kind', kind, entryKinds) }),
    ...(search === undefined ? {} : { search }),
    ...(session_id === undefined ? {} : { sessionId: session_id }),
  };
  return { days, filter, page };
}

/** A session without dates is asked for as a whole. */
function spanIn(given: Given<DayName | 'session_id'>, days: Days): EntryFilter['span'] | undefined {
  const isWhole = given.session_id !== undefined && dayNames.every((name) => given[name] === undefined);
  return isWhole ? undefined : spanOf(days);
}

function readModel(given: Given<'requested_model' | 'model'>): string | undefined {
  if (given.requested_model === undefined) return given.model;
  if (given.model !== undefined) throw invalidQuery('model', 'is another name of requested_model; give one of them');
  return given.requested_model;
}
