// What the record store has to answer, said in the plainest way: all records in an array, filtered and sorted for each question.
import type { AuditData, RequestRecord } from '../../domain/records/request-record.ts';
import { isWithin } from '../../domain/user-path.ts';
import type { EntryFilter, Page } from '../../store/records/record-store.ts';
import { randomFrom } from '../bench/record-load.ts';

export type AuditedRecord = RequestRecord & { readonly data: AuditData };

/** The moment at which the records of this suite begin: not at an edge of an hour. */
export const beginMs = Date.UTC(2026, 4, 3, 10, 17, 5);
export const hourMs = 3_600_000;

export function record(seed: number, more: Partial<RequestRecord> = {}): AuditedRecord {
  const data = { user_agent: 'test', ...more.data };
  const id = `01968f2a-${String(seed).padStart(4, '0').slice(-4)}-7000-8000-${String(seed).padStart(12, '0')}`;
  return {
    id,
    request_id: `request-${seed}`,
    started_ms: beginMs + seed,
    duration_ns: 1_000_000 + seed,
    method: 'POST',
    path: '/v1/chat/completions',
    status_code: 200,
    user_path: '/',
    client_ip: '127.0.0.1',
    alias_used: false,
    attempts: [],
    ...more,
    data,
  };
}

/** Records over four days, in no order of time, with many of one moment. */
export function scattered(count: number): AuditedRecord[] {
  const random = randomFrom(3);
  const pick = <Item>(...items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
  return Array.from({ length: count }, (_, seed) => {
    const isRefused = random() < 0.2;
    const model = pick('gpt-4o', 'GPT-4o-mini', '100%_sure', undefined);
    const provider = pick('openai', 'anthropic');
    const hex = `${Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')}-0000-4000-8000-00000000${seed % 7}000`;
    const named = `case-1~${pick('0', 'f').repeat(16)}`;
    const session = pick('scoped-a1', 'scoped-b2', 'scoped-c3', `scoped-${seed % 40}`, named, undefined);
    return record(seed, {
      request_id: random() < 0.5 ? hex : `Req_${seed}`,
      started_ms: beginMs + Math.floor(random() * 96) * hourMs + pick(0, 1, 1_000_000),
      ...(session === undefined ? {} : { session_id: session }),
      method: pick('POST', 'GET'),
      path: pick('/v1/chat/completions', '/v1/responses', '/v1/Files/x_1', '/admin/budgets'),
      status_code: isRefused ? pick(400, 429, 502) : 200,
      ...pick({ stream: true }, { stream: false }, {}),
      ...(model === undefined ? {} : { requested_model: model, provider, provider_name: `${provider}-eu` }),
      user_path: pick('/', '/team', '/team/app', '/team-alpha', '/other'),
      ...(isRefused ? { error_type: pick('rate_limit_error', 'provider_error') } : {}),
      ...pick({}, {}, { asked_by: 'gateway' as const }),
      data: isRefused ? { error_message: `It broke\nat ${pick('10%', 'line_1', 'BEEF')}` } : {},
    });
  });
}

const threadOf = ({ session_id, id }: RequestRecord): string => session_id ?? `alone ${id}`;

const folded = new Map<string, string>();

/** In the small letters of ASCII. The same texts are asked about again and again. */
function fold(text: string): string {
  const known = folded.get(text) ?? text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  folded.set(text, known);
  return known;
}

const contains = (text: string | undefined, part: string): boolean =>
  text !== undefined && fold(text).includes(fold(part));

/** Whether it is this session, or one of this name. */
export function isSession(id: string | undefined, sought: string): boolean {
  return id === sought || (id?.replace(/~[0-9a-f]{16}$/, '') === sought && id !== sought && !sought.includes('~'));
}

function matches(entry: AuditedRecord, filter: EntryFilter): boolean {
  const { span, requestedModel, provider, method, path, userPath, errorType, statusCode } = filter;
  const { stream, search, sessionId, askedBy, kind } = filter;
  const has = (part: string | undefined, ...texts: readonly (string | undefined)[]): boolean =>
    part === undefined || texts.some((text) => contains(text, part));
  const named = [
    entry.requested_model,
    entry.provider,
    entry.provider_name,
    entry.method,
    entry.path,
    entry.error_type,
  ];
  return (
    (span === undefined || (entry.started_ms >= span.fromMs && entry.started_ms < span.toMs)) &&
    has(requestedModel, entry.requested_model) &&
    has(provider, entry.provider, entry.provider_name) &&
    (method === undefined || entry.method === method) &&
    has(path, entry.path) &&
    (userPath === undefined || isWithin(entry.user_path, userPath)) &&
    has(errorType, entry.error_type) &&
    (statusCode === undefined || entry.status_code === statusCode) &&
    (stream === undefined || entry.stream === stream) &&
    (askedBy === undefined || (entry.asked_by ?? 'client') === askedBy) &&
    (kind === undefined || entry.path.startsWith('/admin/') === (kind === 'change')) &&
    has(search, ...named, entry.request_id, entry.session_id, entry.data.error_message) &&
    (sessionId === undefined || isSession(entry.session_id, sessionId))
  );
}

const newestFirst = (a: RequestRecord, b: RequestRecord): number =>
  b.started_ms - a.started_ms || (a.id < b.id ? 1 : -1);

export function expectedEntries(all: readonly AuditedRecord[], filter: EntryFilter, { limit, offset }: Page) {
  const found = all.filter((entry) => matches(entry, filter)).toSorted(newestFirst);
  return { total: found.length, ids: found.slice(offset, offset + limit).map(({ id }) => id) };
}

/** Each thread as `<requests> <id of the latest>`. */
export function expectedSessions(all: readonly AuditedRecord[], filter: EntryFilter, { limit, offset }: Page) {
  const latest = Map.groupBy(all.filter((entry) => matches(entry, filter)).toSorted(newestFirst), threadOf);
  const counts = Map.groupBy(all, threadOf);
  const rows = [...latest].map(([thread, [first]]) => `${counts.get(thread)?.length} ${first?.id}`);
  return { total: rows.length, rows: rows.slice(offset, offset + limit) };
}

/** Each filter by itself, in its odd forms, and several together. */
export const filters: readonly EntryFilter[] = [
  {},
  ...[undefined, 0, 1, 26 * hourMs].flatMap((start = -hourMs) =>
    [200 * hourMs, 48 * hourMs, 30 * hourMs + 1].map((end) => ({
      span: { fromMs: beginMs + start, toMs: beginMs + end },
    })),
  ),
  ...['gpt-4O', '%', '_', '100%_'].map((requestedModel) => ({ requestedModel })),
  ...['OPENAI', '-eu', 'anthropic-eu'].map((provider) => ({ provider })),
  { method: 'GET' },
  { method: 'get' },
  { path: 'files/X_1' },
  { path: '%' },
  ...['/', '/team', '/team/app', '/tea'].map((userPath) => ({ userPath })),
  { errorType: 'LIMIT' },
  { statusCode: 429 },
  { statusCode: 99 },
  { stream: true },
  { askedBy: 'client' },
  { askedBy: 'gateway', userPath: '/team' },
  { kind: 'call' },
  { kind: 'change', userPath: '/team' },
  ...['scoped-a1', 'scoped-3', 'scoped', 'case-1', `case-1~${'f'.repeat(16)}`].map((sessionId) => ({ sessionId })),
  { sessionId: 'case-1', userPath: '/team', search: 'e' },
  { sessionId: 'case-1', userPath: '/team', statusCode: 200 },
  ...[
    'a1',
    'A1',
    '%',
    '_1',
    'beef',
    'scoped-1',
    'broke\nAT 10%',
    'req_1',
    '0000-4000',
    'openai',
    'e',
    '; --',
    '\\',
    'é',
  ].map((search) => ({ search })),
  { search: 'beef', sessionId: 'scoped-b2' },
  { search: 'e', sessionId: 'scoped-a1', stream: true },
  { search: '1', userPath: '/team', span: { fromMs: beginMs + 20 * hourMs, toMs: beginMs + 60 * hourMs } },
  { stream: false, method: 'POST', provider: 'openai', span: { fromMs: beginMs, toMs: beginMs + 50 * hourMs } },
  { sessionId: 'scoped-c3', span: { fromMs: beginMs + 20 * hourMs, toMs: beginMs + 40 * hourMs }, statusCode: 200 },
];

export const pages: readonly Page[] = [
  { limit: 5, offset: 0 },
  { limit: 7, offset: 11 },
  { limit: 100, offset: 500 },
  { limit: 1_000, offset: 0 },
];
