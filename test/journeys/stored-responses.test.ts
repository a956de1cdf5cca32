// Stored responses through the official SDK: read, continued, listed, deleted and cancelled, kept here or at the provider, by their owner alone.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { APIError, OpenAI } from 'openai';
import { t as suite, type Test, test } from 'tap';
import { authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, startGateway } from '../support/gateway.ts';
import { journaled } from '../support/journal.ts';
import { sampleKey } from '../support/managed-state.ts';
import { startRedis } from '../support/redis.ts';
import { keepAtProvider } from '../support/responses-provider.ts';
import { openSealedStore } from '../support/sealed.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const [chat, native, plain] = await Promise.all([
  startFakeUpstream({ t: suite, models: ['m'] }),
  startFakeUpstream({ t: suite, models: ['m'] }),
  startFakeUpstream({ t: suite, models: ['m'] }),
]);
const config = {
  providers: {
    chat: { type: 'openai', base_url: chat.url, api_key: 'canary-chat', models: ['m'] },
    // Keeps what it answers.
    native: { type: 'fireworks', base_url: native.url, api_keys: ['canary-one', 'canary-two'], models: ['m'] },
    // Speaks the format, and keeps nothing.
    plain: { type: 'openai', base_url: plain.url, api_key: 'canary-plain', models: ['m'], dialects: ['responses'] },
  },
};
const said = 'Hello from the fake upstream, which speaks word by word.';
const [ours, theirs] = ['sk-gw-ours', 'sk-gw-theirs'];

/** A gateway with a key for each of two user paths. */
async function start(t: Test | typeof suite): Promise<Gateway> {
  const home = temporaryDirectory(t, 'stored-responses');
  const store = openSealedStore({ directory: join(home, 'data') });
  const keys = [sampleKey(ours, { userPath: '/ours' }), sampleKey(theirs, { userPath: '/theirs' })];
  await store.initialise();
  const { storeId = null } = await store.read();
  await store.commit({
    storeId,
    expected: new Map(),
    changes: keys.map((key) => ({ kind: authKeyKind, id: key.id, body: authKeyBody(key) })),
  });
  await store.close();
  return startGateway(t, { home, config });
}

const gateway = await start(suite);
const clientOf = (apiKey: string, { url }: Gateway = gateway): OpenAI =>
  new OpenAI({ apiKey, baseURL: `${url}/v1`, maxRetries: 0 });
const outcomes = (outcome: string, at: Gateway = gateway): Promise<number | undefined> =>
  at.metric('gateway_stored_responses_total', { outcome });

/** Status and code of what a request fails with. */
async function failureOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
  } catch (error) {
    if (error instanceof APIError) return `${error.status} ${error.code}`;
    throw error;
  }
  return 'none';
}

/** What the provider of chat was last told, a line each. */
function lastMessages(): string[] {
  const { messages }: { messages: { role: string; content: unknown }[] } = Object(chat.ledger.at(-1)?.json());
  return messages.map(
    ({ role, content }) => `${role}: ${typeof content === 'string' ? content : JSON.stringify(content)}`,
  );
}

suite.beforeEach(async () => {
  await chat.behave({ kind: 'openai' });
});

