// Answers of an OpenAI-compatible provider, computed from the request alone, so that every run gives the same bytes.
import type { Entry, Field, Usage } from './entry.ts';

/** An answer before framing: `chunks` of a stream are its events, a JSON answer is one chunk. */
export interface Answer {
  status: number;
  headers: Field[];
  chunks: string[];
  streaming: boolean;
  usage?: Usage;
}

export interface AnswerOptions {
  /** The words of the assistant; a token per word. */
  content?: string;
  /** Reported instead of the counted tokens. */
  usage?: Usage;
}

interface ChatRequest {
  model?: unknown;
  messages?: unknown;
  stream?: unknown;
  stream_options?: { include_usage?: unknown } | null;
}

interface EmbeddingRequest {
  model?: unknown;
  input?: unknown;
  dimensions?: unknown;
  encoding_format?: unknown;
}

const created = 1_767_225_600;
const defaultContent = 'Hello from the fake upstream, which speaks word by word.';

/** Account facts that a provider puts on its answers and that must not pass through a gateway unnoticed. */
function accountHeaders(entry: Entry): Field[] {
  return [
    ['x-request-id', `req_fake_${entry.id}`],
    ['openai-organization', 'org-fake'],
    ['x-ratelimit-limit-requests', '10000'],
    ['x-ratelimit-remaining-requests', '9999'],
    ['set-cookie', '__cf_bm=fake-canary; path=/; HttpOnly'],
  ];
}

/** The answer a healthy provider gives to this request: by path, and by the body's `stream`. */
export function believableAnswer(entry: Entry, models: readonly string[], options: AnswerOptions = {}): Answer {
  const route = `${entry.method} ${entry.path}`;
  if (route === 'GET /v1/models') return json(entry, { object: 'list', data: models.map(describeModel) });
  if (route.startsWith('GET /v1/models/')) {
    const id = decodeURIComponent(entry.path.slice('/v1/models/'.length));
    return models.includes(id)
      ? json(entry, describeModel(id))
      : failure(entry, 404, `The model '${id}' does not exist`);
  }
  const known = route === 'POST /v1/chat/completions' || route === 'POST /v1/embeddings';
  if (!known) return failure(entry, 404, `Invalid URL (${route})`);
  const body = entry.json();
  if (typeof body !== 'object' || body === null)
    return failure(entry, 400, 'We could not parse the JSON body of your request.');
  return route === 'POST /v1/embeddings' ? embeddings(entry, body) : chat(entry, body, options);
}

/** An error in the provider's own words and envelope. */
export function failure(entry: Entry, status: number, message?: string, headers: Field[] = []): Answer {
  const [code, type, text] = failures[status] ?? [
    null,
    status < 500 ? 'invalid_request_error' : 'server_error',
    `Error ${status}`,
  ];
  const body = { error: { message: message ?? text, type, param: null, code } };
  return { ...json(entry, body), status, headers: [...json(entry, body).headers, ...headers] };
}

const failures: Record<number, readonly [code: string | null, type: string, message: string]> = {
  401: ['invalid_api_key', 'invalid_request_error', 'Incorrect API key provided.'],
  403: ['unsupported_country_region_territory', 'request_forbidden', 'Country, region, or territory not supported'],
  404: ['model_not_found', 'invalid_request_error', 'The model does not exist or you do not have access to it.'],
  429: ['rate_limit_exceeded', 'requests', 'Rate limit reached for requests per min (RPM).'],
  500: [null, 'server_error', 'The server had an error while processing your request. Sorry about that!'],
  503: [null, 'service_unavailable', 'The engine is currently overloaded, please try again later'],
};

function chat(entry: Entry, request: ChatRequest, options: AnswerOptions): Answer {
  const words = (options.content ?? defaultContent).match(/\S+\s*/g) ?? [];
  const prompt = countWords(request.messages);
  const usage = options.usage ?? {
    prompt_tokens: prompt,
    completion_tokens: words.length,
    total_tokens: prompt + words.length,
  };
  const facts = { id: `chatcmpl-fake-${entry.id}`, created, model: request.model };
  if (request.stream !== true) {
    const message = { role: 'assistant', content: words.join(''), refusal: null };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
    const body = { ...facts, object: 'chat.completion', choices, usage, system_fingerprint: 'fp_fake' };
    return { ...json(entry, body), usage };
  }
  const withUsage = request.stream_options?.include_usage === true;
  const event = (choices: object[], last?: Usage) => {
    const chunk = { ...facts, object: 'chat.completion.chunk', system_fingerprint: 'fp_fake', choices };
    return `data: ${JSON.stringify(withUsage ? { ...chunk, usage: last ?? null } : chunk)}\n\n`;
  };
  const delta = (content: object, finish: string | null = null) =>
    event([{ index: 0, delta: content, logprobs: null, finish_reason: finish }]);
  const chunks = [
    delta({ role: 'assistant', content: '', refusal: null }),
    ...words.map((content) => delta({ content })),
    delta({}, 'stop'),
    ...(withUsage ? [event([], usage)] : []),
    'data: [DONE]\n\n',
  ];
  const headers: Field[] = [
    ['content-type', 'text/event-stream; charset=utf-8'],
    ['cache-control', 'no-cache'],
  ];
  return { status: 200, headers: [...headers, ...accountHeaders(entry)], chunks, streaming: true, usage };
}

function embeddings(entry: Entry, request: EmbeddingRequest): Answer {
  const single =
    typeof request.input === 'string' || (Array.isArray(request.input) && typeof request.input[0] === 'number');
  const inputs = single ? [request.input] : Array.isArray(request.input) ? request.input : [];
  const size = typeof request.dimensions === 'number' ? request.dimensions : 8;
  const data = inputs.map((input, index) => {
    const vector = unitVector(JSON.stringify(input), size);
    const embedding =
      request.encoding_format === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector];
    return { object: 'embedding', index, embedding };
  });
  const tokens = countWords(inputs);
  const usage = { prompt_tokens: tokens, completion_tokens: 0, total_tokens: tokens };
  const reported = { prompt_tokens: tokens, total_tokens: tokens };
  return { ...json(entry, { object: 'list', data, model: request.model, usage: reported }), usage };
}

function json(entry: Entry, body: object): Answer {
  const headers: Field[] = [['content-type', 'application/json'], ...accountHeaders(entry)];
  return { status: 200, headers, chunks: [JSON.stringify(body)], streaming: false };
}

function describeModel(id: string) {
  return { id, object: 'model', created, owned_by: 'fake' };
}

/** Every word of every text, and every number (a token), anywhere inside. */
function countWords(value: unknown): number {
  if (typeof value === 'string') return value.match(/\S+/g)?.length ?? 0;
  if (typeof value === 'number') return 1;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, part) => sum + countWords(part), 0);
}

function unitVector(text: string, size: number): Float32Array<ArrayBuffer> {
  let seed = 7;
  for (const letter of text) seed = (seed * 31 + (letter.codePointAt(0) ?? 0)) % 65_521;
  const raw = Float32Array.from({ length: size }, (_, index) => Math.sin(seed + index));
  const norm = Math.hypot(...raw);
  return raw.map((part) => part / norm);
}
