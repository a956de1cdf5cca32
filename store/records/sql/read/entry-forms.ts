// An audit entry in its forms: the whole of it, as lists show it, and as part of a conversation (spec: Audit entry).
import type { AuditEntry, EntryUsage } from '../../../../domain/records/audit-entry.ts';
import type { AuditData, RequestRecord, RequestRevision } from '../../../../domain/records/request-record.ts';
import { timestamp } from '../../../../domain/timestamp.ts';
import { askedByOf } from '../asked-by.ts';
import { plainMoment } from '../plain-values.ts';

const charactersPerToken = 4;
/** Where conversations are held. At other endpoints, such as those of embeddings and speech, bodies have members of the same names. */
const conversations = /\/(?:chat\/completions|completions|responses|messages)$/;

/** The entry that a record with `data` makes, with everything. */
export function completeEntry(record: RequestRecord, data: AuditData): AuditEntry {
  const { started_ms, attempts, labels, data: _, ...rest } = record;
  const usage = usageOf(record);
  return {
    ...rest,
    ...(data.config_revision === undefined ? {} : { workflow_version_id: data.config_revision }),
    ...(record.auth_key_id === undefined ? {} : { principal_id: record.auth_key_id }),
    asked_by: askedByOf(record),
    timestamp: timestamp(plainMoment(started_ms)),
    bodies_omitted: false,
    conversation_payload: conversations.test(record.path) && isConversation(data),
    ...(usage === undefined ? {} : { usage }),
    data: {
      ...data,
      ...(labels === undefined ? {} : { labels }),
      attempts: attempts.map(({ started_ms: startedMs, usage: _usage, ...attempt }) => ({
        ...attempt,
        started_at: timestamp(plainMoment(startedMs)),
      })),
    },
  };
}

/** Without bodies, without headers of attempts. Gives the entry itself when it has none. */
export function listedEntry(entry: AuditEntry): AuditEntry {
  const { request_body, response_body, request_revisions, attempts, ...data } = entry.data;
  const hasBodies = request_body !== undefined || response_body !== undefined;
  const isFull = attempts.some((attempt) => 'response_body' in attempt || 'response_headers' in attempt);
  const isRevised = request_revisions?.some((revision) => 'body' in revision || 'detail' in revision) ?? false;
  if (!hasBodies && !isFull && !isRevised) return entry;
  return {
    ...entry,
    bodies_omitted: true,
    data: {
      ...data,
      ...(request_revisions === undefined ? {} : { request_revisions: request_revisions.map(slimRevision) }),
      attempts: attempts.map(({ response_body: _body, response_headers: _headers, ...attempt }) => attempt),
    },
  };
}

/** With both bodies and the headers of the request: what was said, not how it was carried out. */
export function spokenEntry(entry: AuditEntry): AuditEntry {
  const { response_headers: _headers, request_revisions, attempts: _attempts, ...data } = entry.data;
  const revisions = request_revisions === undefined ? {} : { request_revisions: request_revisions.map(slimRevision) };
  return { ...entry, data: { ...data, ...revisions, attempts: [] } };
}

function slimRevision({ body: _body, detail: _detail, ...revision }: RequestRevision): RequestRevision {
  return revision;
}

/** Whether its bodies are those of a conversation. */
function isConversation({ request_body, response_body }: AuditData): boolean {
  const { messages, input, instructions, previous_response_id } = membersOf(request_body);
  if (Array.isArray(messages) || (input !== undefined && input !== null)) return true;
  if (typeof instructions === 'string' || typeof previous_response_id === 'string') return true;
  const { choices, output } = membersOf(response_body);
  const isTyped = (item: unknown): boolean => typeof membersOf(item)['type'] === 'string';
  return Array.isArray(choices) || (Array.isArray(output) && output.some(isTyped));
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

/** The sum over its attempts; undefined when none has any. */
function usageOf({ attempts, data }: RequestRecord): EntryUsage | undefined {
  const used = attempts.flatMap(({ usage }) => usage ?? []);
  if (used.length === 0) return undefined;
  const sum = (
    name: 'input_tokens' | 'output_tokens' | 'total_tokens' | 'cached_input_tokens' | 'cache_write_input_tokens',
  ) => used.reduce((total, usage) => total + (usage[name] ?? 0), 0);
  const input = sum('input_tokens');
  const cached = sum('cached_input_tokens');
  const revised = data?.request_revisions ?? [];
  // Words that guardrails put in save nothing, and cost nothing that was saved.
  const saved = Math.max(
    0,
    revised.reduce((total, { tokens_saved = 0 }) => total + tokens_saved, 0),
  );
  const costs = used.flatMap(({ cost }) => cost?.total ?? []);
  const inputCost = used.reduce((total, { cost }) => total + (cost?.input ?? 0), 0);
  return {
    input_tokens: input,
    output_tokens: sum('output_tokens'),
    total_tokens: sum('total_tokens'),
    cached_input_tokens: cached,
    uncached_input_tokens: Math.max(input - cached, 0),
    cache_write_input_tokens: sum('cache_write_input_tokens'),
    cached_input_ratio: input === 0 ? 0 : cached / input,
    estimated_cached_characters: cached * charactersPerToken,
    entries: used.length,
    rewrite_tokens_saved: saved,
    // US dollars, at what its other input tokens have cost on average.
    rewrite_cost_saved: input === 0 ? 0 : (saved * inputCost) / input / 1e9,
    total_cost: costs.length === 0 ? null : costs.reduce((total, cost) => total + cost, 0) / 1e9,
  };
}
