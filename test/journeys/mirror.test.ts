// Copies of requests to the mirror of an alias: their clients know nothing of them, and the operator alone pays for them.
import { t as suite, test } from 'tap';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { usageOf } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type GatewayRequest, startGateway } from '../support/gateway.ts';
import { issueKey } from '../support/issue-key.ts';
import { journaled } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const start = (model: string) => startFakeUpstream({ t: suite, models: [model] });
const [primary, mirror, failing, silent, embedder] = await Promise.all([
  start('big'),
  start('small'),
  start('bad'),
  start('quiet'),
  start('e'),
]);
await embedder.behave((entry) => {
  const { input } = entry.json() as { input: readonly string[] };
  const vectors = input.map((_, index) => Buffer.from(Float32Array.from(index === 0 ? [1, 0] : [3, 4]).buffer));
  const data = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: vector.toString('base64') }));
  return { kind: 'json', body: { object: 'list', model: 'e', data, usage: { prompt_tokens: 4, total_tokens: 4 } } };
});

const provider = { type: 'openai', api_key: `\${TEST_PROVIDER_KEY}` };
const priced = (id: string, dollars: number) => [
  { id, pricing: { input_per_mtok: dollars, output_per_mtok: dollars } },
];
const alias = (source: string, share: number, target = 'b/small') => ({
  source,
  target: 'a/big',
  mirror: { target, share },
});
const day = [{ period: 'day', max_requests: 100_000, max_tokens: 100_000_000 }];
const config = {
  cache: { semantic: { model: 'c/e' } },
  providers: {
    a: { ...provider, base_url: primary.url, models: priced('big', 10) },
    b: { ...provider, base_url: mirror.url, models: priced('small', 1) },
    d: { ...provider, base_url: failing.url, models: ['bad'] },
    s: { ...provider, base_url: silent.url, models: ['quiet'] },
    c: { ...provider, base_url: embedder.url, models: priced('e', 1) },
  },
  aliases: [
    alias('chat', 1),
    alias('some', 0.25),
    alias('none', 0),
    alias('risky', 1, 'd/bad'),
    alias('still', 1, 's/quiet'),
  ],
  guardrails: [{ name: 'mask', user_paths: ['/masked'], pii: { kinds: ['email'] } }],
  rate_limits: {
    user_paths: [{ path: '/team', limits: day }],
    providers: [{ name: 'b', limits: day }],
  },
};
const gateway = await shareGateway({ config });
suite.beforeEach(async () => {
  await primary.behave({ kind: 'openai' });
  await mirror.behave({ kind: 'openai' });
});

let requests = 0;
/** Sends it; gives its id, and the status and the bytes that came. */
async function ask(body: object = {}, { headers, ...init }: GatewayRequest = {}, path = '/v1/chat/completions') {
  requests += 1;
  const id = `mirrored-${requests}`;
  const sent = { model: 'chat', messages: [{ role: 'user', content: `hello ${requests}` }], ...body };
  const given = { 'x-request-id': id, 'x-gateway-user-path': '/team', ...headers };
  const answer = await gateway.fetch(path, { method: 'POST', ...init, headers: given, body: sent });
  return { id, status: answer.status, text: await answer.text() };
}

const count = async (outcome: string): Promise<number> =>
  (await gateway.metric('gateway_mirrors_total', { outcome })) ?? 0;

/** Does it, and waits until so many more copies have ended like this. */
async function until(outcome: string, more: number, run: () => Promise<unknown>): Promise<void> {
  const before = await count(outcome);
  await run();
  await waitFor(`${more} more ${outcome}`, async () => (await count(outcome)) === before + more);
}

const recordsOf = (id: string): readonly RequestRecord[] =>
  journaled(gateway).filter(({ request_id: each }) => each === id);
const comparisonOf = (id: string) =>
  waitFor(
    `the comparison of ${id}`,
    () => recordsOf(id).find(({ mirror: compared }) => compared !== undefined)?.mirror,
  );