await test('the gateway keeps a response of a provider of chat: it is read, continued, listed and deleted', async (t) => {
  const client = clientOf(ours);
  const asked = { model: 'chat/m', input: 'one', instructions: 'Be brief.', store: true };
  const { data: first, response } = await client.responses.create(asked).withResponse();
  t.equal(response.headers.get('x-gateway-dropped'), null, 'the gateway does what the provider cannot');
  t.equal(first.output_text, said);
  t.same(await client.responses.retrieve(first.id).then(({ output_text, status }) => [output_text, status]), [
    said,
    'completed',
  ]);
  const second = await client.responses.create({ model: 'chat/m', input: 'two', previous_response_id: first.id });
  t.same(lastMessages(), ['user: one', `assistant: ${said}`, 'user: two'], 'instructions are not carried over');
  t.equal(second.previous_response_id, first.id);
  t.ok((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0));
  const items = await client.responses.inputItems.list(second.id, { order: 'asc', limit: 2 });
  const texts: string[] = [];
  for await (const item of items) texts.push(JSON.stringify('content' in item ? item.content : item));
  t.match(texts, [/one/, /Hello/, /two/], 'over two pages');

  const stream = client.responses.stream({ model: 'chat/m', input: 'three', previous_response_id: second.id });
  const third = await stream.finalResponse();
  t.equal(lastMessages().length, 5);
  t.equal((await client.responses.retrieve(third.id)).output_text, said, 'a stream is kept, too');

  t.equal(await failureOf(client.responses.cancel(third.id)), '400 unsupported_response_operation');
  t.equal(await failureOf(client.responses.retrieve(third.id, { stream: true })), '400 unsupported_response_operation');
  t.equal(await failureOf(client.responses.inputItems.list(third.id, { limit: 101 })), '400 invalid_query');
  t.same(
    await gateway
      .fetch(`/v1/responses/${third.id}`, { method: 'DELETE', headers: { authorization: `Bearer ${ours}` } })
      .then((r) => r.json()),
    { id: third.id, object: 'response.deleted', deleted: true },
  );
  t.equal(await failureOf(client.responses.retrieve(third.id)), '404 response_not_found');
  t.equal(await failureOf(client.responses.delete(third.id)), '404 response_not_found');
});

await test('what is not to be stored is not, and other owners find nothing', async (t) => {
  const client = clientOf(ours);
  const unkept = await client.responses.create({ model: 'chat/m', input: 'one', store: false });
  t.equal(await failureOf(client.responses.retrieve(unkept.id)), '404 response_not_found');
  await keepAtProvider(native);
  const kept = await client.responses.create({ model: 'chat/m', input: 'one' });
  const home = await client.responses.create({ model: 'native/m', input: 'one' });
  const asked = chat.ledger.length + native.ledger.length;
  const stranger = clientOf(theirs);
  for (const { id } of [kept, home]) {
    for (const request of [
      () => stranger.responses.retrieve(id),
      () => stranger.responses.inputItems.list(id),
      () => stranger.responses.delete(id),
      () => stranger.responses.cancel(id),
      () => stranger.responses.create({ model: 'native/m', input: 'two', previous_response_id: id }),
      () => stranger.responses.create({ model: 'chat/m', input: 'two', previous_response_id: id }),
    ])
      t.equal(await failureOf(request()), '404 response_not_found');
  }
  const disguised = `{"model":"native/m","input":"x","previous_response_id":null,"previous\\u005fresponse_id":"${home.id}"}`;
  const headers = { authorization: `Bearer ${theirs}`, 'content-type': 'application/json' };
  const answer = await gateway.fetch('/v1/responses', { method: 'POST', body: disguised, headers });
  t.match(await answer.json(), { error: { code: 'duplicate_key' } });
  t.equal(chat.ledger.length + native.ledger.length, asked, 'no provider was asked');
  t.ok(await client.responses.retrieve(kept.id));
});

