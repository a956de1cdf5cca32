// Secrets that are sent through every door of a gateway, in every place there is for one. A word stands in all of them, so that a search for
// it finds what is left of any.

import { startFakeRealtime } from '../support/fake-realtime.ts';
import { type Behaviour, type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway, GatewayRequest } from '../support/gateway.ts';
import { openSession } from '../support/realtime-client.ts';
import type { Teardown } from '../support/teardown.ts';

const word = 'CANARY';

/** The word within base64, at each of the three places it may begin at. */
const encoded = [0, 1, 2].map((lead) => {
  const text = Buffer.concat([Buffer.alloc(lead), Buffer.from(word)]).toString('base64');
  return text.slice(Math.ceil((lead * 8) / 6), Math.floor(((lead + word.length) * 8) / 6));
});
const needles = new RegExp([word, ...encoded].join('|'), 'g');

/** What of a secret stands in a text, with what is around it. Nothing but these words is ever sent with it. */
export function found(text: string): string[] {
  return [...text.matchAll(needles)].map(({ index }) => text.slice(Math.max(0, index - 60), index + 60));
}

/** Secrets of the gateway itself: none has a form that is known. */
export const own = {
  GATEWAY_MASTER_KEY: `the-master-key-of-the-${word}-42`,
  TEST_PROVIDER_KEY: `q7w8e9r0${word}t1y2u3i4`,
  TEST_PROVIDER_HEADER: `h7w8e9r0${word}t1y2u3i4`,
} as const;
/** The login of a client to the provider, where it brings that itself. */
const login = `l7w8e9r0${word}t1y2u3i4`;
/** Whose credentials providers are asked with. */
export type Asker = 'gateway' | 'client';
/** The secret with which a provider is asked. */
const secretOf = (asker: Asker): string => (asker === 'client' ? login : own.TEST_PROVIDER_KEY);
/** What is no secret, and stands in the body of each request. */
export const marker = (door: string): string => `nothing secret at ${door}`;

/** How keys of some kinds begin; each of the kinds may be followed by letters and digits. */
const kinds = [
  'sk-',
  'sk-ant-api03-',
  'sk-proj-',
  'ghp_',
  'gsk_',
  'xoxb-',
  'AIza',
  'glpat-',
  'github_pat_',
  'sk-gw-',
  'sk_live_',
];
let count = 0;

function drawn(): number {
  count += 1;
  return count;
}

/** Another one with each call, of one kind after the other. */
export function canary(): string {
  const number = drawn();
  return `${kinds[number % kinds.length]}${word}${String(number).padStart(16, '0')}`;
}

/** Has no form: only where it stands tells that it is a secret. */
const formless = (): string => `of-the-${word}-${drawn()}`;

interface Request {
  readonly door: string;
  readonly path: string;
  readonly body: string | object;
  readonly headers?: Record<string, string>;
}

