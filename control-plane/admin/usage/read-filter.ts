// Reads the filters of usage records, and in which form the answer is wanted.
import type { IncomingHttpHeaders } from 'node:http';
import { type Days, spanOf } from '../../../domain/records/buckets.ts';
import { askedBy } from '../../../domain/records/request-record.ts';
import type { UsageFilter } from '../../../store/records/record-store.ts';
import type { Operator } from '../../authenticate.ts';
import { dayNames, readDays } from '../records/read-days.ts';
import { type Given, readChoice, readFilled, readUserPath } from '../records/read-query.ts';

const filterNames = [
  ...dayNames,
  'user_path',
  'cache_mode',
  'model',
  'provider',
  'label',
  'session_id',
  'asked_by',
] as const;
type FilterName = (typeof filterNames)[number];

const cacheModes = ['uncached', 'cached', 'all'] as const;

/** A request for usage. */
export interface Asking {
  readonly query: unknown;
  readonly headers: IncomingHttpHeaders;
  readonly operator: Operator;
}

export interface UsageQuestion<Name extends string> {
  /** All parameters as they were given. */
  readonly given: Given<FilterName | Name>;
  readonly days: Days;
  readonly filter: UsageFilter;
  /** False: the operator may see none of the user paths that are asked for. */
  readonly isSeen: boolean;
}

/** `more`: the parameters of this route beyond those of all. Throws 400 `invalid_query` and `invalid_header`. `nowMs`: Unix milliseconds. */
export function readUsageQuestion<Name extends string = never>(
  { query, headers, operator }: Asking,
  nowMs: number,
  more: readonly Name[] = [],
): UsageQuestion<Name> {
  const given = readFilled<FilterName | Name>(query, [...filterNames, ...more]);
  const { user_path, cache_mode, model, provider, label, session_id, asked_by }: Given<FilterName> = given;
  const days = readDays(given, headers, nowMs);
  const userPath = readUserPath(user_path, operator);
  const filter: UsageFilter = {
    span: spanOf(days),
    userPath: userPath ?? operator.userPath,
    ...(days.minutes === undefined ? {} : { isRecent: true }),
    cacheMode: cache_mode === undefined ? 'uncached' : readChoice('cache_mode', cache_mode, cacheModes),
    ...(model === undefined ? {} : { model }),
    ...(provider === undefined ? {} : { provider }),
    ...(label === undefined ? {} : { label }),
    ...(session_id === undefined ? {} : { sessionId: session_id }),
    ...(asked_by === undefined ? {} : { askedBy: readChoice('asked_by', asked_by, askedBy) }),
  };
  return { given, days, filter, isSeen: userPath !== undefined };
}
