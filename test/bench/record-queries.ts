// The pages that the bench of records asks for: each filter by itself, and what a reader of the log does most.
import type { EntryFilter, Page } from '../../store/records/record-store.ts';
import type { OperationName } from '../../store/records/sql/operations.ts';

export interface RecordQuery {
  readonly name: string;
  readonly operation: OperationName;
  readonly input: readonly unknown[];
}

/** What is there to be found, taken from the records themselves. */
export interface Findable {
  readonly id: string;
  readonly requestId: string;
  readonly sessionId: string;
}

const dayMs = 86_400_000;
const firstPage: Page = { limit: 25, offset: 0 };

/** `endMs`: of the span, as of all records. */
export function recordQueries(endMs: number, { id, requestId, sessionId }: Findable): readonly RecordQuery[] {
  const toMs = Math.ceil(endMs / dayMs) * dayMs;
  // Days of a reader in UTC+2: not those of the tallies.
  const span = (days: number, before = 0) => ({
    fromMs: toMs - (before + days) * dayMs - dayMs / 12,
    toMs: toMs - before * dayMs - dayMs / 12,
  });
  const month = { span: span(30) };
  const filters: Readonly<Record<string, EntryFilter>> = {
    'no filter': month,
    'one day': { span: span(1) },
    '10 days, 15 days ago': { span: span(10, 15) },
    requested_model: { ...month, requestedModel: 'GPT-4o' },
    provider: { ...month, provider: 'anthropic' },
    method: { ...month, method: 'POST' },
    path: { ...month, path: 'chat' },
    user_path: { ...month, userPath: '/team-3' },
    error_type: { ...month, errorType: 'provider' },
    status_code: { ...month, statusCode: 504 },
    stream: { ...month, stream: true },
    'stream, 10 days, 15 days ago': { stream: true, span: span(10, 15) },
    session_id: { sessionId },
    'search: request id': { ...month, search: requestId },
    'search: 8 hex digits': { ...month, search: requestId.slice(0, 8) },
    'search: word of a message': { ...month, search: 'connection reset' },
    'search: model': { ...month, search: 'sonnet' },
    'search: session': { ...month, search: sessionId },
    'search: nothing': { ...month, search: '%%%%' },
  };
  const pages = Object.entries(filters).flatMap(([name, filter]) =>
    (['sessions', 'entries'] as const).map((operation) => ({ name, operation, input: [filter, firstPage] })),
  );
  const hours = Array.from({ length: 31 }, (_, index) => span(30).fromMs + index * dayMs);
  return [
    ...pages,
    ...(['sessions', 'entries'] as const).flatMap((operation) => [
      { name: 'no filter, offset 100,000', operation, input: [month, { limit: 100, offset: 100_000 }] },
      {
        name: 'stream, offset 10,000',
        operation,
        input: [
          { ...month, stream: true },
          { limit: 100, offset: 10_000 },
        ],
      },
    ]),
    { name: '30 days', operation: 'stats', input: [{}, hours] },
    { name: '30 days, one user path', operation: 'stats', input: [{ userPath: '/team-3' }, hours] },
    { name: '', operation: 'entry', input: [id] },
    { name: '', operation: 'conversation', input: [id, 40] },
  ];
}
