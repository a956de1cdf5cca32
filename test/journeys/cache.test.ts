// The response cache as clients see it: what is served again, to whom, what they are told of it, and what it costs them.
import { t as suite, test } from 'tap';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { type GatewayRequest, startGateway } from '../support/gateway.ts';
import { issueKey } from '../support/issue-key.ts';
import { recordOf } from '../support/journal.ts';
import type { Response } from '../support/undici.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = {
  type: 'openai',
  base_url: upstream.url,
  api_key: `\${TEST_PROVIDER_KEY}`,
  models: [
    { id: 'fake-small', pricing: { input_per_mtok: 1_000_000, output_per_mtok: 1_000_000 } },
    'fake-large',
    'fake-embedding',
  ],
  dialects: ['chat', 'completions', 'responses', 'messages', 'embeddings'],
  circuit_breaker: false,
};
const cache = { enabled: true, ttl: '1h', without: ['/private'] };
const config = {
  cache,
  providers: { fake: provider },
  aliases: [{ source: 'chat', target: 'fake/fake-small' }],
  rate_limits: {
    user_paths: ['/limited', '/private/limited'].map((path) => ({
      path,
      limits: [{ period: 'minute', max_requests: 1 }],
    })),
    models: [{ model: 'fake/fake-small', limits: [{ period: 'hour', max_requests: 1_000 }] }],
  },
};
const gateway = await startGateway(suite, { config });
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

let questions = 0;
/** A question that was not asked before. */
const question = (): string => {
  questions += 1;
  return `question ${questions}`;
};
const chat = (content = question(), more: object = {}) => ({
  model: 'chat',
  messages: [{ role: 'user', content }],
  ...more,
});

interface Told {
  readonly status: number;
  readonly cache: string | null;
  readonly age: string | null;
  readonly headers: Response['headers'];
  readonly text: string;
  readonly calls: number;
}

/** Sends it; gives what came, and how many calls the provider got for it. */
async function ask(body: object | string, init: GatewayRequest = {}, path = '/v1/chat/completions'): Promise<Told> {
  const before = upstream.ledger.length;
  const response = await gateway.fetch(path, { method: 'POST', ...init, body });
  const text = await response.text();
  const headers = response.headers;
  const calls = upstream.ledger.length - before;
  return {
    status: response.status,
    cache: headers.get('x-gateway-cache'),
    age: headers.get('age'),
    headers,
    text,
    calls,
  };
}

const pathHeader = (userPath: string) => ({ 'x-gateway-user-path': userPath });

await test('an equal request gets the same answer, and no provider is asked', async (t) => {
  const body = chat();
  const first = await ask(body);
  t.match(first, { status: 200, cache: 'miss', age: null, calls: 1 });
  const second = await ask(body);
  t.match(second, { status: 200, cache: 'hit', age: /^\d+$/, calls: 0, text: first.text });
  t.not(second.headers.get('x-request-id'), first.headers.get('x-request-id'));
  t.match(second.headers.get('content-type'), 'application/json');
  const record = await recordOf(gateway, second.headers.get('x-request-id') ?? '');
  const [attempt, ...more] = record.attempts;
  t.match(record, { cache_type: 'exact', status_code: 200, resolved_model: 'fake/fake-small', alias_used: true });
  t.match(record.data?.workflow_features, { cache: true });
  t.same(more, []);
  t.match(attempt, { kind: 'cache', provider_name: 'fake', usage: { source: 'reported', cost: { total: 0 } } });
  const { usage } = JSON.parse(first.text) as { usage: { total_tokens: number } };
  t.equal(attempt?.usage?.total_tokens, usage.total_tokens);
  t.equal(await gateway.metric('gateway_cache_saved_tokens_total'), usage.total_tokens);
  t.equal(await gateway.metric('gateway_cache_saved_cost_dollars_total'), usage.total_tokens);
  t.equal(
    await gateway.metric('gateway_cache_requests_total', { endpoint: '/v1/chat/completions', outcome: 'hit' }),
    1,
  );
});

