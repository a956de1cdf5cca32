// The semantic cache as clients see it: who gets the answer to a request that means the same, what that is told of, and what happens without embeddings.
import { t as suite, test } from 'tap';
import { vectorOf } from '../support/embedding.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type GatewayRequest, startGateway } from '../support/gateway.ts';
import { journaled } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

const [upstream, embedder] = await Promise.all([
  startFakeUpstream({ t: suite, models: ['m'] }),
  startFakeUpstream({ t: suite, models: ['e'] }),
]);

const embeds = (length = 4) => embedder.behave((entry) => vectorOf(entry, length));
await embeds();

const semantic = { model: 'e', threshold: 0.92, timeout_ms: 5_000 };
const cache = { enabled: true, semantic };
const provider = { type: 'openai', base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, models: ['m'] };
const embeddings = {
  ...provider,
  base_url: embedder.url,
  models: [{ id: 'e', pricing: { input_per_mtok: 1_000_000, output_per_mtok: 0 } }],
  circuit_breaker: false,
};
const limits = [{ period: 'minute', max_requests: 1 }];
const config = {
  cache,
  providers: { fake: { ...provider, dialects: ['chat', 'responses', 'messages'] }, embeddings },
  rate_limits: { user_paths: [{ path: '/limited', limits }] },
};
const gateway = await shareGateway({ config });
const inForce = (changed: object) => gateway.applyConfig({ 'gateway.yaml': { ...config, ...changed } });

let talks = 0;
/** A new conversation: its system prompt is different from all others. */
const talk = (more: object = {}) => {
  talks += 1;
  const system = { role: 'system', content: `talk ${talks}` };
  return (content: unknown, other: object = {}) => ({
    model: 'm',
    messages: [system, { role: 'user', content }],
    ...more,
    ...other,
  });
};

/** Sends it; gives what came, and how many calls both providers got for it. */
async function ask(body: object, init: GatewayRequest = {}, path = '/v1/chat/completions') {
  const before = [upstream.ledger.length, embedder.ledger.length] as const;
  const response = await gateway.fetch(path, { method: 'POST', ...init, body });
  const text = await response.text();
  const { headers, status } = response;
  return {
    status,
    text,
    cache: headers.get('x-gateway-cache'),
    age: headers.get('age'),
    type: headers.get('content-type'),
    id: headers.get('x-request-id') ?? '',
    calls: upstream.ledger.length - before[0],
    embedded: embedder.ledger.length - before[1],
  };
}

/** Until the embedding of an answer that was just given can be found. */
async function settled(run: () => Promise<unknown>): Promise<void> {
  const before = (await gateway.metric('gateway_cache_semantic_entries')) ?? 0;
  await run();
  await waitFor('the embedding', async () => ((await gateway.metric('gateway_cache_semantic_entries')) ?? 0) > before);
}

/** What is recorded of a request at an endpoint: the embedding has the id of the request that it is for. */
const recordAt = (path: string, id: string) =>
  waitFor(`the record of ${id} at ${path}`, () =>
    journaled(gateway).find((record) => record.request_id === id && record.path === path),
  );
const chatRecord = (id: string) => recordAt('/v1/chat/completions', id);

const outcome = (name: string) => gateway.metric('gateway_cache_semantic_total', { outcome: name });

