// The operations of /admin/audit and /admin/live, one row each.
import type { Operation, Refusals } from './operation.ts';
import { liveExample } from './stream-examples.ts';

const audit = { tag: 'Audit', access: 'operator', method: 'get' } as const;
const refusals: Refusals = { 400: ['invalid_query', 'invalid_header'], 503: ['store_unavailable'] };
const oneEntry: Refusals = { 400: ['invalid_query'], 404: ['audit_entry_not_found'], 503: ['store_unavailable'] };
const days = ['Minutes', 'Days', 'StartDate', 'EndDate', 'TimeZone'] as const;
const filters = [
  ...days,
  'EntryModel',
  'EntryProvider',
  'EntryMethod',
  'EntryPath',
  'RecordUserPath',
  'EntryError',
  'EntryStatus',
  'EntryStream',
  'AskedBy',
  'EntryKind',
  'EntrySearch',
  'EntrySession',
  'AuditLimit',
  'Offset',
] as const;

const quoting = 'Text that a spreadsheet would take for a formula has an apostrophe before it.';
const logTable = [
  'timestamp,id,request_id,user_path,method,path,requested_model,status_code,duration_ms,total_tokens,total_cost',
  '2026-03-01T21:04:20.498Z,01960c5e-7a31-7c4e-9d52-6a1f0e8b4c21,req_5f0c2b9e1a7d000012,/team-a/ann,POST,/v1/chat/completions,chat,200,2861,1510,0.00382',
  '',
].join('\r\n');

const traffic = [
  '{"traffic":1,"from":"2026-03-01T00:00:00.000Z","to":"2026-03-02T00:00:00.000Z","share":1,"hashed":false}',
  '{"id":"req_5f0c2b9e1a7d000012","at":1772399060498,"ms":2861,"path":"/v1/chat/completions","user_path":"/team-a/ann","model":"chat","status":200,"tokens":{"input":1210,"output":300},"cost":0.00382,"calls":[{"provider":"openai","model":"gpt-4o-mini","ms":2860.4,"ok":true}]}',
  '',
].join('\n');

export const auditOperations: readonly Operation[] = [
  {
    ...audit,
    id: 'listAuditSessions',
    path: '/admin/audit/sessions',
    summary: 'The conversations that requests belong to, each with its newest entry that matches.',
    description:
      'Several filters must all hold; an empty one counts as absent. A request without a session is a conversation of its own. Empty while the audit log is off.',
    parameters: [...filters, 'AfterEntry'],
    success: { status: 200, says: 'One page of conversations.', schema: 'audit-sessions' },
    refusals,
  },
  {
    ...audit,
    id: 'listAuditEntries',
    path: '/admin/audit/log',
    summary: 'The entries that match, the newest first, without bodies.',
    description: `As CSV it has all pages, at most 100,000 rows, whatever \`limit\` and \`offset\` say. ${quoting}`,
    parameters: [...filters, 'UsageFormat'],
    success: {
      status: 200,
      says: 'One page of entries.',
      schema: 'audit-log',
      texts: { 'text/csv': logTable },
      headers: ['x-gateway-truncated'],
    },
    refusals,
  },
  {
    ...audit,
    id: 'getAuditEntry',
    path: '/admin/audit/detail',
    summary: 'One entry with everything.',
    description: 'A viewer gets it without bodies (`bodies_omitted`): what was said is for operators.',
    parameters: ['LogId'],
    success: { status: 200, says: 'The entry.', schema: 'audit-entry' },
    refusals: oneEntry,
  },
  {
    ...audit,
    id: 'getAuditConversation',
    path: '/admin/audit/conversation',
    summary: 'The conversation of an entry, the oldest first, with bodies where they are recorded.',
    parameters: ['LogId', 'ConversationLimit'],
    success: { status: 200, says: 'The conversation.', schema: 'audit-conversation' },
    refusals: oneEntry,
  },
  {
    ...audit,
    id: 'getAuditStats',
    path: '/admin/audit/stats',
    summary: 'How many requests went well, by minute, hour or day, and how long they took.',
    description:
      'Questions of the gateway itself and writes of operators do not count. Percentiles are of requests that succeeded, and within 4.5 % of the true ones. By minute, where the audit log keeps a sample all requests that asked a provider count; a user path may have at most 12 segments there, and `failing` says which models fail now.',
    parameters: [...days, 'RecordUserPath'],
    success: { status: 200, says: 'The statistics.', schema: 'audit-stats' },
    refusals,
  },
  {
    ...audit,
    id: 'exportTraffic',
    path: '/admin/traffic',
    summary: 'The requests of a time, a line each, as `model-gateway plan` replays them.',
    description:
      'A head, then a line for each request of a client, in the order in which they began: who asked for what, what it took and what became of it; no bodies, no addresses. What the audit log leaves out is not in it. At most 8 exports are under way at once.',
    parameters: ['TrafficFrom', 'TrafficTo', 'TrafficShare', 'TrafficAround'],
    success: { status: 200, says: 'The lines.', texts: { 'application/x-ndjson': traffic } },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable', 'too_many_exports'] },
  },
  {
    ...audit,
    id: 'followEntries',
    path: '/admin/live',
    summary: 'Entries as they come in, as server-sent events.',
    description:
      'Events: `ready` (entries come from here on), `entry` (as in a list), `reset` (entries were left out, so read the list again: you were too slow, or away for too long), `unavailable` (the record store does not answer; `ready` follows). An id belongs to the last entry of those that came in together. At most 100 streams are open at once, 20 of one managed key.',
    parameters: ['LiveCursor', 'LastEventId'],
    success: { status: 200, says: 'The stream; it does not end.', texts: { 'text/event-stream': liveExample() } },
    refusals: {
      400: ['invalid_query', 'invalid_header'],
      503: ['store_unavailable', 'too_many_listeners'],
    },
  },
];
