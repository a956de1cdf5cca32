// The pages that the bench of records asks for: each filter by itself, and what a reader of the log does most.
import type { EntryFilter, Page } from '../../store/records/record-store.ts';
import type { OperationName } from '../../store/records/sql/operations.ts';

export interface RecordQuery {
  readonly name: string;
  readonly operation: OperationName;
  /** One after the other is asked for: what was asked for just now is found faster. */
  readonly inputs: readonly (readonly unknown[])[];
}

/** What is there to be found, taken from an entry of a session. */
export interface Findable {
  readonly id: string;
  readonly requestId: string;
  readonly sessionId: string;
}

const dayMs = 86_400_000;
const firstPage: Page = { limit: 25, offset: 0 };

/** `endMs`: of the span, as of all records. */
export function recordQueries(endMs: number, found: readonly Findable[]): readonly RecordQuery[] {
  const toMs = Math.ceil(endMs / dayMs) * dayMs;
  // Days of a reader in UTC+2: not those of the tallies.
  const span = (days: number, before = 0) => ({
    fromMs: toMs - (before + days) * dayMs - dayMs / 12,
    toMs: toMs - before * dayMs - dayMs / 12,
  });
  const month = { span: span(30) };
  const pages = Object.entries(filtersOf(span, found)).flatMap(([name, filters]) =>
    (['sessions', 'entries'] as const).map((operation) => ({
      name,
      operation,
      inputs: filters.map((filter) => [filter, firstPage]),
    })),
  );
  const hours = Array.from({ length: 31 }, (_, index) => span(30).fromMs + index * dayMs);
  const lastMs = endMs - (endMs % 60_000);
  const minutes = Array.from({ length: 361 }, (_, index) => lastMs - (360 - index) * 60_000);
  const recent = { span: { fromMs: minutes[0] ?? 0, toMs: lastMs }, cacheMode: 'all', isRecent: true };
  const far = (filter: EntryFilter, offset: number) => [
    [
      { ...month, ...filter },
      { limit: 100, offset },
    ],
  ];
  return [
    ...pages,
    ...(['sessions', 'entries'] as const).flatMap((operation) => [
      { name: 'no filter, offset 100,000', operation, inputs: far({}, 100_000) },
      { name: 'stream, offset 10,000', operation, inputs: far({ stream: true }, 10_000) },
    ]),
    { name: '30 days', operation: 'stats', inputs: [[{}, hours]] },
    { name: '30 days, one user path', operation: 'stats', inputs: [[{ userPath: '/team-3' }, hours]] },
    { name: '6 hours by minute', operation: 'stats', inputs: [[{}, minutes]] },
    { name: '6 hours by minute, one user path', operation: 'stats', inputs: [[{ userPath: '/team-3' }, minutes]] },
    { name: '6 hours by minute', operation: 'usageBuckets', inputs: [[recent, minutes]] },
    { name: '6 hours, by user path', operation: 'usageBy', inputs: [[recent, 'user_path', firstPage]] },
    { name: '', operation: 'entry', inputs: found.map(({ id }) => [id]) },
    { name: '', operation: 'conversation', inputs: found.map(({ id }) => [id, 40]) },
  ];
}

/** Each filter of the spec, with several values. */
function filtersOf(
  span: (days: number, before?: number) => NonNullable<EntryFilter['span']>,
  found: readonly Findable[],
): Readonly<Record<string, readonly EntryFilter[]>> {
  const month = { span: span(30) };
  const each = <Name extends keyof EntryFilter>(name: Name, ...values: NonNullable<EntryFilter[Name]>[]) =>
    values.map((value) => ({ ...month, [name]: value }));
  const partOf = (cut: (each: Findable) => string) => each('search', ...found.map(cut));
  return {
    'no filter': [month],
    'one day': [1, 8, 15, 22, 29].map((before) => ({ span: span(1, before) })),
    '10 days': [0, 5, 15].map((before) => ({ span: span(10, before) })),
    requested_model: each('requestedModel', 'GPT-4o', 'o3', 'claude', 'gemini-2.5-pro'),
    provider: each('provider', 'anthropic', 'openai', 'azure'),
    method: each('method', 'POST', 'GET'),
    path: each('path', 'chat', 'responses', 'embed'),
    user_path: each('userPath', '/team-3', '/team-4/app-1', '/team-5'),
    error_type: each('errorType', 'provider', 'rate_limit', 'invalid'),
    status_code: each('statusCode', 504, 502, 429, 200),
    stream: each('stream', true, false),
    'stream, 10 days': [0, 5, 15].map((before) => ({ stream: true, span: span(10, before) })),
    'model and status': each('requestedModel', 'o3', 'claude').map((filter) => ({ ...filter, statusCode: 502 })),
    session_id: found.map(({ sessionId }) => ({ sessionId })),
    'search: request id': partOf(({ requestId }) => requestId),
    'search: 8 hex digits': partOf(({ requestId }) => requestId.slice(0, 8)),
    'search: 4 hex digits': partOf(({ requestId }) => requestId.slice(24, 28)),
    'search: 2 hex digits': partOf(({ requestId }) => requestId.slice(24, 26)),
    'search: words of a message': each('search', 'connection reset', 'no answer within', 'rate limit of'),
    'search: words, status': each('search', 'reset by peer', 'upstream').map((filter) => ({
      ...filter,
      statusCode: 502,
    })),
    'search: model': each('search', 'sonnet', 'mistral'),
    'search: session': partOf(({ sessionId }) => sessionId),
    'search: end of a session': partOf(({ sessionId }) => sessionId.slice(-12)),
    'search: all sessions': each('search', 'scoped-'),
    'search: nothing': each('search', '%%%%', "'; --", '(a+)+$', 'zzqq'),
  };
}
