// The README of examples/ide-client, as its reader does it: commands in one shell, snippets of SDKs in one program, settings as they are read
// by clients. The requests of agents are written from public documentation; no agent is run.
import { execFile } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { parse } from 'yaml';
import { codexRequest } from '../proxy/dialects/responses/agent-requests.ts';
import { claudeCodeRequest } from '../proxy/translation/claude-code-request.ts';
import { watchTime } from '../support/slowdown.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { blocksIn, exampleOf, inPlaces, openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const top = join(import.meta.dirname, '../..');
const folder = join(top, 'examples/ide-client');
const readme = readFileSync(join(folder, 'README.md'), 'utf8');
const blocks = (language: string): string[] => blocksIn(readme, language);
const [start = '', makeKey = '', claudeCode = '', askClaude = '', askCursor = '', compare = '', ...more] = blocks('sh');
const printed = /^native.*\nchat-only.*\n/m.exec(readme)?.[0];

type Members = Readonly<Record<string, unknown>>;

// --- The gateway, started as the README says, and a shell beside it

const home = temporaryDirectory(suite, 'ide-client');
const local = await startLocal(suite, home, {}, exampleOf(start));
const { url } = local;
const paste = openTerminal(suite, local.places);
const models = JSON.parse(await paste(makeKey)) as { data: { id: string }[] };
const key = (await paste('echo "$GATEWAY_KEY"')).trim();
const listed = new Set(models.data.map(({ id }) => id));

/** What the README says, with the places of this test. */
function here(text: string): string {
  return inPlaces(text, local.places);
}

interface Answer {
  readonly status: number;
  readonly dropped: string | null;
  readonly text: string;
  readonly body: Members;
}

