// A target that an operator takes out: within a second no proxy sends it anything, through whichever door, until the end or until it is given back.
import { t as suite, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway, GatewayRequest } from '../support/gateway.ts';
import { keepThings } from '../support/keeping-provider.ts';
import { delaysUntil } from '../support/operator.ts';
import { keepAtProvider } from '../support/responses-provider.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const models = ['m', 'org/large', 'embed'];
const [out, spare] = await Promise.all([
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
]);
const provider = (url: string) => ({ type: 'openai', base_url: url, api_key: 'sk-x', models });
const fleet = await shareFleet({
  store: 'redis',
  config: {
    providers: {
      out: provider(out.url),
      spare: { ...provider(spare.url), models: [...models, 'r'] },
      claude: { ...provider(out.url), type: 'anthropic', models: ['c', 'd'] },
      native: { ...provider(out.url), type: 'fireworks', models: ['r'] },
      voice: { ...provider(out.url), models: ['gpt-realtime'], dialects: ['realtime'] },
    },
    aliases: [{ source: 'chat', strategy: 'failover', targets: [{ model: 'out/m' }, { model: 'spare/m' }] }],
    guardrails: [
      { name: 'judge', user_paths: ['/judged'], llm: { model: 'out/m', prompt: 'Is it fine?', action: 'judge' } },
    ],
  },
});
const proxies = fleet.proxies as readonly [Gateway, Gateway];
const [proxy] = proxies;
const messages = [{ role: 'user', content: 'Hello' }];

interface Heard {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly header: (name: string) => string | null;
}

async function ask(at: Gateway, path: string, request: GatewayRequest = {}): Promise<Heard> {
  const response = await at.fetch(path, request);
  const { error } = JSON.parse(await response.text()) as { error?: { code: string; message: string } };
  const { code = '', message = '' } = error ?? {};
  return { status: response.status, code, message, header: (name) => response.headers.get(name) };
}

const chat = (model: string, more: Record<string, string> = {}): GatewayRequest => ({
  method: 'POST',
  headers: more,
  body: { model, messages },
});

const json = (body: object): GatewayRequest => ({ method: 'POST', body });

/** The provider that answers a request for `model`, else the error code. */
async function servedBy(at: Gateway, model: string): Promise<string> {
  const before = out.ledger.length;
  const { status, code } = await ask(at, '/v1/chat/completions', chat(model));
  return status !== 200 ? code : out.ledger.length > before ? 'out' : 'spare';
}

async function write(method: 'POST' | 'DELETE', target: string, body?: object): Promise<number> {
  const said = body === undefined ? {} : { body };
  const response = await fleet.admin(`/admin/targets/${target}/drain`, { method, ...said });
  await response.body?.cancel();
  return response.status;
}

const hour = { reason: 'maintenance of the provider', expires_in: '1h' };

await test('on every proxy within a second; an open call ends as it would have; it is given back as fast', async (t) => {
  t.equal(await servedBy(proxy, 'chat'), 'out');
  const gate = createGate();
  await out.behave({ kind: 'hold', gate });
  const before = out.ledger.length;
  const open = ask(proxy, '/v1/chat/completions', chat('chat'));
  await out.waitFor((ledger) => ledger.length > before);
  await out.behave({ kind: 'openai' });
  t.equal(await write('POST', 'out', hour), 200);
  const drained = await delaysUntil(proxies, 'the alias to lead to the other', async (each) => {
    return (await servedBy(each, 'chat')) === 'spare';
  });
  for (const each of proxies) {
    const refused = await ask(each, '/v1/chat/completions', chat('out/m'));
    t.match(refused, { status: 503, code: 'target_drained', message: /taken out out until/ });
    const seconds = Number(refused.header('retry-after'));
    t.ok(seconds > 3_500 && seconds <= 3_600, `Retry-After: ${seconds}`);
  }
  gate.release();
  t.equal((await open).status, 200);
  t.equal(await write('DELETE', 'out'), 200);
  const back = await delaysUntil(
    proxies,
    'it to be asked again',
    async (each) => (await servedBy(each, 'chat')) === 'out',
  );
  t.ok(Math.max(...drained, ...back) < 1_000, `${drained.join()} ${back.join()} ms`);
});

