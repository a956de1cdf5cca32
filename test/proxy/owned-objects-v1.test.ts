// Stored objects at /v1: what a body names must be its caller's, and leads to the provider that keeps it. Responses in the background.
import { t as suite, test } from 'tap';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { issueKey } from '../support/issue-key.ts';
import { keepAtProvider } from '../support/responses-provider.ts';
import { shareGateway } from '../support/shared.ts';

const key = `\${TEST_PROVIDER_KEY}`;
const [first, second, native] = await Promise.all([1, 2, 3].map(() => startFakeUpstream({ t: suite })));
if (first === undefined || second === undefined || native === undefined) throw new Error('no provider was started');
const provider = { type: 'groq', api_key: key, models: ['small', 'embedding'] };
const compatible = { type: 'openai', api_key: key, models: ['m'], base_url: native.url };
const gateway = await shareGateway({
  config: {
    providers: {
      first: { ...provider, base_url: first.url },
      second: { ...provider, base_url: second.url },
      claude: { type: 'anthropic', api_key: key, base_url: second.url, models: ['claude-real'] },
      keeping: { ...compatible, type: 'fireworks' },
      stateless: { ...compatible, dialects: ['responses'] },
      chat: compatible,
      media: { ...compatible, dialects: ['chat', 'audio'] },
    },
    aliases: [{ source: 'both', targets: [{ model: 'first/small' }, { model: 'second/small' }] }],
  },
});
const [a, b, plain] = await Promise.all([
  issueKey(suite, gateway, { userPath: '/t/a' }),
  issueKey(suite, gateway, { userPath: '/t/b' }),
  issueKey(suite, gateway, {}),
]);

async function ask(secret: string, path: string, body?: object | string, headers: Record<string, string> = {}) {
  const answer = await gateway.fetch(path, {
    headers: { authorization: `Bearer ${secret}`, ...headers },
    ...(body === undefined ? {} : { method: 'POST', body }),
  });
  const text = await answer.text();
  const code = /"code":"([a-z_]+)"/.exec(text)?.[1];
  return { outcome: `${answer.status}${code === undefined ? '' : ` ${code}`}`, text };
}

/** Has a provider make one for the caller, through /p. */
async function make(secret: string, path: string, id: string, at = second): Promise<string> {
  await at?.behave([{ kind: 'json', body: { id } }]);
  await ask(secret, path, { purpose: 'x' });
  return id;
}

const form = (fields: Readonly<Record<string, string>>, secret: string, path: string) => {
  const parts = Object.entries(fields).map(
    ([name, value]) =>
      `--limit\r\ncontent-disposition: form-data; name="${name}"${name === 'file' ? '; filename="f"' : ''}\r\n\r\n${value}\r\n`,
  );
  return ask(secret, path, `${parts.join('')}--limit--\r\n`, { 'content-type': 'multipart/form-data; boundary=limit' });
};