async function ask(path: string, body: object | undefined, headers: Record<string, string> = {}): Promise<Answer> {
  const credentials = headers['x-api-key'] === undefined ? { authorization: `Bearer ${key}` } : {};
  const response = await fetch(`${url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...credentials, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return {
    status: response.status,
    dropped: response.headers.get('x-gateway-dropped'),
    text,
    body: isJson ? (JSON.parse(text) as Members) : {},
  };
}

/** The data of the events of a stream. */
function eventsOf(text: string): Members[] {
  const data = text.split('\n').filter((line) => line.startsWith('data: {'));
  return data.map((line) => JSON.parse(line.slice('data: '.length)) as Members);
}

/** The tools that a streamed message calls, with their inputs put together. */
function calledInMessage(text: string): unknown[] {
  const calls: { name: unknown; json: string }[] = [];
  for (const event of eventsOf(text)) {
    const block = event['content_block'] as Members | undefined;
    const delta = event['delta'] as Members | undefined;
    if (block?.['type'] === 'tool_use') calls.push({ name: block['name'], json: '' });
    const call = calls.at(-1);
    if (call !== undefined && typeof delta?.['partial_json'] === 'string') call.json += delta['partial_json'];
  }
  return calls.map(({ name, json }) => [name, JSON.parse(json) as unknown]);
}

await test('a key for one person lists every short name, and no command of the README is left out', async (t) => {
  t.equal(more.length, 0);
  for (const name of ['claude-sonnet-4-5', 'claude-haiku-4-5-20251001', 'gpt-5', 'coder']) t.ok(listed.has(name), name);
  t.match(key, /^sk-gw-/);
});

// --- Claude Code

const version = { 'anthropic-version': '2023-06-01' };
const beta = { ...version, 'anthropic-beta': 'claude-code-20250219,interleaved-thinking-2025-05-14' };
const { messages: _before, ...settings } = claudeCodeRequest;
const toRead = [{ type: 'text', text: 'Use Read for "/a.ts".', cache_control: { type: 'ephemeral' } }];
const reading = { ...settings, messages: [{ role: 'user', content: toRead }] };

await test('Claude Code with the variables of the README calls a tool, from a native provider', async (t) => {
  await paste(claudeCode);
  const chosen = (await paste('echo "$ANTHROPIC_MODEL $ANTHROPIC_DEFAULT_HAIKU_MODEL"')).trim().split(' ');
  for (const model of chosen) {
    const asked = { model, max_tokens: 20, messages: [{ role: 'user', content: 'Hi' }] };
    t.equal((await ask('/v1/messages?beta=true', asked, beta)).status, 200, model);
  }
  const streamed = await paste(askClaude);
  t.match(streamed, /^event: message_start\n/);
  t.strictSame(calledInMessage(streamed), [['Read', { file_path: '/a.ts' }]]);
});

for (const [model, dropped] of [
  ['native/demo-large', null],
  ['chat-only/demo-large', 'cache_control, thinking, context_management'],
  ['responses-only/demo-large', 'cache_control, context_management'],
] as const) {
  await test(`Claude Code works on with ${model}: thoughts and tools, and their way back`, async (t) => {
    const streamed = await ask('/v1/messages?beta=true', { ...reading, model }, beta);
    t.equal(streamed.status, 200);
    t.equal(streamed.dropped, dropped);
    t.match(streamed.text, /"type":"thinking_delta"/);
    t.strictSame(calledInMessage(streamed.text), [['Read', { file_path: '/a.ts' }]]);

    const whole = await ask('/v1/messages?beta=true', { ...reading, model, stream: false }, beta);
    t.match(whole.body, {
      type: 'message',
      stop_reason: 'tool_use',
      content: [{ type: 'thinking' }, { name: 'Read' }],
    });
    const content = whole.body['content'] as Members[];
    const result = {
      type: 'tool_result',
      tool_use_id: content[1]?.['id'],
      content: [{ type: 'text', text: 'line 1' }],
    };
    const further = [
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ];
    const after = { ...reading, model, stream: false, messages: [...reading.messages, ...further] };
    const answered = await ask('/v1/messages?beta=true', after, beta);
    t.match(answered.body, { stop_reason: 'end_turn' }, answered.text);
    t.match(answered.text, /Read says “line 1”/);

    const { system, tools } = claudeCodeRequest;
    const counted = { model, system, tools, messages: after.messages } as const;
    const { body } = await ask('/v1/messages/count_tokens?beta=true', counted, beta);
    t.ok(Number(body['input_tokens']) > 100, JSON.stringify(body));
  });
}

// --- Codex

await test('Codex with the settings of the README, with a native provider and a translated one', async (t) => {
  const [toml = ''] = blocks('toml');
  const setting = (name: string): string => new RegExp(`^${name} = "(.*)"$`, 'm').exec(toml)?.[1] ?? '';
  t.ok(toml.includes(`[model_providers.${setting('model_provider')}]`));
  t.equal(setting('env_key'), 'GATEWAY_KEY');
  const path = `${here(setting('base_url')).replace(url, '')}/${setting('wire_api')}`;
  const input = [
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'apply_patch and shell "ls"' }] },
  ];
  for (const model of [setting('model'), 'native/demo-large', 'chat-only/demo-large']) {
    const { status, dropped, text } = await ask(path, { ...codexRequest, parallel_tool_calls: true, model, input });
    t.equal(status, 200, model);
    const last = eventsOf(text).at(-1) as { type: string; response: { output: Members[] } };
    t.equal(last.type, 'response.completed');
    const calls = last.response.output.filter(({ type }) => String(type).endsWith('_call'));
    t.match(
      calls.toSorted((a, b) => (String(a['name']) < String(b['name']) ? -1 : 1)),
      [
        { type: 'custom_tool_call', name: 'apply_patch', input: /ls/ },
        { type: 'function_call', name: 'shell', arguments: /\{"command":\["ls"/ },
      ],
    );
    const isNative = !model.startsWith('chat-only');
    if (isNative) t.equal(dropped, null);
    else t.match(dropped, /^tools\[3\].*prompt_cache_key/);
  }
});

// --- Cursor-like IDEs, and agents that speak chat completions

const readFile = {
  type: 'function',
  name: 'read_file',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
};
const edit = {
  type: 'custom',
  name: 'ApplyPatch',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
};
const called = (name: string, input: string) => ({ type: 'function', function: { name, arguments: input } });

await test('a Cursor-like IDE may send flat tools where its request is translated', async (t) => {
  const answer = JSON.parse(await paste(askCursor)) as Members;
  t.match(answer, {
    object: 'chat.completion',
    choices: [{ finish_reason: 'tool_calls', message: { tool_calls: [called('read_file', '{"path":"a.ts"}')] } }],
  });
  const mixed = [{ type: 'function', function: readFile }, edit];
  const asked = { messages: [{ role: 'user', content: 'ApplyPatch, then read_file "a.ts"' }], tools: mixed };
  const { text } = await ask('/v1/chat/completions', {
    ...asked,
    model: 'coder',
    stream: true,
    stream_options: { include_usage: true },
  });
  t.match(text, /"name":"ApplyPatch"/);
  t.match(text, /"name":"read_file"/);
  const chunks = eventsOf(text);
  t.match(chunks.at(-1), { object: 'chat.completion.chunk', choices: [], usage: { total_tokens: Number } });
  t.match(text, /data: \[DONE\]\n\n$/);
  const refused = await ask('/v1/chat/completions', { ...asked, model: 'gpt-5' });
  t.match(refused, { status: 400, body: { error: { param: 'tools[1].custom', provider: 'native' } } });
});

await test('an agent may send input in place of messages to chat completions, and reads chunks of chat', async (t) => {
  const input = [
    { role: 'user', content: 'read_file and ApplyPatch "a.ts"' },
    { type: 'function_call', call_id: 'call_1', name: 'read_file', arguments: '{"path":"a.ts"}' },
    { type: 'function_call_output', call_id: 'call_1', output: 'line 1' },
    { role: 'user', content: [{ type: 'input_text', text: 'Now ApplyPatch to "b.ts"' }] },
  ];
  const body = { input, tools: [readFile, edit], stream: true, stream_options: { include_usage: true } };
  for (const model of ['coder', 'gpt-5', 'chat-only/demo-large']) {
    const { status, text, dropped } = await ask('/v1/chat/completions', { ...body, model });
    t.equal(status, 200, text);
    t.equal(dropped, null);
    const chunks = eventsOf(text) as { object: string; choices: { delta: { tool_calls?: { type?: string }[] } }[] }[];
    t.ok(
      chunks.every(({ object }) => object === 'chat.completion.chunk'),
      model,
    );
    const kinds = chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []).map(({ type }) => type);
    t.equal(kinds[0], 'custom');
    t.match(text, model.startsWith('chat') ? /"id":"chatcmpl-/ : /"id":"resp_/, 'Responses are preferred');
    t.match(chunks.at(-1), { choices: [], usage: { prompt_tokens: Number } });
  }
});

await test('the gateway answers at the addresses that agents are configured with', async (t) => {
  const openCode = JSON.parse(here(blocks('json')[0] ?? '')) as {
    provider: { gateway: { options: { baseURL: string; apiKey: string }; models: object } };
  };
  const { options, models: offered } = openCode.provider.gateway;
  t.equal(options.apiKey, '{env:GATEWAY_KEY}');
  const { models: entries } = parse(here(blocks('yaml')[0] ?? '')) as { models: { model: string; apiBase: string }[] };
  const places = [
    ...Object.keys(offered).map((model) => [options.baseURL, model]),
    ...entries.map(({ apiBase, model }) => [apiBase, model]),
  ];
  t.equal(places.length, 2);
  for (const [base = '', model = ''] of places) {
    const body = { model, messages: [{ role: 'user', content: 'Hi' }] };
    t.equal((await ask(`${base.replace(url, '')}/chat/completions`, body)).status, 200);
  }
});

// --- SDKs

/** Runs the snippets one after the other in one program, and gives what each of them prints. */
function runSnippets(snippets: readonly string[]): Promise<string> {
  const place = join(home, 'snippets');
  mkdirSync(place);
  symlinkSync(join(top, 'test/node_modules'), join(place, 'node_modules'));
  for (const [index, snippet] of snippets.entries()) writeFileSync(join(place, `${index}.mjs`), here(snippet));
  const program = snippets.map((_, index) => `await import('./${index}.mjs');`).join('\n');
  writeFileSync(join(place, 'all.mjs'), program);
  return new Promise((done, fail) => {
    const env = { ...process.env, GATEWAY_KEY: key };
    execFile(process.execPath, [join(place, 'all.mjs')], { env, timeout: 60_000 }, (error, stdout, stderr) => {
      if (error) fail(new Error(stderr, { cause: error }));
      else done(stdout);
    });
  });
}

await test('every snippet of an SDK runs, with the versions that the README names', async (t) => {
  const snippets = blocks('js');
  t.equal(snippets.length, 4);
  const said = await runSnippets(snippets);
  t.equal(said.match(/What is a gateway\?/g)?.length, snippets.length, said);
  const { devDependencies } = JSON.parse(readFileSync(join(top, 'test/package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const table = readme.slice(readme.indexOf('## What was tried'));
  const rows = [...table.matchAll(/^\| (`.*?) +\| ([\d., ]*\d) +\|/gm)];
  const versions = rows.flatMap(([, packages = '', numbers = '']) => {
    const numbersOf = numbers.split(', ');
    return [...packages.matchAll(/`(.+?)`/g)].map(([, name = ''], index) => [name, numbersOf[index]]);
  });
  t.ok(versions.length >= 7);
  for (const [name = '', shown] of versions) t.equal(shown, devDependencies[name], name);
});

