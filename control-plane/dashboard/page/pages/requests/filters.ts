// The filters of requests: their fields, how they are asked for, and which entries of the live stream they let through.
import { askedByField } from '../../parts/asked-by-field.ts';
import { daysField } from '../../parts/days-field.ts';
import { askedFor, type FilterField } from '../../parts/filter-form.ts';
import { type Entry, isChange, isOfSession } from './entry.ts';

const statuses = ['200', '400', '401', '403', '404', '429', '499', '500', '502', '503', '504'];

/** Every filter of the API, under its name there. */
export const fields: readonly FilterField[] = [
  { name: 'search', label: 'Search', type: 'search', placeholder: 'id, model, path, error' },
  { name: 'user_path', label: 'User path', placeholder: '/team-a', suggest: 'user_paths' },
  { name: 'requested_model', label: 'Model or alias', placeholder: 'chat', suggest: 'models' },
  {
    name: 'status_code',
    label: 'Status',
    options: [['', 'Every status'], ...statuses.map((each) => [each, each] as const)],
  },
  daysField,
];

export const moreFields: readonly FilterField[] = [
  { name: 'provider', label: 'Provider', placeholder: 'openai', suggest: 'providers' },
  { name: 'error_type', label: 'Error type', placeholder: 'rate_limit_error' },
  { name: 'path', label: 'Path', placeholder: '/v1/chat' },
  {
    name: 'method',
    label: 'Method',
    options: [['', 'Every method'], ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((each) => [each, each] as const)],
  },
  {
    name: 'stream',
    label: 'Answer',
    options: [
      ['', 'Every kind'],
      ['true', 'Streams'],
      ['false', 'In one piece'],
    ],
  },
  askedByField,
  { name: 'session_id', label: 'Session', placeholder: 'case-4711' },
  { name: 'start_date', label: 'From', type: 'date' },
  { name: 'end_date', label: 'To', type: 'date' },
];

/** What the list shows: conversations, single requests, or changes: writes of operators and reloads of the configuration. */
export type Listing = 'conversations' | 'requests' | 'changes';

export function listingOf(query: URLSearchParams): Listing {
  const view = query.get('view');
  return view === 'requests' || view === 'changes' ? view : 'conversations';
}

/** The API's query for the query of the page. */
export function apiQuery(query: URLSearchParams): URLSearchParams {
  return askedFor([...fields, ...moreFields], query);
}

/** Whether an entry that comes in now is one that the API would list. */
export function filterOf(query: URLSearchParams): (entry: Entry) => boolean {
  const given = (name: string): string => (query.get(name) ?? '').trim();
  const exact = ['user_path', 'status_code', 'stream', 'session_id', 'method', 'asked_by'];
  const [path, status, stream, session, method, asker] = exact.map(given);
  // User paths match without regard to letter case.
  const below = `/${(path ?? '').replace(/^\/+|\/+$/g, '').toLowerCase()}`;
  const isOfChanges = listingOf(query) === 'changes';
  return (entry) =>
    isChange(entry) === isOfChanges &&
    (below === '/' || `${entry.user_path.toLowerCase()}/`.startsWith(`${below}/`)) &&
    (status === '' || String(entry.status_code) === status) &&
    (stream === '' || String(entry.stream) === stream) &&
    (session === undefined || session === '' || isOfSession(entry, session)) &&
    (method === '' || entry.method === method) &&
    (asker === '' || entry.asked_by === asker) &&
    has(given('requested_model'), entry.requested_model) &&
    has(given('provider'), entry.provider_name, entry.provider) &&
    has(given('error_type'), entry.error_type) &&
    has(given('path'), entry.path) &&
    has(given('search'), ...searched(entry));
}

function searched(entry: Entry): readonly (string | undefined)[] {
  const { request_id, requested_model, provider, provider_name, method, path, session_id, error_type, data } = entry;
  return [
    request_id,
    requested_model,
    provider,
    provider_name,
    method,
    path,
    session_id,
    error_type,
    data.error_message,
  ];
}

function has(part: string, ...texts: readonly (string | undefined)[]): boolean {
  return part === '' || texts.some((text) => text?.toLowerCase().includes(part.toLowerCase()));
}