await test('no door leads there: not those that pass bytes on, not lists, not the questions of the gateway itself', async (t) => {
  for (const name of ['voice', 'out']) t.equal(await write('POST', name, hour), 200);
  await delaysUntil(proxies, 'it to be out', async (each) => (await servedBy(each, 'out/m')) === 'target_drained');
  const before = out.ledger.length;
  const upload =
    '--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nassistants\r\n--B\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--B--\r\n';
  const form = { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=B' }, body: upload };
  const doors: Readonly<Record<string, GatewayRequest>> = {
    '/v1/embeddings': json({ model: 'out/embed', input: 'x' }),
    '/v1/responses': json({ model: 'out/m', input: 'x' }),
    '/v1/messages': json({ model: 'out/m', max_tokens: 5, messages }),
    '/v1/realtime/client_secrets': json({ session: { type: 'realtime', model: 'voice/gpt-realtime' } }),
    '/v1/files?provider=out': form,
    '/p/out/v1/chat/completions': json({ model: 'm', messages }),
    '/p/out/v1/models': {},
  };
  for (const [path, request] of Object.entries(doors))
    t.match(await ask(proxy, path, request), { status: 503, code: 'target_drained' }, path);
  t.match((await ask(proxy, '/v1/files')).header('x-gateway-incomplete'), /\bout\b/);
  t.equal(
    (await ask(proxy, '/p/openai/v1/chat/completions', json({ model: 'm', messages }))).status,
    200,
    'by its type: another',
  );
  const judged = await ask(proxy, '/v1/chat/completions', chat('spare/m', { 'x-gateway-user-path': '/judged' }));
  t.match(judged, { status: 503, code: 'guardrail_unavailable' });
  t.equal(out.ledger.length, before, 'nothing was sent there');
  for (const name of ['voice', 'out']) t.equal(await write('DELETE', name), 200);
});

await test('of one model, others of its provider are asked; its id may have slashes, and a passed body is searched for it', async (t) => {
  t.equal(await write('POST', 'out/ORG/large', hour), 200);
  await delaysUntil(
    proxies,
    'it to be out',
    async (each) => (await servedBy(each, 'out/org/large')) === 'target_drained',
  );
  t.equal(await servedBy(proxy, 'out/m'), 'out');
  t.equal(await servedBy(proxy, 'org/large'), 'spare', 'a bare id leads to the next provider');
  const before = out.ledger.length;
  const long = (model: string): GatewayRequest => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'x'.repeat(90_000) }], model }),
  });
  const path = '/p/out/v1/chat/completions';
  t.match(await ask(proxy, path, long('org/large')), { status: 503, code: 'target_drained' });
  t.equal(out.ledger.length, before);
  t.equal((await ask(proxy, path, long('m'))).status, 200);

  const explained = await (await proxy.fetch('/admin/explain?model=out/org/large')).json();
  t.match(explained, {
    refusal: { status: 503, code: 'target_drained' },
    targets: [
      { target: 'out/org/large', reason: 'drained', says: /^drained by master_key until .*: maintenance of the/ },
    ],
  });
  const status = await (await fleet.admin('/admin/status')).json();
  t.match(status, { drained_targets: [{ provider: 'out', model: 'org/large', reason: hour.reason }], degraded: [] });
  for (const each of proxies)
    t.match(await each.metrics(), /^gateway_target_drained\{provider="out",model="org\/large"\} 1$/m);
  t.equal(await write('DELETE', 'out/org%2Flarge'), 200);
});

const line = { custom_id: '1', method: 'POST', url: '/v1/chat/completions', body: { model: 'out/m', messages } };
const part = (name: string, value: string, more = ''): string =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const form = `${part('purpose', 'batch')}${part('file', JSON.stringify(line), '; filename="in.jsonl"')}--B--\r\n`;
const batchFile = { method: 'POST', headers: { 'content-type': 'multipart/form-data; boundary=B' }, body: form };

/** The id of what an answer is. */
async function idOf(path: string, request: GatewayRequest): Promise<string> {
  const response = await proxy.fetch(path, request);
  return ((await response.json()) as { id: string }).id;
}

/** The status of each, asked in turn. */
async function statusesOf(asked: readonly (readonly [path: string, request?: GatewayRequest])[]): Promise<string[]> {
  const found: string[] = [];
  for (const [path, request] of asked) {
    const response = await proxy.fetch(path, request);
    await response.text();
    found.push(`${response.status} ${path}`);
  }
  return found;
}

await test('responses that it keeps can be read and deleted; what goes on from them is refused, and from those kept here is not', async (t) => {
  await keepAtProvider(out);
  t.teardown(() => out.behave({ kind: 'openai' }));
  const native = await idOf('/v1/responses', json({ model: 'native/r', input: 'x' }));
  t.match(native, /^resp_native/);
  const here = await idOf('/v1/responses', json({ model: 'spare/m', input: 'x' }));
  t.equal(await write('POST', 'native', hour), 200);
  await delaysUntil(proxies, 'it to be out', async (each) => (await servedBy(each, 'native/r')) === 'target_drained');
  const path = `/v1/responses/${native}`;
  const goOn = (previous: string): Promise<Heard> =>
    ask(proxy, '/v1/responses', json({ model: 'r', input: 'y', previous_response_id: previous }));
  t.match(await goOn(native), { status: 503, code: 'target_drained' });
  t.equal((await goOn(here)).status, 200, 'by another provider of the model');
  const kept = [
    [path],
    [`${path}/input_items`],
    [`/p/native/v1/responses/${native}`],
    [path, { method: 'DELETE' }],
  ] as const;
  t.same(
    await statusesOf(kept),
    kept.map(([each]) => `200 ${each}`),
  );
  t.equal((await ask(proxy, path)).status, 404);
  t.equal(await write('DELETE', 'native'), 200);
});