await test('a request that means the same gets the answer; an equal one needs no embedding', async (t) => {
  const say = talk();
  let first = await ask(say('other @0.5'));
  t.match(first, { status: 200, cache: 'miss', calls: 1, embedded: 1 });
  await settled(async () => {
    first = await ask(say('hello @1'));
  });
  t.match(first, { cache: 'miss', calls: 1, embedded: 1 });
  t.match(await ask(say('hello @1')), { cache: 'hit', calls: 0, embedded: 0 });
  const second = await ask(say('good day @0.92'));
  t.match(second, { status: 200, cache: 'hit', age: /^\d+$/, calls: 0, embedded: 1, text: first.text });
  const record = await chatRecord(second.id);
  t.match(record, { cache_type: 'semantic', status_code: 200, resolved_model: 'fake/m', provider_name: 'fake' });
  const matched = /^[\w-]{43}$/;
  t.match(record.data?.semantic_cache, { outcome: 'hit', threshold: 0.92, similarity: 0.92, matched });
  const [attempt] = record.attempts;
  t.match(attempt, { kind: 'cache', usage: { cost: { total: 0 } } });
  t.equal(
    attempt?.usage?.total_tokens,
    (JSON.parse(first.text) as { usage: { total_tokens: number } }).usage.total_tokens,
  );
  t.equal(record.asked_by, undefined, 'a client has');
  const exact = await chatRecord(first.id);
  t.match(exact.data?.semantic_cache, { outcome: 'miss', similarity: 0.5 }, 'the nearest one is told of, too');
  const own = await recordAt('/v1/embeddings', second.id);
  t.match(own, { user_path: '/cache/semantic', asked_by: 'gateway', attempts: [{ usage: { input_tokens: 5 } }] });
  t.equal(await outcome('hit'), 1);
  t.equal(await outcome('miss'), 2);
});

await test('below the threshold, and with anything else that differs, an answer is made', async (t) => {
  const say = talk();
  await settled(() => ask(say('a @1')));
  const near = say('b @0.99');
  for (const [claim, body] of Object.entries({
    'not near enough': say('a @0.919999'),
    parameter: say('b @0.99', { temperature: 0 }),
    tool: say('b @0.99', { tools: [{ type: 'function', function: { name: 'f' } }] }),
    'system prompt': talk()('b @0.99'),
    attachment: say([
      { type: 'text', text: 'b @0.99' },
      { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
    ]),
    model: { ...near, model: 'fake/m' },
  }))
    t.match(await ask(body), { cache: 'miss', calls: 1, embedded: 1 }, claim);
  const headers = { 'x-gateway-user-path': '/team-b' };
  t.match(await ask(near, { headers }), { cache: 'miss', calls: 1, embedded: 1 }, 'scope');
  t.match(await ask(near), { cache: 'hit', calls: 0 });
});

await test('a stream is served by JSON and the other way round, in every dialect', async (t) => {
  const say = talk();
  await settled(() => ask(say('a @1')));
  const streamed = await ask(say('b @0.99', { stream: true }));
  t.match(streamed, { cache: 'hit', calls: 0, type: /^text\/event-stream/, text: /data: \[DONE\]\n\n$/ });
  const other = talk({ stream: true });
  await settled(() => ask(other('a @1')));
  t.match(await ask(other('b @0.99', { stream: false })), { cache: 'hit', calls: 0, type: /^application\/json/ });

  const message = {
    type: 'message',
    role: 'assistant',
    content: [{ type: 'text', text: 'hi' }],
    stop_reason: 'end_turn',
  };
  await upstream.behave({ kind: 'json', body: { id: 'msg_1', model: 'm', ...message } });
  const messages = (content: string) => ({ model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] });
  await settled(() => ask(messages('a @1'), {}, '/v1/messages'));
  t.match(await ask(messages('b @0.99'), {}, '/v1/messages'), { cache: 'hit', calls: 0, text: /"msg_1"/ });
  const part = { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] };
  const response = { id: 'resp_1', object: 'response', status: 'completed', model: 'm', output: [part] };
  await upstream.behave({ kind: 'json', body: response });
  const responses = (input: string) => ({ model: 'm', store: false, input });
  await settled(() => ask(responses('a @1'), {}, '/v1/responses'));
  t.match(await ask(responses('b @0.99'), {}, '/v1/responses'), { cache: 'hit', calls: 0, text: /"resp_1"/ });
  await upstream.behave({ kind: 'openai' });
});

await test('what a client says of the cache holds for it, too', async (t) => {
  const say = talk();
  await settled(() => ask(say('a @1')));
  const says = (text: string) => ({ headers: { 'cache-control': text } });
  for (const text of ['no-cache', 'no-store'])
    t.match(await ask(say('b @0.99'), says(text)), { cache: 'bypass', calls: 1, embedded: 0 }, text);
  await new Promise((resolve) => setTimeout(resolve, 2));
  t.match(await ask(say('c @0.99'), says('max-age=0')), { cache: 'miss', calls: 1, embedded: 1 });
  const long = say('d @1');
  const turns = [1, 2].flatMap((turn) => [
    { role: 'user', content: `${turn}` },
    { role: 'assistant', content: 'x' },
  ]);
  const body = { ...long, messages: [...turns, ...long.messages] };
  t.match(await ask(body), { cache: 'miss', calls: 1, embedded: 0 }, 'too long a conversation');
  t.equal(await outcome('skipped'), 1);
});