await test('a call that names a file of another caller is 404; of its own, it goes where the file is', async (t) => {
  const file = await make(a, '/p/second/files', 'file-one');
  const chat = { model: 'both', messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: file } }] }] };
  const claude = {
    model: 'claude/claude-real',
    max_tokens: 9,
    messages: [{ role: 'user', content: [{ type: 'document', source: { type: 'file', file_id: file } }] }],
  };
  const rows: [path: string, body: object][] = [
    ['/v1/chat/completions', chat],
    ['/v1/messages', claude],
    ['/v1/responses', { model: 'both', input: [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }] }],
    ['/v1/embeddings', { model: 'first/embedding', input: 'x', file_id: file }],
    ['/v1/messages/batches', { requests: [{ custom_id: '1', params: claude }] }],
    ['/v1/audio/speech', { model: 'media/m', input: 'x', voice: { file_id: file } }],
  ];
  for (const [path, body] of rows) {
    const before = [first, second, native].map(({ ledger }) => ledger.length);
    for (const secret of [b, plain]) t.equal((await ask(secret, path, body)).outcome, '404 kept_not_found', path);
    t.same(
      [first, second, native].map(({ ledger }) => ledger.length),
      before,
      path,
    );
  }
  const hidden = JSON.stringify(chat).replace('file_id', 'file\\u005fid');
  t.equal((await ask(b, '/v1/chat/completions', hidden)).outcome, '404 kept_not_found');
  // Some writers of JSON escape every slash.
  const address = { url: 'https://generativelanguage.googleapis.com/v1beta/files/other' };
  const image = { model: 'both', messages: [{ role: 'user', content: [{ type: 'image_url', image_url: address }] }] };
  const slashed = JSON.stringify(image).replaceAll('/', '\\/');
  for (const sent of [image, slashed])
    t.equal((await ask(b, '/v1/chat/completions', sent)).outcome, '404 kept_not_found', 'an address');
  const transcript = { model: 'media/m', file_id: file, file: 'x' };
  t.equal((await form(transcript, b, '/v1/audio/transcriptions')).outcome, '404 kept_not_found');
  const line = JSON.stringify({
    custom_id: '1',
    method: 'POST',
    url: '/v1/chat/completions',
    body: { ...chat, model: 'second/small' },
  });
  const batch = { purpose: 'batch', provider: 'second', file: `${line}\n` };
  t.equal((await form(batch, b, '/v1/files')).outcome, '404 kept_not_found');

  for (const _ of [1, 2, 3]) t.equal((await ask(a, '/v1/chat/completions', chat)).outcome, '200');
  t.equal(first.ledger.filter(({ path }) => path.endsWith('/chat/completions')).length, 0, 'only the keeper is asked');
  t.equal(
    (await ask(a, '/v1/chat/completions', { ...chat, model: 'first/small' })).outcome,
    '400 object_kept_elsewhere',
  );
  t.equal((await ask(gateway.masterKey, '/v1/chat/completions', chat)).outcome, '200', 'the operator is not asked');
});

await test('responses, their items and conversations lead nowhere for others', async (t) => {
  await keepAtProvider(native);
  const begun = await ask(a, '/v1/responses', { model: 'keeping/m', input: 'x' });
  const { id = '', output = [] } = JSON.parse(begun.text) as { id?: string; output?: { id: string }[] };
  const item = output[0]?.id ?? '';
  const streamed = await ask(a, '/p/keeping/responses', { model: 'm', input: 'x', stream: true });
  const passed = /"id":"(resp_[a-z0-9]+)"/.exec(streamed.text)?.[1] ?? '';
  t.not(passed, '');
  const inputs: object[] = [
    { input: 'x', previous_response_id: id },
    { input: 'x', previous_response_id: passed },
    { input: [{ type: 'item_reference', id: item }] },
    { input: [{ id: item }] },
    { input: [{ type: 'image_generation_call', id: item }] },
    { input: [{ type: 'reasoning', id: item, summary: [] }] },
  ];
  for (const path of ['/v1/responses', '/p/keeping/responses']) {
    const model = path.startsWith('/p') ? 'm' : 'keeping/m';
    for (const input of inputs) {
      t.match((await ask(b, path, { model, ...input })).outcome, /^404 /, `${path} ${JSON.stringify(input)}`);
      t.equal((await ask(a, path, { model, ...input })).outcome, '200', `${path} ${JSON.stringify(input)}`);
    }
    const unknown = [
      { conversation: 'conv_other' },
      { conversation: { id: 'conv_other' } },
      { input: [{ id: 'msg_other' }] },
      { input: [{ id: 'cmp_0123456789abcdef0123' }] },
    ];
    for (const input of unknown)
      t.equal(
        (await ask(b, path, { model, input: 'x', ...input })).outcome,
        '404 kept_not_found',
        JSON.stringify(input),
      );
  }
  for (const path of [`/v1/responses/${passed}`, `/p/keeping/responses/${id}`]) {
    t.match((await ask(b, path)).outcome, /^404 /, path);
    t.equal((await ask(a, path)).outcome, '200', path);
  }
  const own = { model: 'keeping/m', input: [{ type: 'reasoning', id: 'rs_unknown', summary: [] }] };
  t.equal((await ask(b, '/v1/responses', own)).outcome, '200', 'what no other is known to have made');
});