await test('what the client says of the cache is done', async (t) => {
  const body = chat();
  const says = (text: string) => ask(body, { headers: { 'cache-control': text } });
  t.match(await says('no-store'), { cache: 'bypass', calls: 1 });
  t.match(await says('max-age=60'), { cache: 'miss', calls: 1 }, 'nothing was kept');
  t.match(await says('max-age=60'), { cache: 'hit', calls: 0 });
  t.match(await says('No-Store, max-age=60'), { cache: 'bypass', calls: 1 });
  await upstream.behave({ kind: 'openai', content: 'A newer answer.' });
  t.match(await says('no-cache'), { cache: 'bypass', calls: 1, text: /A newer answer/ });
  t.match(await ask(body), { cache: 'hit', calls: 0, text: /A newer answer/ }, 'the new answer was kept');
  await new Promise((resolve) => setTimeout(resolve, 2));
  t.match(await says('max-age="0"'), { cache: 'miss', calls: 1 }, 'it is older');
  t.match(await says('only-if-cached, max-age=x'), { cache: 'hit' }, 'what is not known is passed over');
});

await test('requests that mean the same are equal, and others are not', async (t) => {
  const content = question();
  const messages = [{ role: 'user', content }];
  await ask({ model: 'chat', messages, temperature: 1 });
  for (const [claim, body] of Object.entries({
    order: { temperature: 1, messages, model: 'chat' },
    spaces: JSON.stringify({ model: 'chat', messages, temperature: 1 }, null, 2),
    blanks: `{"model": "chat", "messages": [{"role": "user", "content": "${content}"}], "temperature": 1}`,
    transport: {
      model: 'chat',
      messages,
      temperature: 1,
      user: 'u',
      metadata: { a: 'b' },
      stream: false,
      store: false,
    },
  })) {
    t.match(await ask(body), { cache: 'hit', calls: 0 }, claim);
  }
  for (const [claim, body] of Object.entries({
    number: { model: 'chat', messages, temperature: 0.5 },
    member: { model: 'chat', messages, temperature: 1, top_p: 1 },
    'blank in a text': { model: 'chat', messages: [{ role: 'user', content: `${content} ` }], temperature: 1 },
    model: { model: 'fake-small', messages, temperature: 1 },
  })) {
    t.match(await ask(body), { cache: 'miss', calls: 1 }, claim);
  }
  t.match(await ask(chat(content, { temperature: 1 }), { headers: pathHeader('/team') }), { cache: 'miss', calls: 1 });
});

await test('a request whose answer is tied to its provider has it made anew', async (t) => {
  const responses = { model: 'chat', input: question() };
  const text = JSON.stringify(chat()).replace('"model"', '"mod\\u0065l"');
  const rows: [claim: string, body: object | string, path?: string][] = [
    ['stored', chat(undefined, { store: true })],
    ['several choices of a stream', chat(undefined, { n: 2, stream: true })],
    ['a name that is written with escapes', text],
    ['a response that is stored', responses, '/v1/responses'],
    ['a response of a conversation', { ...responses, store: false, conversation: 'conv_1' }, '/v1/responses'],
    ['a response for later', { ...responses, store: false, Background: true }, '/v1/responses'],
  ];
  const message = { id: 'msg_1', type: 'message', content: [{ type: 'output_text', text: 'x' }] };
  const response = { id: 'resp_1', object: 'response', status: 'completed', output: [message] };
  for (const [claim, body, path] of rows) {
    if (path !== undefined) await upstream.behave({ kind: 'json', body: response });
    await ask(body, {}, path);
    t.match(await ask(body, {}, path), { status: 200, cache: 'bypass', calls: 1 }, claim);
  }
});