await test('a hit is served where the rules of its caller are used up, and counts nothing; a miss is refused', async (t) => {
  const say = talk();
  const init = { headers: { 'x-gateway-user-path': '/limited' } };
  await settled(() => ask(say('a @1'), init));
  for (const text of ['b', 'c', 'd']) {
    const hit = await ask(say(`${text} @0.99`), init);
    t.match(hit, { status: 200, cache: 'hit', calls: 0, embedded: 1 }, 'its embedding counts for no user path');
  }
  t.match(await ask(say('other @0.5'), init), { status: 429, calls: 0 });
  const windows = (await (await gateway.fetch('/v1/usage', init)).json()) as { rate_limits: object[] };
  t.match(windows.rate_limits, [{ requests_used: 1, tokens_used: Number }]);
  const own = () => journaled(gateway).filter(({ user_path }) => user_path === '/limited/cache/semantic');
  await waitFor('the usage of the gateway below the path of its caller', () => own().length === 5);
});

await test('a reload that changes the model of embeddings, or the length of its vectors, compares nothing of before', async (t) => {
  const say = talk();
  await settled(() => ask(say('a @1')));
  await embeds(8);
  t.match(await ask(say('b @0.99')), { cache: 'miss', calls: 1, embedded: 1 });
  await waitFor('its embedding', async () => (await ask(say(`c${talks} @0.99`))).cache === 'hit');
  await embeds();
  t.match(await ask(say('d @0.99')), { cache: 'hit', calls: 0 });
  await inForce({ providers: { ...config.providers, embeddings: { ...embeddings, headers: { 'x-of': 'another' } } } });
  t.match(await ask(say('e @0.99')), { cache: 'miss', calls: 1, embedded: 1 });
  await inForce({ cache: { ...cache, semantic: { ...semantic, threshold: 0.995 } } });
  t.match(await ask(say('f @0.99')), { cache: 'miss' });
  await inForce({ cache: { enabled: true } });
  t.match(await ask(say('g @0.99')), { cache: 'miss', embedded: 0 });
  await inForce({ cache: { ...cache, semantic: { ...semantic, with_system: false } } });
  t.equal(await gateway.metric('gateway_cache_semantic_entries'), 0, 'switched off it has forgotten');
  await settled(() => ask(talk()('a @1')));
  t.match(await ask(talk()('b @0.99')), { cache: 'hit', calls: 0 }, 'another system prompt');
  await inForce({});
});

await test('a client that leaves ends the question for its embedding', async (t) => {
  const gate = createGate();
  t.teardown(() => gate.release());
  await embedder.behave({ kind: 'hold', gate });
  const closed = () => embedder.connections.filter(({ closedAtMs }) => closedAtMs !== undefined).length;
  const before = closed();
  const leaving = new AbortController();
  const left = gateway
    .fetch('/v1/chat/completions', { method: 'POST', body: talk()('a @1'), signal: leaving.signal })
    .catch(() => undefined);
  await waitFor('the question', () => gate.waiting === 1);
  leaving.abort();
  await left;
  await waitFor('the connection to be closed', () => closed() > before);
  await waitFor('its end', async () => (await outcome('cancelled')) === 1);
  t.equal(await gateway.metric('gateway_auxiliary_calls_total', { purpose: 'cache', outcome: 'cancelled' }), 1);
  await embeds();
});