await test('a copy is asked of the mirror, counts under its provider alone, and is compared', async (t) => {
  await primary.behave({ kind: 'openai', usage: { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 } });
  await mirror.behave({
    kind: 'openai',
    content: 'otherwise',
    usage: { prompt_tokens: 30, completion_tokens: 7, total_tokens: 37 },
  });
  const [before] = await usageOf(gateway, '/team');
  const told = await ask({}, { headers: { 'x-session-id': 'talk' } });
  t.match(JSON.parse(told.text), { model: 'big', usage: { total_tokens: 42 } }, 'the client gets its own answer');
  t.match(await comparisonOf(told.id), {
    alias: 'chat',
    stream: false,
    primary: { model: 'a/big', status_code: 200, success: true, input_tokens: 30, output_tokens: 12, cost: 420_000 },
    mirror: { model: 'b/small', status_code: 200, success: true, input_tokens: 30, output_tokens: 7, cost: 37_000 },
    similarity: 0.6,
  });
  const sent = mirror.ledger.at(-1);
  t.match(sent?.json(), { model: 'small', messages: [{ content: `hello ${requests}` }] });
  t.equal(sent?.header('x-request-id'), told.id);
  const [after] = await usageOf(gateway, '/team');
  t.equal((after?.requests_used ?? 0) - (before?.requests_used ?? 0), 1, 'the consumer has asked once');
  t.equal((after?.tokens_used ?? 0) - (before?.tokens_used ?? 0), 42, 'and used its own tokens');
  const rules = { scope: 'provider', dimension: 'requests', outcome: 'allow' };
  t.equal(await gateway.metric('gateway_rate_limit_decisions_total', rules), 1, 'a rule on its provider counts it');
  const copies = await waitFor('all records', () => {
    const found = recordsOf(told.id).filter(({ user_path: path }) => path.startsWith('/mirror'));
    return found.length === 3 ? found : undefined;
  });
  t.match(
    copies.find(({ resolved_model: model }) => model === 'b/small'),
    {
      user_path: '/mirror',
      asked_by: 'gateway',
      counts_as: 'calls',
      auth_key_id: undefined,
      session_id: undefined,
      attempts: [{ usage: { total_tokens: 37 } }],
    },
  );
  t.match(
    copies.find(({ resolved_model: model }) => model === 'c/e'),
    { user_path: '/mirror/similarity' },
  );
});

await test('a stream is copied as one, and its beginning is timed', async (t) => {
  const { id, text } = await ask({ stream: true });
  t.match(text, /data: \[DONE\]/);
  const compared = await comparisonOf(id);
  t.match(compared, { stream: true, primary: { success: true }, mirror: { success: true }, similarity: 1 });
  t.ok((compared.mirror.first_byte_ns ?? 0) <= compared.mirror.duration_ns);
  t.match(mirror.ledger.at(-1)?.json(), { stream: true });
});

await test('the mirror gets what guardrails have let through', async (t) => {
  const content = 'write to bob@example.com';
  await until('sent', 1, () =>
    ask({ messages: [{ role: 'user', content }] }, { headers: { 'x-gateway-user-path': '/masked' } }),
  );
  t.notMatch(mirror.ledger.at(-1)?.body.toString(), 'bob@example.com');
  t.notMatch(embedder.ledger.at(-1)?.body.toString(), 'bob@example.com');
});

await test('no more than the bound are open: clients are served while a silent mirror holds it', async (t) => {
  await silent.behave({ kind: 'hang' });
  const asked = silent.ledger.length;
  const skipped = await count('skipped_load');
  const content = 'x'.repeat(4_000);
  const statuses = new Set<number>();
  const askMany = async (): Promise<void> => {
    for (let sent = 0; sent < 16; sent += 1)
      statuses.add((await ask({ model: 'still', messages: [{ role: 'user', content }] })).status);
  };
  await Promise.all(Array.from({ length: 25 }, askMany));
  t.same([...statuses], [200]);
  await waitFor('all others to be passed over', async () => (await count('skipped_load')) - skipped === 400 - 32);
  t.equal(silent.ledger.length - asked, 32);
  const held = await gateway.metric('gateway_request_body_bytes');
  t.ok((held ?? 0) > 32 * 4_000 && (held ?? 0) < 33 * 4_400, `${held} bytes are held`);
  await until('failed', 32, async () => silent.dropConnections('rst'));
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
});