await test('a response that a provider keeps is asked for there, with the key that made it', async (t) => {
  const atProvider = await keepAtProvider(native);
  const client = clientOf(ours);
  const made = await Promise.all([0, 1].map(() => client.responses.create({ model: 'native/m', input: 'one' })));
  const streamed = await client.responses.stream({ model: 'native/m', input: 'one' }).finalResponse();
  t.equal(new Set([...atProvider.values()].map(({ owner }) => owner)).size, 2, 'the keys take turns');
  for (const { id, output_text } of [...made, streamed]) {
    t.equal((await client.responses.retrieve(id)).output_text, output_text);
    const next = await client.responses.create({ model: 'native/m', input: 'two', previous_response_id: id });
    t.equal(next.previous_response_id, id);
    t.match(native.ledger.at(-1)?.json(), { previous_response_id: id, input: 'two' });
    t.equal((await client.responses.inputItems.list(id)).data.length, 1);
    t.equal((await client.responses.cancel(id)).status, 'cancelled');
    t.equal(native.ledger.at(-1)?.header('content-type'), undefined, 'there is no body');
  }
  const [{ id } = { id: '' }] = made;
  t.equal(
    await failureOf(client.responses.create({ model: 'chat/m', input: 'two', previous_response_id: id })),
    '400 response_kept_elsewhere',
  );
  await gateway.fetch(`/v1/responses/${id}?include[]=a&api_key=mine&limit=1`, {
    headers: { authorization: `Bearer ${ours}` },
  });
  t.equal(
    native.ledger.at(-1)?.target,
    `/v1/responses/${id}?include%5B%5D=a&limit=1`,
    'no other parameter is passed on',
  );
  await native.behave({ kind: 'error', status: 401, message: 'Wrong key canary-one.' });
  const refused = await gateway.fetch(`/v1/responses/${id}`, { headers: { authorization: `Bearer ${ours}` } });
  t.match([refused.status, await refused.text()], [502, /upstream_unauthorized.*Wrong key/]);
  await keepAtProvider(native).then((kept) => kept.set(id, { owner: atProvider.get(id)?.owner, body: {} }));
  await client.responses.delete(id);
  t.equal(native.ledger.at(-1)?.method, 'DELETE');
  t.equal(await failureOf(client.responses.retrieve(id)), '404 response_not_found');
});

await test('a provider that speaks the format and keeps nothing: the gateway keeps its bytes', async (t) => {
  await keepAtProvider(plain);
  const client = clientOf(ours);
  const first = await client.responses.create({ model: 'plain/m', input: 'one' });
  const second = await client.responses
    .stream({ model: 'plain/m', input: 'two', previous_response_id: first.id })
    .finalResponse();
  const told: { input?: unknown[] } = Object(plain.ledger.at(-1)?.json());
  t.equal(told.input?.length, 3);
  t.notOk('previous_response_id' in told);
  t.equal(second.previous_response_id, first.id, 'the answer says what it goes on from: streamed,');
  const third = await client.responses.create({ model: 'plain/m', input: 'three', previous_response_id: second.id });
  t.equal(third.previous_response_id, second.id, 'as JSON,');
  const kept = await client.responses.retrieve(second.id);
  t.equal(kept.previous_response_id, first.id, 'where it is kept,');
  const loose = { model: 'plain/m', input: 'four', previous_response_id: third.id, store: false };
  t.equal((await client.responses.create(loose)).previous_response_id, third.id, 'and where it is not');

  const before = plain.ledger.length;
  t.equal((await client.responses.retrieve(second.id)).output_text, second.output_text);
  t.equal(plain.ledger.length, before, 'the provider is not asked');
});

