// Makes the records of a busy month: entries in threads, in the order in which they begin, the same ones in every run.

import type { RequestRecord } from '../../domain/records/request-record.ts';
import type { ErrorType } from '../../schemas/error-type.ts';

export interface RecordLoad {
  readonly entries: number;
  /** Sessions, and entries without one: a quarter of them. */
  readonly threads: number;
  readonly days: number;
  /** The moment before which all of them end. Unix milliseconds. */
  readonly endMs: number;
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const models = [
  'gpt-4o',
  'gpt-4o-mini',
  'o3',
  'claude-sonnet-4-5',
  'claude-haiku-4-5',
  'gemini-2.5-pro',
  'mistral-large',
  'llama-3.3-70b',
];
const providers = ['openai', 'anthropic', 'gemini', 'azure'];
const paths = ['/v1/chat/completions', '/v1/chat/completions', '/v1/responses', '/v1/messages', '/v1/embeddings'];
const failures: readonly (readonly [status: number, type: ErrorType, message: string])[] = [
  [429, 'rate_limit_error', 'rate limit of 60 requests per minute reached for /team'],
  [502, 'provider_error', 'upstream connect error: connection reset by peer'],
  [400, 'invalid_request_error', 'max_tokens must be at least 1'],
  [504, 'provider_error', 'no answer within the deadline of 60 s'],
];
const userPaths = Array.from({ length: 60 }, (_, index) => `/team-${index % 12}/app-${index % 5}/user-${index}`);

/** Numbers from 0 to below 1, the same ones in every run (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A UUID whose first 48 bits are the moment; version 7. */
function uuidAt(ms: number, random: () => number): string {
  const hex = (digits: number): string =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0');
  const time = ms.toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`;
}

/** Batches of `size` records. */
export function* recordBatches(load: RecordLoad, size: number): Generator<RequestRecord[]> {
  const random = randomFrom(7);
  const { order, starts, threads } = plan(load, random);
  let batch: RequestRecord[] = [];
  for (const index of order) {
    batch.push(recordOf(starts[index] ?? 0, threads[index] ?? 0, load, random));
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** When each entry begins, and its thread; `order` sorts them by time. One session in fifty lasts for days, the others for an hour. */
function plan({ entries, threads: count, days, endMs }: RecordLoad, random: () => number) {
  const single = Math.floor(count / 4);
  const starts = new Float64Array(entries);
  const threads = new Int32Array(entries);
  const begun = Float64Array.from({ length: count }, () => endMs - random() * days * dayMs);
  for (let index = 0; index < entries; index += 1) {
    const thread = index < count ? index : single + Math.floor(random() * (count - single));
    const lengthMs = thread % 50 === 0 ? 5 * dayMs : hourMs;
    threads[index] = thread;
    starts[index] = Math.floor(Math.min((begun[thread] ?? 0) + random() * lengthMs, endMs - random() * hourMs));
  }
  const order = Uint32Array.from({ length: entries }, (_, index) => index).sort(
    (a, b) => (starts[a] ?? 0) - (starts[b] ?? 0),
  );
  return { order, starts, threads };
}

/** What belongs to the thread follows from its number; the rest is drawn. */
function recordOf(startedMs: number, thread: number, { threads }: RecordLoad, random: () => number): RequestRecord {
  const pick = <Item>(items: readonly Item[], at: number): Item => items[at % items.length] as Item;
  const failure = random() < 0.05 ? pick(failures, Math.floor(random() ** 2 * failures.length)) : undefined;
  const model = pick(models, random() < 0.1 ? thread + 1 : thread);
  const provider = pick(providers, thread + (failure === undefined ? 0 : 1));
  const requestId = uuidAt(Math.floor(random() * 2 ** 48), random);
  const durationNs = Math.floor((0.2 + random() * 8) * 1e9);
  const base = { model, provider_name: provider, provider_type: provider };
  const tokens = Math.floor(random() * 4_000);
  return {
    id: uuidAt(startedMs, random),
    request_id: random() < 0.1 ? `req_${requestId.slice(24)}` : requestId,
    ...(thread < threads / 4
      ? {}
      : { session_id: `scoped-${(thread * 2_654_435_761).toString(16).padStart(32, '0')}` }),
    started_ms: startedMs,
    duration_ns: durationNs,
    method: 'POST',
    path: pick(paths, thread >> 2),
    status_code: failure?.[0] ?? 200,
    stream: thread % 3 > 0,
    requested_model: model,
    resolved_model: `${provider}/${model}`,
    provider,
    provider_name: provider,
    user_path: pick(userPaths, thread),
    auth_method: 'api_key',
    client_ip: '10.1.2.3',
    alias_used: false,
    ...(failure === undefined ? {} : { error_type: failure[1] }),
    attempts: [
      {
        seq: 1,
        kind: 'primary',
        ...base,
        started_ms: startedMs,
        duration_ns: durationNs,
        status_code: failure?.[0] ?? 200,
        success: failure === undefined,
        usage: {
          input_tokens: tokens,
          output_tokens: 100,
          total_tokens: tokens + 100,
          source: 'reported',
          cost: { input: tokens * 2_500, output: 1_000_000, total: tokens * 2_500 + 1_000_000 },
          provider_id: `chatcmpl-${requestId.slice(9)}`,
        },
      },
    ],
    labels: ['web'],
    data: {
      api_key_hash: '0123456789abcdef',
      user_agent: 'openai-node/6.49.0',
      ...(failure === undefined
        ? {}
        : { error_message: `${failure[2]} (${Math.floor(random() * 1e6)})`, error_provider: provider }),
    },
  };
}