function form(door: string, fields: Readonly<Record<string, string>>): Request['body'] {
  const parts = Object.entries({ ...fields, note: marker(door), prompt: canary() }).map(
    ([name, value]) => `--B\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  const file = `--B\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n\r\n${canary()}\r\n`;
  return `${parts.join('')}${file}--B--\r\n`;
}

const asForm = { 'content-type': 'multipart/form-data; boundary=B' };
const line = (secret: string) => ({ custom_id: 'one', params: { model: 'claude', messages: [], note: secret } });

/** One request for each door, the form of its endpoint with a secret in its words. */
function doors(asker: Asker): Request[] {
  const says = (door: string) => `${marker(door)}:\n${canary()}\nBearer ${jwt}`;
  const messages = (door: string) => [{ role: 'user', content: says(door) }];
  const simple = (path: string, more: object): Request => ({
    door: path,
    path: `/v1/${path}`,
    body: { model: 'small', ...more, metadata: { note: marker(path), key: canary() } },
  });
  const upload = (path: string, fields: Readonly<Record<string, string>>): Request => {
    return { door: path, path: `/v1/${path}`, body: form(path, fields), headers: asForm };
  };
  return [
    simple('chat/completions', { messages: messages('chat/completions') }),
    simple('completions', { prompt: says('completions') }),
    simple('responses', { input: says('responses'), previous_response_id: canary() }),
    simple('messages', { model: 'claude', max_tokens: 9, messages: messages('messages') }),
    simple('embeddings', { input: says('embeddings') }),
    simple('moderations', { input: says('moderations') }),
    simple('rerank', { query: says('rerank'), documents: [canary()] }),
    simple('audio/speech', { input: says('audio/speech'), voice: 'alloy' }),
    simple('images/generations', { prompt: says('images/generations') }),
    upload('audio/transcriptions', { model: 'small' }),
    upload('images/edits', { model: 'small' }),
    upload('files', { purpose: 'user_data', provider: 'fake' }),
    simple('batches', { input_file_id: canary(), endpoint: '/v1/chat/completions', completion_window: '24h' }),
    { ...simple('messages/batches', {}), body: { requests: [line(`${marker('messages/batches')} ${canary()}`)] } },
    { ...simple('passed', { model: canary() }), path: '/p/fake/v1/chat/completions' },
    { ...simple('anything', {}), path: `/p/fake/keys/${canary()}/${secretOf(asker)}` },
  ];
}

const jwt = [{ alg: 'HS256' }, { [word]: '10' }, 'signature']
  .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
  .join('.');

/** What a provider says that quotes all it was asked, its own keys, and one of them in base64. */
function echo(status: number, request: Request, asker: Asker): Behaviour {
  const secret = secretOf(asker);
  const keys = [`Bearer ${secret}`, own.TEST_PROVIDER_HEADER, canary()];
  const asked = JSON.stringify(request.body);
  const message = `${keys.join(' ')} ${asked}`;
  if (status === 200) {
    const choices = [{ index: 0, message: { role: 'assistant', content: message }, finish_reason: 'stop' }];
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
    return { kind: 'json', body: { id: 'a-1', model: 'small', choices, usage, echo: request.body, keys } };
  }
  const base64 = Buffer.from(secret).toString('base64');
  const headers: [string, string][] = [
    ['x-debug', keys.join(' ')],
    ['anthropic-ratelimit-unified-status', `rejected ${secret}`],
    ['www-authenticate', secret],
  ];
  return { kind: 'json', status, body: { error: { message: `${message} ${base64}`, code: canary() } }, headers };
}

/** Headers that hold secrets by their name, and others that hold them in words. */
function secretHeaders(): Record<string, string> {
  return {
    cookie: `session=${formless()}`,
    'x-auth-token': formless(),
    'x-amz-security-token': formless(),
    'proxy-authorization': `Basic ${Buffer.from(`user:${word}`).toString('base64')}`,
    'x-note': `for ${canary()} of ${own.GATEWAY_MASTER_KEY}`,
    'user-agent': `agent/1 (${canary()}; ${own.GATEWAY_MASTER_KEY})`,
    'x-session-id': canary(),
    'x-request-id': canary(),
    referer: `http://localhost/?access_token=${formless()}`,
  };
}

/** The configuration of a gateway for these requests, and its providers. */
export async function startCanaries(t: Teardown, asker: Asker = 'gateway') {
  const upstream = await startFakeUpstream({ t });
  const voice = await startFakeRealtime(t);
  const provider = {
    base_url: `${upstream.url}?version=\${TEST_PROVIDER_HEADER}`,
    ...(asker === 'client' ? { auth: 'client' } : { api_key: `\${TEST_PROVIDER_KEY}` }),
    headers: { 'x-team': `\${TEST_PROVIDER_HEADER}` },
    circuit_breaker: false,
    learn_limits: false,
  };
  const dialects = ['chat', 'completions', 'responses', 'embeddings', 'audio', 'images', 'moderations', 'rerank'];
  const config = {
    server: { access_log: 'all' },
    audit: { bodies: true, headers: true },
    providers: {
      fake: { ...provider, type: 'openai', models: ['small'], dialects },
      claude: { ...provider, type: 'anthropic', models: ['claude'] },
      voice: { ...provider, base_url: voice.url, type: 'openai', models: ['gpt-realtime'], dialects: ['realtime'] },
    },
  };
  return { upstream, config };
}

