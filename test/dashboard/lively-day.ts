// The records of a day of several teams, for pictures: quiet nights, a bad half hour in the morning, and a provider that begins to fail just now.
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { recordId } from '../../store/records/record-id.ts';
import { createRandom } from '../support/random.ts';
import { openRecordObjects } from '../support/record-objects.ts';
import type { SampleModels } from './setup-samples.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const consumers = ['/team-a/app', '/team-a/app', '/team-a/batch', '/team-b', '/research/papers', '/support/bot'];
const random = createRandom(21);
const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;

/** Adds them to the records in a data directory, up to `nowMs` (Unix milliseconds). */
export async function addLivelyDay(directory: string, models: SampleModels, nowMs: number): Promise<void> {
  const store = openRecordObjects({ directory });
  for (let atMs = nowMs - 30 * hourMs; atMs < nowMs - minuteMs; atMs += 10 * minuteMs) {
    const records = Array.from({ length: 10 }, (_, minute) => ofMinute(atMs + minute * minuteMs, models, nowMs)).flat();
    await store.add(records.filter(({ started_ms }) => started_ms < nowMs - 20_000));
  }
  await store.close();
}

/** Most come in the afternoon. */
function ofMinute(atMs: number, models: SampleModels, nowMs: number): RequestRecord[] {
  const hour = (atMs / hourMs) % 24;
  const busy = 1 + 9 * Math.max(0, Math.cos(((hour - 14) / 24) * 2 * Math.PI)) + 3 * random();
  return Array.from({ length: Math.round(busy) }, () => ofRequest(atMs + random() * minuteMs, models, nowMs));
}

function ofRequest(atMs: number, { large, small }: SampleModels, nowMs: number): RequestRecord {
  const hour = (atMs / hourMs) % 24;
  const isChat = random() < 0.6;
  const provider_name = isChat && random() < 0.25 ? 'reserve' : 'fake';
  const model = isChat ? large : small;
  const isBad = hour > 7.6 && hour < 8.1 && nowMs - atMs < 20 * hourMs;
  const isFailing = isChat && provider_name === 'reserve' && nowMs - atMs < 14 * minuteMs;
  const fails = random() < (isFailing ? 0.4 : isBad ? 0.18 : 0.003);
  const isRefused = !fails && random() < 0.02;
  const status_code = fails ? 502 : isRefused ? 429 : 200;
  const first = (isChat ? 420 : 160) * (isBad ? 3 : 1) * Math.exp(0.9 * (random() + random() - 1));
  const whole = first + (isChat ? 2_600 : 500) * Math.exp(1.4 * (random() + random() - 1));
  const [input, output] = [Math.round(200 + 3_000 * random() ** 2), Math.round(20 + 500 * random() ** 2)];
  const price = isChat ? 3_000 : 200;
  const cost = { input: input * price, output: output * price * 4, total: input * price + output * price * 4 };
  const usage = {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    source: 'reported' as const,
  };
  const started_ms = Math.floor(atMs);
  const answered = { duration_ns: Math.round(whole * 1e6), first_byte_ns: Math.round(first * 1e6) };
  const attempt = {
    seq: 1,
    kind: 'primary' as const,
    model,
    provider_name,
    provider_type: 'openai',
    started_ms,
    duration_ns: answered.duration_ns,
    status_code,
    success: !fails,
    ...(fails ? {} : { usage: { ...usage, cost } }),
  };
  const refused = { duration_ns: 900_000, error_type: 'rate_limit_error' as const, attempts: [] };
  return {
    id: recordId(started_ms),
    request_id: `req_${Math.floor(random() * 2 ** 48).toString(16)}`,
    started_ms,
    method: 'POST',
    path: '/v1/chat/completions',
    status_code,
    stream: isChat,
    requested_model: isChat ? 'chat' : `fake/${small}`,
    resolved_model: `${provider_name}/${model}`,
    provider: 'openai',
    provider_name,
    user_path: pick(consumers),
    auth_method: 'api_key',
    client_ip: '10.1.2.3',
    alias_used: isChat,
    ...(fails ? { duration_ns: answered.duration_ns, error_type: 'provider_error' as const } : answered),
    attempts: [attempt],
    ...(isRefused ? refused : {}),
    data: { user_agent: pick(['openai-node/6.49.0', 'anthropic-python/0.71', 'curl/8.5', 'editor/2.3']) },
  };
}