await test('an item is named by its id instead of being repeated, by its owner alone, as long as its response is kept', async (t) => {
  await keepAtProvider(native);
  const client = clientOf(ours);
  const first = await client.responses.create({ model: 'chat/m', input: 'one' });
  const streamed = await client.responses.stream({ model: 'chat/m', input: 'two' }).finalResponse();
  const [itemId = '', streamedId = ''] = [first, streamed].map(({ output }) => output[0]?.id ?? '');
  const reference = (id: string) => ({ type: 'item_reference' as const, id });
  const go = { role: 'user' as const, content: 'go' };
  const naming = (model: string, ...ids: readonly string[]) => ({ model, input: [go, ...ids.map(reference), go] });
  const third = await client.responses.create(naming('chat/m', itemId, streamedId));
  const turns = ['user: go', `assistant: ${said}${said}`, 'user: go'];
  t.same(lastMessages(), turns, 'both are told in their place');
  const listed = await client.responses.inputItems.list(third.id, { order: 'asc' });
  t.match(listed.data[1], { id: itemId, content: [{ text: said }] }, 'what is kept is whole');
  const [asked] = (await client.responses.inputItems.list(first.id)).data;
  await client.responses.create(naming('chat/m', asked?.id ?? ''));
  t.same(lastMessages(), ['user: go', 'user: one', 'user: go'], 'so is what was asked');
  await client.responses.create(naming('plain/m', itemId));
  t.match(Object(native.ledger.at(-1)?.json()), {}, 'nothing else is asked');
  t.match(plain.ledger.at(-1)?.json(), { input: [{}, { id: itemId, type: 'message' }, {}] }, 'where nothing is kept');
  const own = { ...naming('chat/m', 'msg_mine'), previous_response_id: first.id };
  own.input.unshift(Object({ ...go, id: 'msg_mine' }));
  await client.responses.create(own);
  t.equal(lastMessages().filter((line) => line === 'user: go').length, 4, 'so is what the same request says');

  const before = chat.ledger.length + native.ledger.length;
  const stranger = clientOf(theirs);
  const operator = clientOf(masterKey);
  for (const model of ['chat/m', 'native/m']) {
    t.equal(await failureOf(stranger.responses.create(naming(model, itemId))), '404 kept_not_found', model);
    t.equal(await failureOf(client.responses.create(naming(model, 'msg_none'))), '404 kept_not_found', model);
  }
  t.equal(await failureOf(operator.responses.create(naming('chat/m', itemId))), '404 kept_not_found');
  t.equal(chat.ledger.length + native.ledger.length, before, 'no provider was asked');
  await client.responses.delete(first.id);
  t.equal(await failureOf(client.responses.create(naming('chat/m', itemId))), '404 kept_not_found');
  t.ok(await client.responses.create(naming('chat/m', streamedId)));

  const atHome = await client.responses.create({ model: 'native/m', input: 'one' });
  const homeId = atHome.output[0]?.id ?? '';
  await client.responses.create(naming('native/m', homeId, streamedId));
  t.match(
    native.ledger.at(-1)?.json(),
    { input: [{}, { type: 'item_reference', id: homeId }, { type: 'message', content: [{ text: said }] }, {}] },
    'a provider is told of its own by their ids',
  );
  t.equal(await failureOf(client.responses.create(naming('chat/m', homeId))), '400 object_kept_elsewhere');
});

await test('everything is found after a restart, and none of it counts for rate limits', async (t) => {
  const atProvider = await keepAtProvider(native);
  const client = clientOf(ours);
  const kept = await client.responses.create({ model: 'chat/m', input: 'one' });
  const home = await client.responses.create({ model: 'native/m', input: 'one' });
  await gateway.restart();
  const files = ['kept.sqlite', 'kept.sqlite-wal'].map((name) => join(gateway.dataDir, name)).filter(existsSync);
  const lying = files.map((path) => readFileSync(path, 'latin1')).join('') + gateway.process.stdout.join('');
  t.match(lying, /response_home/);
  t.notMatch(lying, /canary-/, 'no key of a provider lies there, nor in the log');
  const limit = { path: '/ours', limits: [{ period: 'day', max_requests: 1 }] };
  await gateway.applyConfig({ 'gateway.yaml': { ...config, rate_limits: { user_paths: [limit] } } });
  const again = clientOf(ours);
  for (const { id, output_text } of [kept, home, kept])
    t.equal((await again.responses.retrieve(id)).output_text, output_text);
  await again.responses.create({ model: 'native/m', input: 'two', previous_response_id: home.id });
  t.equal(native.ledger.at(-1)?.header('authorization'), atProvider.get(home.id)?.owner);
  t.equal(await failureOf(again.responses.create({ model: 'chat/m', input: 'two' })), '429 rate_limit_exceeded');
  t.equal((await again.responses.retrieve(kept.id)).id, kept.id);
  await gateway.applyConfig({ 'gateway.yaml': config });
});