/** Sends all of them. Gives how many of them are recorded at least: of several strangers in a second one is. */
export async function sendAll(gateway: Gateway, upstream: FakeUpstream, asker: Asker = 'gateway'): Promise<number> {
  let sent = 1;
  const masterKey = `Bearer ${own.GATEWAY_MASTER_KEY}`;
  const credentials: Record<string, string> =
    asker === 'client'
      ? { authorization: `Bearer ${login}`, 'x-gateway-key': masterKey }
      : { authorization: masterKey };
  const ask = async (path: string, init: GatewayRequest): Promise<void> => {
    sent += 1;
    const answer = await gateway.fetch(path, { method: 'POST', ...init, headers: { ...credentials, ...init.headers } });
    await answer.text();
  };
  /** What is no request of a model has no record. */
  const other = async (path: string): Promise<void> => {
    const answer = await gateway.fetch(path, { headers: credentials });
    await answer.text();
  };
  for (const status of [200, 401]) {
    for (const request of doors(asker)) {
      await upstream.behave(echo(status, request, asker));
      const query = `?api_key=${formless()}&provider=fake&note=${canary()}`;
      await ask(request.path + query, { body: request.body, headers: { ...secretHeaders(), ...request.headers } });
    }
  }
  const said = { type: 'message', role: 'assistant', content: [], stop_reason: 'end_turn', usage: {} };
  await upstream.behave({ kind: 'json', body: { id: 'm-1', model: 'claude', ...said } });
  await ask('/v1/chat/completions', { body: { ...chat, model: 'claude', [canary()]: 1, user: canary() } });
  await upstream.behave({ kind: 'openai' });
  for (const init of [...strangers(), ...oddRequests(asker)]) await ask('/v1/chat/completions', init);
  sent -= strangers().length;
  const whole = canary();
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content } }] })}\n\n`;
  const pieces = [whole.slice(0, 5), whole.slice(5, 15), whole.slice(15)].map(chunk);
  await upstream.behave({ kind: 'sse', chunks: [...pieces, 'data: [DONE]\n\n'] });
  await ask('/v1/chat/completions', { body: { ...chat, stream: true } });
  for (const path of ['files', 'batches']) await ask(`/v1/${path}/${canary()}`, { method: 'GET' });
  for (const path of ['responses', 'models', canary()]) await other(`/v1/${path}/${canary()}?api_key=${formless()}`);
  const inProtocol = { authorization: undefined };
  const session = await openSession(gateway, {
    headers: { ...secretHeaders(), ...(asker === 'client' ? credentials : inProtocol) },
    protocols: ['realtime', `openai-insecure-api-key.${own.GATEWAY_MASTER_KEY}`, `other-api-key.${formless()}`],
    query: `?model=gpt-realtime&api_key=${formless()}&note=${canary()}`,
  });
  session.say({ type: 'response.create', secret: canary() });
  session.socket.close();
  await session.closed;
  return sent;
}

const chat = { model: 'small', messages: [{ role: 'user', content: 'Hello' }] };

/** Those whose own key is not known. */
function strangers(): GatewayRequest[] {
  return [
    { body: chat, headers: { authorization: `Bearer ${canary()}` } },
    { body: chat, headers: { authorization: '', 'x-api-key': formless() } },
    { body: chat, headers: { authorization: `Basic ${Buffer.from(`user:${word}`).toString('base64')}` } },
  ];
}

/** Those in which a secret stands where none is expected. */
function oddRequests(asker: Asker): GatewayRequest[] {
  const [unicode] = canary().split(word) as [string];
  const escaped = `${unicode}\\u0043${word.slice(1)}0000000000000000`;
  return [
    { body: { ...chat, model: canary() } },
    { body: { ...chat, note: `I am ${own.GATEWAY_MASTER_KEY}, asking with ${secretOf(asker)}` } },
    { body: JSON.stringify({ ...chat, note: 'ESCAPED' }).replace('ESCAPED', escaped) },
    { body: `{"model": "small", ${canary()}` },
    { body: `api_key=${canary()}`, headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    { body: { ...chat, [canary()]: 1 } },
  ];
}