await test('the README shows what is left out by translation', async (t) => {
  t.equal((await paste(compare)).replaceAll(/ +$/gm, ''), printed);
});

// --- What clients are refused

await test('an unknown model is 404, an unknown key 401, in the form of each client', async (t) => {
  const chat = { model: 'gpt-9', messages: [{ role: 'user', content: 'Hi' }] };
  t.match(await ask('/v1/chat/completions', chat), { status: 404, body: { error: { code: 'model_not_found' } } });
  t.match(await ask('/v1/messages', { ...chat, max_tokens: 9 }, version), {
    status: 404,
    body: { type: 'error', error: { type: 'not_found_error' } },
  });
  const wrong = { authorization: 'Bearer sk-gw-wrong' };
  t.match(await ask('/v1/responses', { model: 'gpt-5', input: 'Hi' }, wrong), {
    status: 401,
    body: { error: { code: 'invalid_api_key' } },
  });
  t.match(await ask('/v1/messages', chat, { ...version, 'x-api-key': 'sk-gw-wrong' }), {
    status: 401,
    body: { type: 'error', error: { type: 'authentication_error' } },
  });
  t.match(await ask('/v1/v1/messages', chat), { status: 404, body: { error: { code: 'route_not_found' } } });
});

await test('probes of a base URL are answered as the README says', async (t) => {
  const own = { authorization: `Bearer ${key}` };
  const probes: [method: string, path: string, status: number, headers?: Record<string, string>][] = [
    ...['/', '/v1'].flatMap((path) => ['GET', 'HEAD'].map((method) => [method, path, 200] as [string, string, number])),
    ['OPTIONS', '/v1/chat/completions', 401],
    ['OPTIONS', '/v1/chat/completions', 405, own],
    ['OPTIONS', '/v1/nothing', 404, own],
  ];
  for (const [method, path, status, headers = {}] of probes) {
    const response = await fetch(`${url}${path}`, { method, headers });
    await response.body?.cancel();
    t.equal(response.status, status, `${method} ${path}`);
  }
  const { body } = await ask('/v1/models?limit=1000', undefined, { ...version, 'x-api-key': key });
  t.match(body, { has_more: false, first_id: String });
  const claude = (body['data'] as Members[]).filter(({ id }) => String(id).startsWith('claude'));
  t.match(claude, [{ type: 'model', display_name: String }, { type: 'model' }]);
});

await test('a revoked key is refused within a second', async (t) => {
  const [, revoke = ''] = /`(admin auth-keys\/\$id\/deactivate -X POST)`/.exec(readme) ?? [];
  await paste(revoke);
  const tookMs = watchTime();
  await waitFor('401', async () => (await ask('/v1/models', undefined)).status === 401, 5000);
  t.ok(tookMs() < 1000);
  t.match(await paste(askCursor), /"code":"invalid_api_key"/);
});
