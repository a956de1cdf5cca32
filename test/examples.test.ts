// The examples are promises: each config loads, each command names what exists, and the demo provider speaks the API it stands in for.
import { execFile } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import OpenAI, { APIError } from 'openai';
import tap, { test } from 'tap';
import { modelIds } from '../domain/listed-models.ts';
import { loadFiles } from '../gitops/assemble/load.ts';
import { loadParsers } from '../gitops/assemble/load-parsers.ts';
import { formatProblem } from '../gitops/read/problem.ts';
import { readDirectory } from '../gitops/read/read.ts';
import type { Config } from '../schemas/types.ts';
import { startProcess } from './support/process.ts';
import { openRaw, rawRequest } from './support/raw-http.ts';
import { type Teardown, temporaryDirectory } from './support/teardown.ts';
import { waitFor } from './support/wait-for.ts';

const top = join(import.meta.dirname, '../examples');
const examples = readdirSync(top);
type Limit = Readonly<Record<string, unknown>>;
const environment = { OPENAI_API_KEY: 'sk-test-provider-key', ANTHROPIC_API_KEY: 'sk-test-other-key' };

async function load(example: string, variables: Record<string, string>) {
  const { files, problems } = await readDirectory(join(top, example, 'config'));
  await loadParsers(files);
  const loaded = loadFiles(files, {
    environment: variables,
    variables: 'error',
    entitlements: new Set(['quota_templates']),
  });
  return { ...loaded, problems: [...problems, ...loaded.problems] };
}

/** Everything a client may write into `model`. */
function namesOf({ providers, aliases }: Config): Set<string> {
  const qualified = Object.entries(providers).flatMap(([name, provider]) =>
    modelIds(provider).map((model) => `${name}/${model}`),
  );
  const bare = Object.values(providers).flatMap(modelIds);
  return new Set<string>([...aliases.map(({ source }) => source), ...qualified, ...bare]);
}

