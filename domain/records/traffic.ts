// One request as a plan replays it: who asked for what, what it took and what became of it. No bodies, no addresses, no keys.
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { AuditEntry } from './audit-entry.ts';

/** The tokens of an answer, as its provider reported them, else as they were estimated. */
export interface TrafficTokens {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cache_write?: number;
}

/** A call of a provider. */
export interface TrafficCall {
  readonly provider: string;
  readonly model: string;
  /** Milliseconds. */
  readonly ms: number;
  /** Its answer could be used. */
  readonly ok: boolean;
}

/** A line of a file of traffic. Members that do not apply are absent. */
export interface TrafficLine {
  /** The request's id. */
  readonly id: string;
  /** Its start. Unix milliseconds. */
  readonly at: number;
  /** Until its answer was over. Milliseconds. */
  readonly ms: number;
  /** The path of the endpoint. */
  readonly path: string;
  readonly user_path: string;
  /** The id of its key. */
  readonly key?: string;
  readonly labels?: readonly string[];
  /** As it was asked for. */
  readonly model?: string;
  readonly stream?: true;
  readonly session?: string;
  readonly status: number;
  /** The code of the error that it got. */
  readonly error?: string;
  /** The rule or budget that refused it. */
  readonly rule?: string;
  readonly cached?: 'exact' | 'semantic';
  readonly max_tokens?: number;
  /** Absent: no provider answered, or usage was not tracked. */
  readonly tokens?: TrafficTokens;
  /** US dollars; null: no price was known. */
  readonly cost?: number | null;
  /** In their order. */
  readonly calls?: readonly TrafficCall[];
  /** How many requests it stands for; absent: itself alone. */
  readonly n?: number;
}

/** The line of an entry of the audit log; undefined: it is about no request of a client. `succeeded`: the share of requests that went well which is recorded. */
export function trafficLineOf(entry: AuditEntry, succeeded: number): TrafficLine | undefined {
  const { data, usage, asked_by: askedBy, counts_as: countsAs } = entry;
  // A cost that became known later, and a comparison, are no requests; what only reads is counted by no rule.
  const isRequest = countsAs !== 'nothing' && entry.mirror === undefined && data.event_type === undefined;
  const isAsked = entry.method === 'POST' || entry.requested_model !== undefined;
  if (!isRequest || !isAsked || askedBy === 'gateway') return undefined;
  const calls = data.attempts
    .filter(({ kind }) => kind !== 'cache')
    .map(({ provider_name: provider, model, duration_ns: ns, success: ok }) => ({ provider, model, ms: msOf(ns), ok }));
  const n = entry.status_code < 400 && succeeded > 0 && succeeded < 1 ? 1 / succeeded : undefined;
  return compact({
    id: entry.request_id,
    at: parseMoment(entry.timestamp) ?? 0,
    ms: msOf(entry.duration_ns),
    path: entry.path,
    user_path: entry.user_path,
    key: entry.auth_key_id,
    labels: data.labels,
    model: entry.requested_model,
    stream: entry.stream === true ? true : undefined,
    session: entry.session_id,
    status: entry.status_code,
    error: data.error_code,
    rule: data.rule,
    cached: entry.cache_type,
    max_tokens: data.max_tokens,
    tokens: usage && tokensOf(usage),
    cost: usage?.total_cost === undefined ? undefined : usage.total_cost,
    calls: calls.length === 0 ? undefined : calls,
    n,
  });
}

function tokensOf(usage: NonNullable<AuditEntry['usage']>): TrafficTokens {
  const { cached_input_tokens: cached, cache_write_input_tokens: written } = usage;
  return {
    input: usage.input_tokens,
    output: usage.output_tokens,
    ...(cached > 0 ? { cached } : {}),
    ...(written > 0 ? { cache_write: written } : {}),
  };
}

/** Rounded up to a tenth of a millisecond. */
function msOf(ns: number): number {
  return Math.ceil(ns / 1e5) / 10;
}

type Loose<Shape> = { readonly [Key in keyof Shape]: Shape[Key] | undefined };

function compact(line: Loose<Required<TrafficLine>>): TrafficLine {
  return Object.fromEntries(Object.entries(line).filter(([, value]) => value !== undefined)) as unknown as TrafficLine;
}

/** The largest number in a line: sums of a million of them are still exact enough. Unix milliseconds of the year 33,658. */
const most = 1e15;

/** A line of traffic; or what is wrong with it, as the end of a sentence. Members that have another type than theirs are refused, unknown ones ignored. */
export function readTrafficLine(value: unknown): TrafficLine | string {
  const line = membersOf(value);
  const { tokens, calls = [], labels = [] } = line;
  for (const name of ['id', 'path', 'user_path'] as const)
    if (typeof line[name] !== 'string') return `has no "${name}": a text`;
  for (const name of ['at', 'ms', 'status'] as const)
    if (!isAmount(line[name])) return `has no "${name}": a number from 0 to ${most}`;
  for (const name of ['key', 'model', 'session', 'error', 'rule', 'cached'] as const)
    if (line[name] !== undefined && typeof line[name] !== 'string') return `has a wrong "${name}": a text`;
  for (const name of ['max_tokens', 'n'] as const)
    if (line[name] !== undefined && !isAmount(line[name])) return `has a wrong "${name}": a number from 0 to ${most}`;
  if (line['cost'] !== undefined && line['cost'] !== null && !isAmount(line['cost']))
    return 'has a wrong "cost": dollars, or null';
  if (!Array.isArray(labels) || labels.some((label) => typeof label !== 'string'))
    return 'has wrong "labels": a list of texts';
  if (tokens !== undefined && !['input', 'output'].every((name) => isAmount(membersOf(tokens)[name])))
    return 'has wrong "tokens": {"input": 12, "output": 34}';
  if (!Array.isArray(calls) || !calls.every(isCall))
    return 'has wrong "calls": a list of {"provider", "model", "ms", "ok"}';
  return line as unknown as TrafficLine;
}

function isCall(value: unknown): boolean {
  const { provider, model, ms, ok } = membersOf(value);
  return typeof provider === 'string' && typeof model === 'string' && isAmount(ms) && typeof ok === 'boolean';
}

function isAmount(value: unknown): boolean {
  return typeof value === 'number' && value >= 0 && value <= most;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