await test('equal requests at once share the answer to one that means the same', async (t) => {
  const say = talk();
  await inForce({ cache: { ...cache, share_concurrent: true } });
  const first = await ask(say('a @1'));
  await waitFor('its embedding', async () => (await ask(say(`b${talks} @0.99`))).cache === 'hit');
  const gate = createGate();
  await embedder.behave((entry) => ({ kind: 'hold', gate, next: vectorOf(entry, 4) }));
  const before = embedder.ledger.length;
  const asked = [1, 2, 3].map(() => ask(say('c @0.99')));
  await waitFor('two to wait', async () => (await gateway.metric('gateway_cache_waiting_requests')) === 2);
  const fresh = ask(say('c @0.99'), { headers: { 'cache-control': 'max-age=0' } });
  await waitFor('three to wait', async () => (await gateway.metric('gateway_cache_waiting_requests')) === 3);
  gate.release();
  t.match(await fresh, { status: 200, cache: 'miss' }, 'it wants a new one');
  for (const told of await Promise.all(asked)) {
    t.match(told, { status: 200, cache: 'hit', text: first.text });
    t.match(await chatRecord(told.id), { cache_type: 'semantic', data: { semantic_cache: { similarity: 0.99 } } });
  }
  t.equal(embedder.ledger.length - before, 1);
  await embeds();
  await inForce({});
});

await test('an embedder that fails or is slow costs a moment, and after a few times nothing', async (t) => {
  const say = talk();
  await inForce({ cache: { ...cache, semantic: { ...semantic, timeout_ms: 300 } } });
  const gate = createGate();
  await embedder.behave({ kind: 'hold', gate });
  const tookMs = watchTime();
  t.match(await ask(say('a @1')), { status: 200, cache: 'miss', calls: 1 });
  t.ok(tookMs() < 3_000);
  t.equal(await outcome('timeout'), 1);
  gate.release();
  await embedder.behave({ kind: 'error', status: 500 });
  const failed = await ask(say('b @1'));
  t.match(failed, { status: 200, cache: 'miss', calls: 1 });
  t.match((await chatRecord(failed.id)).data?.semantic_cache, { outcome: 'failed', threshold: 0.92 });
  await embedder.behave({ kind: 'json', body: { data: [] } });
  t.match(await ask(say('c @1')), { status: 200, cache: 'miss', calls: 1, embedded: 1 });
  t.equal(await outcome('failed'), 2);
  t.match(await ask(say('d @1')), { status: 200, cache: 'miss', calls: 1, embedded: 0 });
  t.equal(await outcome('paused'), 1);
  t.ok(gateway.process.stdout.some((line) => line.includes('the semantic cache is left alone while it fails')));
  await embeds();
  await waitFor('the pause to be over', async () => (await ask(talk()('e @1'))).embedded === 1, 15_000);
  await inForce({});
});

await test('an engine that this process does not have is said at the start, and refused by a reload', async (t) => {
  const elsewhere = { ...config, cache: { ...cache, semantic: { ...semantic, engine: 'postgres' } } };
  const sentence = 'cache.semantic.engine is postgres, but there is no DATABASE_URL';
  const bare = await startGateway(t, { config: elsewhere, ready: 'spawned' });
  await bare.process.exited;
  t.match(bare.process.lastLines(), sentence);
  gateway.writeConfig({ 'gateway.yaml': elsewhere });
  await gateway.process.waitForLine(sentence);
  t.match(await ask(talk()('a @1')), { status: 200, cache: 'miss', embedded: 1 }, 'the config before is in force');
  gateway.writeConfig({ 'gateway.yaml': config });
});

await test('a database without the extension, or without a server, is told of; requests go on', async (t) => {
  const env = { DATABASE_URL: 'postgresql://gateway:s3cret@127.0.0.1:9/none' };
  const elsewhere = { ...config, cache: { ...cache, semantic: { ...semantic, engine: 'postgres' } } };
  const other = await startGateway(t, { config: elsewhere, env });
  const line = await other.process.waitForLine('the semantic cache cannot be used');
  t.match(line, 'the semantic cache at 127.0.0.1:9/none cannot be reached; check DATABASE_URL');
  t.notMatch(line, 's3cret');
  const told = await other.fetch('/v1/chat/completions', { method: 'POST', body: talk()('a @1') });
  t.equal(told.status, 200);
  await told.text();
  t.equal(await other.metric('gateway_cache_semantic_total', { outcome: 'failed' }), 1);
});