await test('files and batches that it keeps can be read, cancelled and deleted; none is made', async (t) => {
  await keepThings(out, 'out');
  t.teardown(() => out.behave({ kind: 'openai' }));
  const file = await idOf('/v1/files?provider=out', batchFile);
  const passed = await idOf('/p/out/v1/files', batchFile);
  const begin = json({ input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' });
  const batch = await idOf('/v1/batches', begin);
  const other = await idOf('/p/out/v1/batches', begin);
  t.equal(await write('POST', 'out', hour), 200);
  await delaysUntil(proxies, 'it to be out', async (each) => (await servedBy(each, 'out/m')) === 'target_drained');
  const made = [
    ['/v1/files?provider=out', batchFile],
    ['/p/out/v1/files', batchFile],
    ['/v1/batches', begin],
    ['/p/out/v1/batches', begin],
  ] as const;
  t.same(
    await statusesOf(made),
    made.map(([path]) => `503 ${path}`),
  );
  const kept = [
    [`/v1/files/${file}`],
    [`/v1/files/${file}/content`],
    [`/p/out/v1/files/${passed}/content`],
    [`/v1/batches/${batch}`],
    [`/v1/batches/${batch}/cancel`, { method: 'POST' }],
    [`/p/out/v1/batches/${other}/cancel`, { method: 'POST' }],
    [`/v1/files/${file}`, { method: 'DELETE' }],
    [`/p/out/v1/files/${passed}`, { method: 'DELETE' }],
  ] as const;
  t.same(
    await statusesOf(kept),
    kept.map(([path]) => `200 ${path}`),
  );
  t.equal(await write('DELETE', 'out'), 200);
});

await test('no batch begins that names it', async (t) => {
  await out.behave({ kind: 'json', body: { id: 'file-1', object: 'file', purpose: 'batch' } });
  t.teardown(() => out.behave({ kind: 'openai' }));
  t.equal((await ask(proxy, '/v1/files?provider=out', batchFile)).status, 200);
  for (const target of ['out/m', 'claude/c']) t.equal(await write('POST', target, hour), 200);
  const body = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' };
  const batch = (): Promise<Heard> => ask(proxy, '/v1/batches', { method: 'POST', body });
  await waitFor('batches of it to be refused', async () => (await batch()).code === 'target_drained');
  const claude = (...names: string[]): Promise<Heard> => {
    const params = (model: string) => ({ model: `claude/${model}`, max_tokens: 5, messages });
    const requests = names.map((model, index) => ({ custom_id: String(index), params: params(model) }));
    return ask(proxy, '/v1/messages/batches', { method: 'POST', body: { requests } });
  };
  const before = out.ledger.length;
  t.match(await claude('d', 'c'), { status: 503, code: 'target_drained', message: /claude\/c/ });
  t.match(await batch(), { status: 503, message: /out\/m/ });
  const passed = (...names: string[]): GatewayRequest =>
    json({
      requests: names.map((model, index) => ({ custom_id: String(index), params: { model, max_tokens: 5, messages } })),
    });
  const below = '/p/claude/v1/messages/batches';
  t.match(await ask(proxy, below, passed('d', 'c')), { status: 503, code: 'target_drained', message: /claude\/c/ });
  t.match(await ask(proxy, '/p/out/v1/batches', json(body)), {
    status: 503,
    code: 'target_drained',
    message: /out\/m/,
  });
  t.equal(out.ledger.length, before);
  t.equal((await claude('d')).status, 200);
  t.equal((await ask(proxy, below, passed('d'))).status, 200);
  for (const target of ['out/m', 'claude/c']) t.equal(await write('DELETE', target), 200);
  await waitFor('batches to begin again', async () => (await batch()).status === 200);
});

await test('it ends by itself, and its document is removed', async (t) => {
  const expiresAt = new Date(Date.now() + 1_500).toISOString();
  t.equal(await write('POST', 'out', { reason: 'a moment', expires_at: expiresAt }), 200);
  await delaysUntil(proxies, 'it to be out', async (each) => (await servedBy(each, 'out/m')) !== 'out');
  await delaysUntil(proxies, 'it to be back', async (each) => (await servedBy(each, 'out/m')) === 'out');
  t.ok(Date.now() >= Date.parse(expiresAt), 'not before its end');
  const listed = async () => (await (await fleet.admin('/admin/targets')).json()) as { drains: unknown[] };
  await waitFor('it to leave the listing', async () => (await listed()).drains.length === 0);
  t.equal(await write('DELETE', 'out'), 404);
});