await test('a response in the background is charged once, when its end is first read', async (t) => {
  const atProvider = await keepAtProvider(native);
  const limit = { path: '/ours', limits: [{ period: 'day', max_tokens: 1_000 }] };
  await gateway.applyConfig({ 'gateway.yaml': { ...config, rate_limits: { user_paths: [limit] } } });
  t.teardown(() => gateway.applyConfig({ 'gateway.yaml': config }));
  const client = clientOf(ours);
  const { id } = await client.responses.create({ model: 'native/m', input: 'one', background: true });
  t.equal((await client.responses.retrieve(id)).status, 'queued');
  const { owner, body } = atProvider.get(id) ?? { owner: undefined, body: {} };
  const usage = { input_tokens: 30, output_tokens: 60_000, total_tokens: 60_030 };
  atProvider.set(id, { owner, body: { ...body, status: 'completed', usage } });
  for (const read of await Promise.all([0, 1, 2].map(() => client.responses.retrieve(id))))
    t.equal(read.usage?.output_tokens, 60_000);
  t.equal(await failureOf(client.responses.create({ model: 'chat/m', input: 'two' })), '429 rate_limit_exceeded');
  const isRefused = (): boolean => journaled(gateway).at(-1)?.status_code === 429;
  await waitFor('the last record', () => journaled(gateway).some(({ path }) => path.endsWith(id)) && isRefused());
  const records = journaled(gateway).filter(({ path }) => path.startsWith('/v1/responses'));
  const reads = records.filter(({ path }) => path.endsWith(id));
  t.match(reads, [{ method: 'GET', attempts: [{ usage: { total_tokens: 60_030, source: 'reported' } }] }]);
  t.equal(reads.length, 1);
  const begun = records[records.indexOf(reads[0] as RequestRecord) - 1];
  t.match(begun?.attempts, [{ usage: { total_tokens: 0, cost: { total: 0 } } }], 'its cost has a record of its own');
});

await test('one that passes through is charged once, too', async (t) => {
  const atProvider = await keepAtProvider(native);
  const read = async (path: string, init: object = {}) => {
    const headers = { authorization: `Bearer ${ours}` };
    const response = await gateway.fetch(`/p/native/v1/responses${path}`, { headers, ...init });
    return (await response.json()) as { id: string; status: string };
  };
  const { id } = await read('', { method: 'POST', body: { model: 'm', input: 'one', background: true } });
  // The provider has two accounts, whose keys take turns; it is asked for with the key that made it.
  const readTwice = async () => Promise.all([read(`/${id}`), read(`/${id}`)]);
  t.match(
    (await readTwice()).map(({ status }) => status),
    ['queued', 'queued'],
  );
  const { owner, body } = atProvider.get(id) ?? { owner: undefined, body: {} };
  const usage = { input_tokens: 30, output_tokens: 600, total_tokens: 630 };
  atProvider.set(id, { owner, body: { ...body, status: 'completed', usage } });
  await Promise.all([readTwice(), readTwice()]);
  const charged = (): unknown[] =>
    journaled(gateway).filter(({ attempts }) => attempts.some((one) => one.usage?.total_tokens === 630));
  await waitFor('the record', () => charged().length > 0);
  await readTwice();
  await waitFor('all reads', () => journaled(gateway).filter(({ path }) => path.endsWith(id)).length >= 9);
  t.match(charged(), [{ method: 'GET', resolved_model: 'native/m', attempts: [{ usage: { source: 'reported' } }] }]);
  t.equal(charged().length, 1);
});