await test("a container that a tool has made is its caller's, and so are the files in it", async (t) => {
  const used = {
    usage: { input_tokens: 1, output_tokens: 1 },
    model: 'claude-real',
    role: 'assistant',
    type: 'message',
  };
  const result = { type: 'code_execution_result', content: [{ type: 'code_execution_output', file_id: 'file_made' }] };
  const content = [{ type: 'code_execution_tool_result', tool_use_id: 't', content: result }];
  const tools = [{ type: 'code_execution_20250825', name: 'code_execution' }];
  for (const [path, model] of [
    ['/v1/messages', 'claude/claude-real'],
    ['/p/claude/messages', 'claude-real'],
  ] as const) {
    const id = `container_${path.length}`;
    const made = { ...used, id: 'msg_1', stop_reason: 'end_turn', content, container: { id } };
    await second.behave([{ kind: 'json', body: made }]);
    const call = { model, max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
    t.equal((await ask(a, path, { ...call, tools })).outcome, '200');
    for (const more of [{ container: id }, { container: { id, skills: [{ type: 'anthropic', skill_id: 'pptx' }] } }]) {
      t.equal((await ask(b, path, { ...call, ...more })).outcome, '404 kept_not_found', path);
      await second.behave([{ kind: 'json', body: made }]);
      t.equal((await ask(a, path, { ...call, ...more })).outcome, '200', path);
    }
    t.equal((await ask(b, '/p/claude/files/file_made')).outcome, '404 kept_not_found');
    await second.behave([{ kind: 'json', body: { id: 'file_made' } }]);
    t.equal((await ask(a, '/p/claude/files/file_made')).outcome, '200');
  }
});

await test('a thread is gone on from by who has begun it, in JSON and in streams', async (t) => {
  const message = { type: 'message', role: 'assistant', model: 'claude-real', stop_reason: 'end_turn' };
  const usage = { input_tokens: 1, output_tokens: 1 };
  const call = { model: 'claude/claude-real', max_tokens: 9, messages: [{ role: 'user', content: 'x' }] };
  for (const stream of [false, true]) {
    const made = { ...message, id: `msg_thread_${stream}`, content: [], usage };
    const events = [{ type: 'message_start', message: made }, { type: 'message_stop' }];
    const chunks = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    const answer: Behaviour = stream ? { kind: 'sse', chunks } : { kind: 'json', body: made };
    await second.behave([answer]);
    t.equal((await ask(a, '/v1/messages', { ...call, stream, thread: { type: 'create' } })).outcome, '200');
    const thread = { type: 'continue', previous_message_id: made.id };
    const refused = await ask(b, '/v1/messages', { ...call, thread });
    t.equal(refused.outcome, '404 kept_not_found');
    t.match(JSON.parse(refused.text), { error: { details: { error_code: 'thread_not_found' } } });
    await second.behave([{ kind: 'json', body: made }]);
    t.equal((await ask(a, '/v1/messages', { ...call, thread })).outcome, '200');
    t.match(second.ledger.at(-1)?.json(), { thread });
    const diagnostics = { previous_message_id: 'msg_without_a_thread' };
    await second.behave([{ kind: 'json', body: made }]);
    t.equal((await ask(a, '/v1/messages', { ...call, diagnostics })).outcome, '200');
  }
});

await test('a response in the background is found at its provider, whatever keeps answers there; else it is refused', async (t) => {
  await keepAtProvider(native);
  for (const model of ['keeping/m', 'stateless/m']) {
    for (const stream of [false, true]) {
      const { text } = await ask(a, '/v1/responses', { model, input: 'x', background: true, stream });
      const id = /"id":"(resp_[a-z0-9]+)"/.exec(text)?.[1] ?? '';
      t.match(text, /queued|in_progress/);
      t.match((await ask(a, `/v1/responses/${id}`)).text, /"status":"queued"/, `${model} ${stream}`);
      t.equal((await ask(b, `/v1/responses/${id}`)).outcome, '404 response_not_found');
    }
  }
  const whole = await ask(a, '/v1/responses', { model: 'stateless/m', input: 'x' });
  const { id } = JSON.parse(whole.text) as { id: string };
  t.equal((await ask(a, `/v1/responses/${id}`)).outcome, '200', 'what is complete is kept here');
  const before = native.ledger.length;
  const refused = await ask(a, '/v1/responses', { model: 'chat/m', input: 'x', background: true });
  t.equal(refused.outcome, '400 unsupported_parameter');
  t.equal(native.ledger.length, before);
});