for (const example of examples) {
  await test(`the config of ${example} loads without a problem or a warning`, async (t) => {
    const { config, problems, warnings } = await load(example, environment);
    t.strictSame([...problems, ...warnings].map(formatProblem), []);
    t.ok(config);
  });

  await test(`the README of ${example} names only models that its config has`, async (t) => {
    const readme = readFileSync(join(top, example, 'README.md'), 'utf8');
    const commands = [...readme.matchAll(/```sh\n(.*?)```/gs)]
      .map(([, block]) => block ?? '')
      .filter((block) => /\bcurl\b/.test(block));
    t.ok(commands.length > 0, 'there is a curl to copy');
    const { config } = await load(example, environment);
    const known = config === undefined ? new Set() : namesOf(config);
    const named = commands.flatMap((command) => [...command.matchAll(/"model":\s*"([^"]*)"/g)].map(([, name]) => name));
    t.strictSame(
      named.filter((name) => !known.has(name)),
      [],
    );
  });

  await test(`every YAML file of ${example} tells editors its schema`, async (t) => {
    const folder = join(top, example, 'config');
    for (const file of globSync('**/*.yaml', { cwd: folder })) {
      const [, schema] =
        /^# yaml-language-server: \$schema=(\S+)\n/.exec(readFileSync(join(folder, file), 'utf8')) ?? [];
      t.ok(schema !== undefined && existsSync(join(folder, dirname(file), schema)), file);
    }
  });
}

await test('the quickstart works without an OpenAI key, which is one warning', async (t) => {
  const { config, problems, warnings } = await load('quickstart', {});
  t.strictSame(problems, []);
  t.match(warnings.map(formatProblem), [/providers\.openai\.api_key/]);
  t.strictSame(Object.keys(config?.providers ?? {}), ['demo', 'demo-messages']);
});

/** The commands a start has printed: paragraphs a person pastes into a shell. */
function printedCommands(lines: readonly string[]): string[] {
  return lines
    .join('\n')
    .split('\n\n')
    .filter((paragraph) => /^(curl|for) /.test(paragraph));
}

function paste(command: string): Promise<string> {
  return new Promise((done, fail) => {
    execFile('sh', ['-c', command], { timeout: 20_000 }, (error, stdout) => (error ? fail(error) : done(stdout)));
  });
}

const fleetEntry = 'examples/fleet/fleet.ts';
const fleetPorts = { FLEET_PORTS: '0,0', GATEWAY_ADMIN_PORT: '0', DEMO_PROVIDER_PORT: '0' };

await test('a fleet does what its printed commands promise', async (t) => {
  const data = temporaryDirectory(t, 'fleet');
  const fleet = await startProcess({
    t,
    entry: fleetEntry,
    env: { ...fleetPorts, GATEWAY_DATA: data },
    ready: { line: /Ctrl-C stops everything/ },
  });
  t.teardown(() => fleet.stop());
  const [override = '', ask = '', status = ''] = printedCommands(fleet.stdout);
  const urls = fleet.stdout.flatMap((line) => /^ {2}proxy-\d +(\S+) /.exec(line)?.[1] ?? []);
  t.equal(urls.length, 2);
  const key = readFileSync(join(data, 'master-key'), 'utf8').trim();
  const capOf = async (url: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${key}`, 'x-gateway-user-path': '/team' };
    const usage = (await (await fetch(`${url}/v1/usage`, { headers })).json()) as { rate_limits: Limit[] };
    return usage.rate_limits.find((limit) => limit['period_label'] === 'minute')?.['max_requests'];
  };
  t.strictSame(await Promise.all(urls.map(capOf)), [60, 60], 'as the config says');

  const listing = JSON.parse(await paste(override)) as { rate_limits: Limit[] };
  t.match(
    listing.rate_limits.find((limit) => limit['source'] === 'manual'),
    { user_path: '/team', max_requests: 2, overrides_config: true, reason: 'trying the fleet' },
  );
  await waitFor(
    'both proxies to enforce it',
    async () => (await Promise.all(urls.map(capOf))).every((cap) => cap === 2),
    1500,
  );
  t.strictSame(
    (await paste(ask)).trim().split('\n'),
    urls.flatMap((url, index) => (index === 0 ? [200, 200, 429] : [429, 429, 429]).map((code) => `${url}  ${code}`)),
  );
  const shown = await waitFor('the fleet to say so', async () => {
    const said = JSON.parse(await paste(status)) as { converged: boolean };
    return said.converged && said;
  });
  t.match(shown, {
    desired: { state_revision: 1 },
    proxies: ['proxy-1', 'proxy-2'].map((instance) => ({ instance, live: true, state_revision: 1 })),
    store: { engine: 'redis', status: 'up' },
  });

  const controlPlane = Number(/kill (\d+)/.exec(fleet.stdout.join('\n'))?.[1]);
  process.kill(controlPlane, 'SIGKILL');
  await fleet.waitForLine('The control plane stopped');
  t.strictSame(await Promise.all(urls.map(capOf)), [2, 2], 'the proxies go on, with the override');
  t.match(JSON.parse(await paste(override)), { code: 'control_plane_unavailable', status_code: 503 });

  t.strictSame(await fleet.stop(), { code: 0, signal: null });
  const redis = Number(/redis:\/\/127\.0\.0\.1:(\d+)/.exec(fleet.stdout.join('\n'))?.[1]);
  for (const port of [redis, ...urls.map((url) => Number(new URL(url).port))]) {
    await t.rejects(openRaw(port), { code: 'ECONNREFUSED' }, 'nothing is left behind');
  }
});

await test('a fleet without any Redis says what to do', async (t) => {
  const fleet = await startProcess({
    t,
    entry: fleetEntry,
    env: { ...fleetPorts, GATEWAY_DATA: temporaryDirectory(t), PATH: '/nowhere' },
    ready: 'spawned',
  });
  t.strictSame(await fleet.exited, { code: 1, signal: null });
  t.match(fleet.stderr.join('\n'), /redis-server is not installed[\s\S]*REDIS_URL=/);
});

const entry = 'deploy/demo-provider/provider.ts';

async function startDemo(t: Teardown) {
  const child = await startProcess({ t, entry, env: { DEMO_PROVIDER_PORT: '0' } });
  t.teardown(() => child.stop());
  const client = new OpenAI({ apiKey: 'anything', baseURL: `${child.address}/v1`, maxRetries: 0 });
  return { child, client, port: Number(new URL(child.address).port) };
}

async function collect<Item>(stream: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

const sky = { role: 'user', content: 'Why is the sky blue?' } as const;

const { client, port } = await startDemo(tap);

await test('the demo provider answers a chat with words that refer to the last message', async (t) => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Hello' },
    { role: 'assistant', content: 'Hi' },
    sky,
  ] as const;
  const answer = await client.chat.completions.create({ model: 'demo-small', messages: [...messages] });
  t.match(answer, { object: 'chat.completion', model: 'demo-small', id: /^chatcmpl-/ });
  t.match(answer.choices, [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: /sky blue\?/ } }]);
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0, total_tokens: total } = answer.usage ?? {};
  t.ok(prompt > 8 && completion > 8);
  t.equal(total, prompt + completion);
});

await test('the demo provider reads the text parts of a message', async (t) => {
  const content = [
    { type: 'text', text: 'Tell me' },
    { type: 'text', text: 'about rain' },
  ] as const;
  const answer = await client.chat.completions.create({
    model: 'demo-large',
    messages: [{ role: 'user', content: [...content] }],
  });
  t.match(answer.choices[0]?.message.content, /Tell me about rain/);
});

await test('the demo provider gives the same answer twice', async (t) => {
  const ask = () => client.chat.completions.create({ model: 'demo-large', messages: [sky] });
  t.strictSame(await ask(), await ask());
});

await test('the demo provider streams the words it would have answered at once', async (t) => {
  const whole = await client.chat.completions.create({ model: 'demo-small', messages: [sky] });
  const stream = await client.chat.completions.create({ model: 'demo-small', messages: [sky], stream: true });
  const chunks = await collect(stream);
  const text = chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
  t.equal(text, whole.choices[0]?.message.content);
  t.match(chunks[0], { object: 'chat.completion.chunk', choices: [{ delta: { role: 'assistant' } }] });
  t.match(chunks.at(-1), { choices: [{ delta: {}, finish_reason: 'stop' }] });
  t.notOk(chunks.some((chunk) => 'usage' in chunk));
});

await test('the demo provider streams word by word, not all at the end', async (t) => {
  const connection = await openRaw(port);
  const body = JSON.stringify({ model: 'demo-small', stream: true, messages: [sky] });
  await connection.send(
    `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  const events = () => connection.exchange().raw.toString().split('data: ').length - 1;
  await connection.waitFor(() => events() >= 3);
  t.ok(events() < 15, 'most words are still to come');
  connection.close();
});

await test('the demo provider ends a stream with usage for those who ask', async (t) => {
  const asked = {
    model: 'demo-small',
    messages: [sky],
    stream: true,
    stream_options: { include_usage: true },
  } as const;
  const chunks = await collect(await client.chat.completions.create({ ...asked, messages: [...asked.messages] }));
  const last = chunks.pop();
  t.match(last, { choices: [], usage: { total_tokens: Number } });
  t.ok(chunks.every((chunk) => chunk.usage === null));
});

await test('the demo provider stops at the token limit', async (t) => {
  for (const limit of [{ max_tokens: 3 }, { max_completion_tokens: 3 }]) {
    const answer = await client.chat.completions.create({ model: 'demo-small', messages: [sky], ...limit });
    t.match(answer, { choices: [{ finish_reason: 'length' }], usage: { completion_tokens: 3 } });
  }
});

await test('the demo provider embeds texts as unit vectors, alike for texts alike', async (t) => {
  const input = ['the sky is blue', 'blue is the sky today', 'quarterly tax report'];
  const { data, usage } = await client.embeddings.create({ model: 'demo-embedding', input });
  const [first = [], similar = [], other = []] = data.map(({ embedding }) => embedding);
  const dot = (a: number[], b: number[]) => a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
  t.equal(first.length, 256);
  t.ok(Math.abs(dot(first, first) - 1) < 1e-5);
  t.ok(dot(first, similar) > 0.8);
  t.ok(Math.abs(dot(first, other)) < 0.4);
  t.ok(usage.prompt_tokens > 8 && usage.total_tokens === usage.prompt_tokens);
});

await test('the demo provider embeds the same in base64, which the SDK asks for, as in numbers', async (t) => {
  const request = { model: 'demo-embedding', input: 'hello', dimensions: 8 } as const;
  const [asNumbers, asBase64] = [
    await client.embeddings.create({ ...request, encoding_format: 'float' }),
    await client.embeddings.create(request),
  ];
  t.strictSame(asBase64.data[0]?.embedding, asNumbers.data[0]?.embedding);
  t.equal(asNumbers.data[0]?.embedding.length, 8);
});

await test('the demo provider embeds token ids', async (t) => {
  const one = await client.embeddings.create({ model: 'demo-embedding', input: [1, 2, 3] });
  const two = await client.embeddings.create({ model: 'demo-embedding', input: [[1, 2, 3], [4]] });
  t.strictSame(two.data[0]?.embedding, one.data[0]?.embedding);
  t.equal(two.data.length, 2);
});

await test('the demo provider lists its models', async (t) => {
  const models = await collect(client.models.list());
  t.strictSame(
    models.map(({ id }) => id),
    [
      'demo-small',
      'demo-large',
      'demo-embedding',
      'demo-realtime',
      'demo-speech',
      'demo-transcribe',
      'demo-image',
      'demo-moderation',
      'demo-rerank',
    ],
  );
  t.match(await client.models.retrieve('demo-large'), { id: 'demo-large', object: 'model', owned_by: 'demo' });
});

const chat = (body: object) => client.post('/chat/completions', { body });
const embedding = (body: object) => client.post('/embeddings', { body: { model: 'demo-embedding', ...body } });
const refused: [claim: string, ask: () => Promise<unknown>, status: number, details: object][] = [
  [
    'an unknown model',
    () => chat({ model: 'gpt-9', messages: [sky] }),
    404,
    { code: 'model_not_found', param: 'model' },
  ],
  [
    'an embedding model that should chat',
    () => chat({ model: 'demo-embedding', messages: [sky] }),
    404,
    { code: 'model_not_found' },
  ],
  ['an unknown model to retrieve', () => client.models.retrieve('gpt-9'), 404, { code: 'model_not_found' }],
  ['an unknown path', () => client.get('/nope'), 404, { code: 'unknown_url' }],
  ['a wrong method', () => client.get('/chat/completions'), 405, { code: 'method_not_allowed' }],
  ['no model', () => chat({ messages: [sky] }), 400, { param: 'model' }],
  ['no messages', () => chat({ model: 'demo-small' }), 400, { param: 'messages' }],
  ['messages that are none', () => chat({ model: 'demo-small', messages: [1] }), 400, { param: 'messages' }],
  ['two choices', () => chat({ model: 'demo-small', messages: [sky], n: 2 }), 400, { param: 'n' }],
  ['half a token', () => chat({ model: 'demo-small', messages: [sky], max_tokens: 0.5 }), 400, { param: 'max_tokens' }],
  ['a body that is no object', () => chat([]), 400, { message: /JSON object/ }],
  ['empty input', () => embedding({ input: '' }), 400, { param: 'input' }],
  ['an empty list', () => embedding({ input: [] }), 400, { param: 'input' }],
  ['too many inputs', () => embedding({ input: Array(2049).fill('a') }), 400, { param: 'input' }],
  ['an unknown encoding', () => embedding({ input: 'a', encoding_format: 'hex' }), 400, { param: 'encoding_format' }],
  ['too many dimensions', () => embedding({ input: 'a', dimensions: 257 }), 400, { param: 'dimensions' }],
];
for (const [claim, ask, status, details] of refused) {
  await test(`the demo provider refuses ${claim} as the SDK expects`, async (t) => {
    const error = await ask().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    t.ok(error instanceof APIError);
    t.match(error, { status, type: 'invalid_request_error', ...details });
  });
}

await test('the demo provider refuses broken JSON', async (t) => {
  const { responses } = await rawRequest(port, 'POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n{');
  t.match(responses[0]?.json(), { error: { type: 'invalid_request_error', param: null, code: null } });
});

await test('the demo provider lets an open stream finish at SIGTERM', async (t) => {
  const { child, client: own } = await startDemo(t);
  const stream = await own.chat.completions.create({ model: 'demo-small', messages: [sky], stream: true });
  let last: string | null | undefined;
  for await (const { choices } of stream) {
    if (last === undefined) child.signal('SIGTERM');
    last = choices[0]?.finish_reason ?? null;
  }
  t.equal(last, 'stop');
  t.strictSame(await child.exited, { code: 0, signal: null });
});

await test('the demo provider goes at once at a second signal', async (t) => {
  const { child, client: own } = await startDemo(t);
  const stream = await own.chat.completions.create({ model: 'demo-large', messages: [sky], stream: true });
  child.signal('SIGTERM');
  child.signal('SIGINT');
  t.strictSame(await child.exited, { code: 0, signal: null });
  await t.rejects(collect(stream));
});

await test('the demo provider says in one line why it cannot listen', async (t) => {
  const second = await startProcess({ t, entry, env: { DEMO_PROVIDER_PORT: String(port) }, ready: 'spawned' });
  t.strictSame(await second.exited, { code: 1, signal: null });
  t.match(second.stderr, [/the port is in use; set DEMO_PROVIDER_PORT/]);
  const third = await startProcess({ t, entry, env: { DEMO_PROVIDER_PORT: 'x' }, ready: 'spawned' });
  t.strictSame(await third.exited, { code: 1, signal: null });
  t.match(third.stderr, [/DEMO_PROVIDER_PORT must be/]);
});