await test('routes, methods, queries and bodies', async (t) => {
  const ask = async (method: string, path: string, init: object = {}) => {
    const response = await gateway.fetch(path, { method, ...init });
    const { error } = (await response.json()) as { error: { code: string } };
    return `${response.status} ${error.code} ${response.headers.get('allow') ?? ''}`.trim();
  };
  t.equal(await ask('PUT', '/v1/responses/resp_1'), '405 method_not_allowed GET, HEAD, DELETE');
  t.equal(await ask('GET', '/v1/responses/resp_1/cancel'), '405 method_not_allowed POST');
  t.equal(await ask('GET', '/v1/responses'), '405 method_not_allowed POST');
  t.equal(await ask('GET', '/v1/responses/resp_1/other'), '404 route_not_found');
  t.equal(await ask('GET', '/v1/responses/resp_1'), '404 response_not_found');
  t.equal(await ask('GET', '/v1/responses/resp_1%2F..%2Fmodels'), '404 response_not_found');
  t.equal(await ask('GET', '/v1/responses/resp_1?starting_after=x'), '400 invalid_query');
  t.equal(await ask('GET', '/v1/responses/resp_1?include_obfuscation=1'), '400 invalid_query');
  t.equal(await ask('DELETE', '/v1/responses/resp_1', { body: {} }), '400 unexpected_body');
  const type = { headers: { 'content-type': 'application/json' } };
  t.equal(
    await ask('POST', '/v1/responses/resp_1/cancel', type),
    '404 response_not_found',
    'a type without a body is harmless',
  );
  t.equal(
    await ask('DELETE', '/v1/responses/resp_1', { headers: { authorization: 'Bearer wrong' } }),
    '401 invalid_api_key',
  );
  const wrong = { model: 'chat/m', input: 'x', previous_response_id: 7 };
  t.equal(await ask('POST', '/v1/responses', { body: wrong }), '400 invalid_parameter');
});

await test('an answer too long to be kept is delivered, and counted', async (t) => {
  const before = (await outcomes('not_kept')) ?? 0;
  const text = { type: 'output_text', text: 'x'.repeat(9 << 20), annotations: [] };
  const output = [{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content: [text] }];
  await plain.behave({ kind: 'json', body: { id: 'resp_long', object: 'response', status: 'completed', output } });
  const client = clientOf(ours);
  t.equal((await client.responses.create({ model: 'plain/m', input: 'one' })).output_text.length, 9 << 20);
  await waitFor('it to be counted', async () => (await outcomes('not_kept')) === before + 1);
  t.equal(await failureOf(client.responses.retrieve('resp_long')), '404 response_not_found');
});

await test('with Redis: kept and remembered across proxies; without it 503, and answers still come', async (t) => {
  const redis = await startRedis(t, { appendOnly: true });
  const env = { REDIS_URL: redis.url };
  const atProvider = await keepAtProvider(native);
  const [one, other] = await Promise.all([startGateway(t, { config, env }), startGateway(t, { config, env })]);
  const client = clientOf(masterKey, one);
  const kept = await client.responses.create({ model: 'chat/m', input: 'one' });
  const home = await client.responses.create({ model: 'native/m', input: 'one' });
  await keepAtProvider(plain);
  const begun = await client.responses.create({ model: 'plain/m', input: 'one', background: true });
  await waitFor(
    'all to be written',
    async () => ((await outcomes('kept', one)) ?? 0) + ((await outcomes('remembered', one)) ?? 0) === 3,
  );
  const elsewhere = clientOf(masterKey, other);
  t.equal((await elsewhere.responses.retrieve(kept.id)).output_text, said);
  t.equal((await elsewhere.responses.retrieve(begun.id)).status, 'queued', 'it is where it was begun');
  await elsewhere.responses.create({ model: 'native/m', input: 'two', previous_response_id: home.id });
  t.equal(native.ledger.at(-1)?.header('authorization'), atProvider.get(home.id)?.owner);
  await redis.kill();
  t.equal(await failureOf(elsewhere.responses.retrieve(kept.id)), '503 stored_responses_unavailable');
  t.equal(
    await failureOf(elsewhere.responses.create({ model: 'chat/m', input: 'x', previous_response_id: kept.id })),
    '503 stored_responses_unavailable',
  );
  for (const input of ['one', 'two']) t.ok(await elsewhere.responses.create({ model: 'chat/m', input }));
  await waitFor('the failures to be counted', async () => ((await outcomes('failed', other)) ?? 0) >= 2);
  const lines = other.process.stdout.filter((line) => line.includes('could not be stored'));
  t.equal(lines.length, 1, 'the operator is told once a minute');
});