await test('what a mirror does wrong, no client sees; one that fails again and again is left alone', async (t) => {
  await failing.behave({ kind: 'error', status: 500 });
  const { id, status } = await ask({ model: 'risky' });
  t.equal(status, 200);
  t.match(await comparisonOf(id), { primary: { success: true }, mirror: { success: false, status_code: 500 } });
  await waitFor('the breaker to open', async () => {
    t.equal((await ask({ model: 'risky' })).status, 200);
    return count('skipped_target');
  });
});

await test('nothing is copied where a rule has no room, the key may not, or the request is not to be copied', async (t) => {
  const full = { providers: [{ name: 'b', limits: [{ period: 'hour', max_requests: 1 }] }] };
  await gateway.applyConfig({ 'gateway.yaml': { ...config, rate_limits: full } });
  await until('sent', 1, () => ask());
  const asked = mirror.ledger.length;
  await until('skipped_limit', 1, () => ask());
  await gateway.applyConfig({ 'gateway.yaml': { ...config, rate_limits: {} } });
  const secret = await issueKey(t, gateway, { allowedModels: ['chat'], userPath: '/team' });
  await until('skipped_access', 1, () => ask({}, { headers: { authorization: `Bearer ${secret}` } }));
  const input = { input: 'hello', messages: undefined };
  const cases: readonly (readonly [string, object, string?])[] = [
    ['a chat that is to be stored', { store: true }],
    ['a response that is not to be forgotten', input, '/v1/responses'],
    ['a tool that a provider runs', { tools: [{ type: 'mcp', server_url: 'https://example.com' }] }],
    ['a file by its id', { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] }] }],
    ['a member that sends a provider elsewhere', { provider: { order: ['x'] } }],
  ];
  for (const [name, body, path] of cases) {
    const before = await count('skipped_request');
    const { status } = await ask(body, { headers: { 'x-gateway-user-path': '/' } }, path);
    t.equal(status, 200, name);
    await waitFor(name, async () => (await count('skipped_request')) === before + 1);
  }
  t.equal(mirror.ledger.length, asked, 'the mirror was not asked');
  await until('sent', 1, () => ask({ ...input, store: false }, {}, '/v1/responses'));
});

await test('of a consumer without records, its copy has none; an answer of the cache is not copied', async (t) => {
  const changed = { audit: { without: ['/team'] }, cache: { enabled: true, semantic: undefined }, rate_limits: {} };
  await gateway.applyConfig({ 'gateway.yaml': { ...config, ...changed } });
  const { id } = await ask();
  await comparisonOf(id);
  const entries = await waitFor('all records', () => (recordsOf(id).length === 3 ? recordsOf(id) : undefined));
  t.same(
    entries.filter(({ data }) => data !== undefined),
    [],
  );
  const messages = [{ role: 'user', content: 'once' }];
  const asked = mirror.ledger.length;
  await until('sent', 2, async () => {
    await ask({ messages });
    t.equal((await ask({ messages })).status, 200);
    await ask();
  });
  t.equal(mirror.ledger.length - asked, 2);
});

await test('a process that ends charges the copies that are on their way', async (t) => {
  const own = await startGateway(t, { config });
  await silent.behave({ kind: 'stall' });
  const body = { model: 'still', stream: true, messages: [{ role: 'user', content: 'hello' }] };
  const answer = await own.fetch('/v1/chat/completions', { method: 'POST', body });
  await answer.text();
  await waitFor('the copy', () => silent.ledger.at(-1)?.bytesSent);
  await own.process.stop();
  const copies = journaled(own).filter(({ user_path: path }) => path === '/mirror');
  t.equal(copies.length, 1, 'nothing is compared with what was broken off here');
  t.match(copies[0], { asked_by: 'gateway', attempts: [{ success: false, usage: { source: 'partial' } }] });
});

await test('a share of the requests is copied', async (t) => {
  const before = mirror.ledger.length;
  const sent = await count('sent');
  for (let asked = 0; asked < 40; asked += 1) await ask({ model: 'some' });
  await until('sent', 1, () => ask());
  await waitFor('copies to end', async () => (await count('sent')) - sent === mirror.ledger.length - before);
  const copied = mirror.ledger.length - before - 1;
  t.ok(copied > 0 && copied < 30, `${copied} of 40`);
  await ask({ model: 'none' });
  t.equal(await gateway.metric('gateway_mirrors_total', { alias: 'none' }), undefined);
});