const choice = (more: object, message: object = {}) => ({
  id: 'c',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [{ index: 0, message: { role: 'assistant', content: 'x', ...message }, finish_reason: 'stop', ...more }],
});
const event = (value: object | string) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`;
const chunk = (delta: object, finish_reason: string | null) =>
  event({ id: 'c', choices: [{ index: 0, delta, finish_reason }] });

await test('only whole answers that every caller may get are kept', async (t) => {
  const rows: Record<string, Behaviour> = {
    'an error': { kind: 'error', status: 400 },
    'an error with status 200': { kind: 'json', body: { error: { message: 'no' } } },
    'no JSON': { kind: 'json', body: 'text' },
    'cut by its length': { kind: 'json', body: choice({ finish_reason: 'length' }) },
    filtered: { kind: 'json', body: choice({ finish_reason: 'content_filter' }) },
    unfinished: { kind: 'json', body: choice({ finish_reason: null }) },
    'a refusal': { kind: 'json', body: choice({}, { refusal: 'I cannot.' }) },
    'no choice': { kind: 'json', body: { ...choice({}), choices: [] } },
    'too long': { kind: 'json', body: choice({}, { content: 'x'.repeat(1024 * 1024) }) },
    'a stream that broke off': { kind: 'cut-chunk', after: 2 },
    'a stream that was cut by its length': {
      kind: 'sse',
      chunks: [chunk({ content: 'x' }, 'length'), event('[DONE]')],
    },
    'a stream without an end': { kind: 'sse', chunks: [chunk({ content: 'x' }, null)] },
  };
  for (const [claim, behaviour] of Object.entries(rows)) {
    const body = chat(undefined, claim.includes('stream') ? { stream: true } : {});
    for (const _ of [1, 2]) {
      await upstream.behave(behaviour);
      const before = upstream.ledger.length;
      await ask(body).catch(() => undefined);
      t.ok(upstream.ledger.length > before, claim);
    }
  }
});

await test('JSON serves a stream, and a stream serves JSON', async (t) => {
  const whole = chat();
  const { text } = await ask(whole);
  const streamed = await ask({ ...whole, stream: true, stream_options: { include_usage: true } });
  t.match(streamed, { status: 200, cache: 'hit', calls: 0 });
  t.match(streamed.headers.get('content-type'), 'text/event-stream');
  const told = streamed.text.split('\n\n').filter(Boolean);
  const {
    choices: [{ message }],
    usage,
  } = JSON.parse(text) as { choices: [{ message: { content: string } }]; usage: object };
  t.match(JSON.parse(told[0]?.slice(6) ?? ''), { object: 'chat.completion.chunk', choices: [{ delta: message }] });
  t.same(JSON.parse(told.at(-2)?.slice(6) ?? ''), { ...JSON.parse(told[0]?.slice(6) ?? ''), choices: [], usage });
  t.equal(told.at(-1), 'data: [DONE]');
  t.notMatch((await ask({ ...whole, stream: true })).text, '"usage"', 'the client did not ask for it');

  const body = chat(undefined, { stream: true });
  t.match(await ask(body), { cache: 'miss', calls: 1 });
  const folded = await ask({ ...body, stream: false });
  t.match(folded, { cache: 'hit', calls: 0 });
  t.match(JSON.parse(folded.text), { object: 'chat.completion', choices: [{ message, finish_reason: 'stop' }], usage });
  const replay = await ask(body);
  t.match(replay, { cache: 'hit', calls: 0, text: /data: \[DONE\]/ });
  t.equal(replay.headers.get('content-length'), String(replay.text.length), 'all of it is there, and is sent at once');
});

await test('embeddings are kept as they are', async (t) => {
  const body = { model: 'fake-embedding', input: question() };
  const { text } = await ask(body, {}, '/v1/embeddings');
  t.match(await ask(body, {}, '/v1/embeddings'), { cache: 'hit', calls: 0, text });
});

await test('an answer that was kept counts nothing, and one that was not is refused as ever', async (t) => {
  const headers = pathHeader('/limited');
  const body = chat();
  const first = await ask(body, { headers });
  t.match(first, { status: 200, cache: 'miss' });
  t.equal(first.headers.get('x-ratelimit-remaining-requests'), '0');
  for (const _ of [1, 2]) {
    const hit = await ask(body, { headers });
    t.match(hit, { status: 200, cache: 'hit', calls: 0 });
    t.equal(hit.headers.get('x-ratelimit-limit-requests'), null);
  }
  const refused = await ask(chat(), { headers });
  t.match(refused, { status: 429, calls: 0 });
  const rule = refused.headers.get('x-gateway-rule') ?? '';
  t.match(JSON.parse(refused.text), { error: { type: 'rate_limit_error', code: 'rate_limit_exceeded', param: null } });
  const plain = { headers: pathHeader('/private/limited') };
  await ask(body, plain);
  const early = await ask(chat(), plain);
  t.match(early, { status: 429, cache: null });
  const names = ['x-ratelimit-limit-requests', 'x-ratelimit-remaining-requests', 'x-should-retry'];
  for (const name of names) t.equal(refused.headers.get(name), early.headers.get(name), name);
  t.ok(Math.abs(Number(refused.headers.get('retry-after')) - Number(early.headers.get('retry-after'))) <= 2);
  t.match(
    await ask(body, { headers }),
    { status: 200, cache: 'hit' },
    'a caller beyond its limit still gets what was kept',
  );
  t.equal(
    await gateway.metric('gateway_rate_limit_decisions_total', { rule, outcome: 'allow', dimension: 'requests' }),
    1,
  );
});

await test('user paths without cache are served as ever', async (t) => {
  const body = chat();
  const headers = pathHeader('/private/app');
  await ask(body, { headers });
  t.match(await ask(body, { headers }), { status: 200, cache: null, calls: 1 });
});

await test('no answer of a former target, address or setting is served after a reload', async (t) => {
  const other = await startFakeUpstream({
    t,
    models: provider.models.map((model) => (typeof model === 'string' ? model : model.id)),
  });
  await other.behave({ kind: 'openai', content: 'From elsewhere.' });
  const body = chat();
  const inForce = async (changed: object) => gateway.applyConfig({ 'gateway.yaml': { ...config, ...changed } });
  t.match(await ask(body), { cache: 'miss' });
  await inForce({ aliases: [{ source: 'chat', target: 'fake/fake-large' }] });
  t.match(await ask(body), { cache: 'miss', text: /fake-large/ }, 'another target');
  await inForce({ providers: { fake: { ...provider, base_url: other.url } } });
  t.match(await ask(body), { cache: 'miss', calls: 0, text: /From elsewhere/ }, 'another address');
  await inForce({ providers: { fake: { ...provider, headers: { 'openai-project': 'p' } } } });
  t.match(await ask(body), { cache: 'miss' }, 'another setting');
  await inForce({ cache: { ...cache, enabled: false } });
  t.match(await ask(body), { cache: null, calls: 1 });
  await inForce({ cache: { ...cache, only_deterministic: true } });
  t.match(await ask(body), { cache: 'bypass' });
  for (const more of [{ temperature: 0 }, { seed: 7 }]) {
    const same = chat(undefined, more);
    await ask(same);
    t.match(await ask(same), { cache: 'hit' }, JSON.stringify(more));
  }
  await inForce({});
});

await test('keys without a path share no answers, though they share the path /', async (t) => {
  const [one, other] = await Promise.all([issueKey(suite, gateway, {}), issueKey(suite, gateway, {})]);
  const body = chat();
  const as = (secret: string) => ask(body, { headers: { authorization: `Bearer ${secret}` } });
  t.equal((await as(one)).cache, 'miss');
  t.equal((await as(one)).cache, 'hit');
  t.equal((await as(other)).cache, 'miss');
});
