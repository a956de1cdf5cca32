// Guardrails at the doors beside those of models: what speech, images, moderation, ranking, forms, files and batches say is looked at as it
// passes; where that cannot be, callers under a guardrail are refused.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { recordOf } from '../support/journal.ts';
import { keepThings } from '../support/keeping-provider.ts';
import { shareGateway } from '../support/shared.ts';

const mail = 'bob@example.com';
const card = '4111 1111 1111 1111';
const guardrails = [
  { name: 'mask', user_paths: ['/masked'], pii: { kinds: ['email'] } },
  { name: 'no-cards', user_paths: ['/strict'], pii: { kinds: ['card'], action: 'block' } },
  { name: 'names', user_paths: ['/some'], models: ['guarded'], keywords: { words: ['Bluebird'], action: 'block' } },
  { name: 'answers', user_paths: ['/told'], on: ['output'], keywords: { words: ['Bluebird'], action: 'redact' } },
  { name: 'no-told-cards', user_paths: ['/told'], on: ['output'], pii: { kinds: ['card'], action: 'block' } },
  { name: 'tried', user_paths: ['/shadow'], mode: 'shadow', pii: { action: 'block' } },
];
const upstream = await startFakeUpstream({ t: suite });
const dialects = ['chat', 'responses', 'audio', 'images', 'moderations', 'rerank', 'realtime'];
const own = { base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}` };
const gateway = await shareGateway({
  config: {
    audit: { bodies: true },
    providers: {
      fake: { ...own, type: 'openai', dialects, models: ['m', 'guarded'] },
      keeper: { ...own, type: 'groq', models: ['m'] },
      claude: { ...own, type: 'anthropic', models: ['claude-m'] },
    },
    aliases: [{ source: 'm', target: 'fake/m' }],
  },
  files: { 'guardrails.yaml': { guardrails } },
});
suite.beforeEach(() => upstream.behave({ kind: 'json', body: { id: 'x', results: [] } }));

interface Told {
  readonly said: string;
  readonly text: string;
  readonly id: string;
}

async function ask(userPath: string, path: string, body: object | string, type?: string): Promise<Told> {
  const headers = { 'x-gateway-user-path': userPath, ...(type === undefined ? {} : { 'content-type': type }) };
  const answer = await gateway.fetch(path, { method: 'POST', body, headers });
  const text = await answer.text();
  const { error } = (text.startsWith('{') ? JSON.parse(text) : {}) as { error?: { code?: string } };
  const said = answer.status < 400 ? 'ok' : `${answer.status} ${error?.code}`;
  return { said, text, id: answer.headers.get('x-request-id') ?? '' };
}

const heard = (): string => upstream.ledger.at(-1)?.body.toString() ?? '';

/** By door: a request that says these words. */
const json = (words: string): Readonly<Record<string, object>> => ({
  '/v1/audio/speech': { model: 'm', voice: 'alloy', input: words },
  '/v1/images/generations': { model: 'm', prompt: words },
  '/v1/moderations': { model: 'm', input: [{ type: 'text', text: words }] },
  '/v1/rerank': { model: 'm', query: 'q', documents: [{ text: words }] },
});

await test('speech, images, moderation and ranking are looked at', async (t) => {
  for (const [path, body] of Object.entries(json(`to ${mail}`))) {
    const { said, id } = await ask('/masked', path, body);
    t.equal(said, 'ok', path);
    t.match(heard(), 'to [EMAIL_1]', path);
    t.notMatch(heard(), mail, path);
    const record = await recordOf(gateway, id);
    t.match(record.data?.guardrails, [{ name: 'mask', outcome: 'revise' }], path);
    t.notMatch(JSON.stringify(record), mail, path);
  }
  const sent = upstream.ledger.length;
  for (const [path, body] of Object.entries(json(card)))
    t.equal((await ask('/strict', path, body)).said, '400 guardrail_blocked', path);
  t.equal(upstream.ledger.length, sent, 'nothing is sent');
  for (const [path, body] of Object.entries(json(card))) t.equal((await ask('/shadow', path, body)).said, 'ok', path);
});

const formType = 'multipart/form-data; boundary=b';
const form = (...parts: readonly (readonly [name: string, value: string])[]): string => {
  const written = parts.map(([name, value]) => {
    const file = name === 'file' ? '; filename="a.mp3"' : '';
    return `--b\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  return `${written.join('')}--b--\r\n`;
};

await test('fields of a form are looked at, wherever they stand, and files pass as they are', async (t) => {
  const file = ['file', `\r\nsound of ${mail}`] as const;
  for (const path of ['/v1/audio/transcriptions', '/v1/images/edits']) {
    for (const parts of [
      [['model', 'm'], ['prompt', `to ${mail}`], file],
      [file, ['prompt', `to ${mail}`], ['model', 'm']],
    ] as const) {
      const { said, id } = await ask('/masked', path, form(...parts), formType);
      t.equal(said, 'ok', path);
      const masked = parts.map(([name, value]) => [name, name === 'prompt' ? 'to [EMAIL_1]' : value] as const);
      t.equal(heard(), form(...masked), path);
      t.match((await recordOf(gateway, id)).data?.guardrails, [{ name: 'mask', outcome: 'revise' }]);
    }
    const blocked = await ask('/strict', path, form(['model', 'm'], ['prompt', card], file), formType);
    t.equal(blocked.said, '400 guardrail_blocked', path);
    const plain = form(['model', 'm'], ['prompt', 'hi'], file);
    t.equal((await ask('/strict', path, plain, formType)).said, 'ok');
    t.equal(heard(), plain, 'what no guardrail changes goes on as it came');
  }
});

await test('sessions of the realtime API, and what begins them, are closed where a guardrail is enforced', async (t) => {
  const session = { session: { type: 'realtime', model: 'guarded', instructions: 'hi' } };
  const begin = async (path: string): Promise<string> => (await ask(path, '/v1/realtime/client_secrets', session)).said;
  for (const path of ['/masked', '/told', '/some']) t.equal(await begin(path), '403 guardrails_prevent_endpoint', path);
  for (const path of ['/shadow', '/free']) t.not(await begin(path), '403 guardrails_prevent_endpoint', path);
});

await test('passthrough is closed for the models of a guardrail, and where the model is not known', async (t) => {
  const pass = async (body: object | string, userPath = '/some'): Promise<string> =>
    (await ask(userPath, '/p/fake/chat/completions', body)).said;
  const messages = [{ role: 'user', content: 'hi' }];
  t.equal(await pass({ model: 'm', messages }), 'ok');
  for (const body of [
    { model: 'guarded', messages },
    { model: 'GUARDED', messages },
  ])
    t.equal(await pass(body), '403 guardrails_prevent_passthrough', JSON.stringify(body));
  t.equal(await pass({ model: 'guarded', messages, pad: 'x'.repeat(80_000) }), '403 guardrails_prevent_passthrough');
  t.equal(await pass({ messages }), '400 invalid_model');
  t.equal((await ask('/some', '/p/fake/files', 'hi', 'text/plain')).said, '403 guardrails_prevent_passthrough');
  t.equal(await pass({ model: 'guarded', messages }, '/free'), 'ok');
});

const line = (words: string, more: object = {}): string =>
  `${JSON.stringify({ custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body: { model: 'keeper/m', messages: [{ role: 'system', content: words }], ...more } })}\n`;
const upload = (content: string, purpose: string, isLate = false): string => {
  const field = [['purpose', purpose] as const];
  return form(...(isLate ? [] : field), ['file', content], ...(isLate ? field : []));
};
const sendFile = (userPath: string, content: string, purpose = 'batch', isLate = false): Promise<Told> =>
  ask(userPath, '/v1/files?provider=keeper', upload(content, purpose, isLate), formType);

await test('each line of the input of a batch is looked at as it passes', async (t) => {
  await keepThings(upstream, 'a');
  const lines = [line('hi'), line(`to ${mail}`), line('hi', { documents: [mail] }), '\n', line(`and ${mail} `)];
  for (const isLate of [false, true]) {
    const { said, id } = await sendFile('/masked', lines.join(''), 'batch', isLate);
    t.equal(said, 'ok');
    const named = lines.join('').replaceAll('keeper/m', 'm').replaceAll(mail, '[EMAIL_1]');
    t.equal(heard(), upload(named, 'batch', isLate), 'line by line, and all else as it was');
    const record = await recordOf(gateway, id);
    t.match(record.data?.guardrails, [{ name: 'mask', outcome: 'revise', reason: 'email' }]);
    t.notMatch(JSON.stringify(record), mail);
  }
  const blocked = await sendFile('/strict', line('hi').repeat(2) + line(card) + line('hi'));
  t.equal(blocked.said, '400 guardrail_blocked');
  t.match(blocked.text, /no-cards \(card\), in line 3 of the file/);
  t.notMatch(blocked.text, /4111/);
  t.match((await recordOf(gateway, blocked.id)).data?.guardrails, [{ name: 'no-cards', outcome: 'block' }]);
  t.equal((await sendFile('/strict', line('hi'))).said, 'ok');
  const other = `${JSON.stringify({ custom_id: 'a', body: { model: 'keeper/m', input: card } })}\n`;
  t.equal((await sendFile('/strict', other)).said, '400 guardrail_blocked', 'wherever a line may lead');
  const twice = line('hi').replace('"messages":', `"messages":[{"content":"${card}"}],"messages":`);
  t.match((await sendFile('/strict', twice)).text, /line 1 of the file/, 'a member that stands twice is refused');
});

await test('a long file is guarded line by line, whatever lies between', async (t) => {
  await keepThings(upstream, 'a');
  const words = `to ${mail} ${'and so on '.repeat(2_000)}`;
  const { said } = await sendFile('/masked', line(words).repeat(300));
  t.equal(said, 'ok');
  t.equal(heard().split('[EMAIL_1]').length, 301);
  t.notMatch(heard(), mail);
});

await test('files that are no input of a batch are closed to those whose requests guardrails look at', async (t) => {
  await keepThings(upstream, 'a');
  const sent = upstream.ledger.length;
  for (const [path, purpose, isLate] of [
    ['/masked', 'user_data', false],
    ['/masked', 'user_data', true],
    ['/strict', 'fine-tune', false],
    ['/some', 'assistants', false],
  ] as const)
    t.equal((await sendFile(path, 'hello\n', purpose, isLate)).said, '403 guardrails_prevent_endpoint', path);
  t.equal(upstream.ledger.slice(sent).filter(({ body }) => body.includes('hello')).length, 0);
  for (const path of ['/free', '/shadow', '/told'])
    t.equal((await sendFile(path, 'hello', 'user_data')).said, 'ok', path);
});

await test('a batch says nothing that is not looked at', async (t) => {
  await keepThings(upstream, 'a');
  const made = JSON.parse((await sendFile('/strict', line('hi'))).text) as { id: string };
  const batch = { input_file_id: made.id, endpoint: '/v1/chat/completions', completion_window: '24h' };
  t.equal((await ask('/strict', '/v1/batches', { ...batch, requests: [{}] })).said, '403 guardrails_prevent_endpoint');
  t.equal((await ask('/strict', '/v1/batches', batch)).said, 'ok');
});

await test('each request of a batch of messages is looked at', async (t) => {
  await keepThings(upstream, 'a');
  const requestOf = (words: string, id: string) => ({
    custom_id: id,
    params: { model: 'claude/claude-m', max_tokens: 9, system: words, messages: [{ role: 'user', content: 'hi' }] },
  });
  const requests = [requestOf('hi', 'a'), requestOf(`to ${mail}`, 'b'), requestOf('hi', 'c')];
  const { said, id } = await ask('/masked', '/v1/messages/batches', { requests });
  t.equal(said, 'ok');
  const named = JSON.stringify({ requests }).replaceAll('claude/claude-m', 'claude-m').replace(mail, '[EMAIL_1]');
  t.equal(heard(), named);
  const record = await recordOf(gateway, id);
  t.match(record.data?.request_body, JSON.parse(named), 'recorded as it was sent');
  t.match(record.data?.guardrails, [{ name: 'mask', outcome: 'revise' }]);
  const blocked = await ask('/strict', '/v1/messages/batches', {
    requests: [requestOf('hi', 'a'), requestOf(card, 'b')],
  });
  t.equal(blocked.said, '400 guardrail_blocked');
  t.match(blocked.text, /no-cards \(card\), in requests\[1\]/);
});

const read = async (userPath: string, path: string): Promise<string> =>
  (await gateway.fetch(path, { headers: { 'x-gateway-user-path': userPath } })).text();

await test('results of a batch are looked at line by line, and one that is refused has failed', async (t) => {
  const kept = await keepThings(upstream, 'a');
  const created = async (path: string, userPath: string, body: object): Promise<Record<string, string>> =>
    JSON.parse((await ask(userPath, path, body)).text) as Record<string, string>;
  const choice = (content: string) => ({ choices: [{ index: 0, message: { role: 'assistant', content } }] });
  const resultOf = (id: string, content: string): string =>
    JSON.stringify({ id, custom_id: id, response: { status_code: 200, body: choice(content) }, error: null });
  const results = [
    resultOf('a', 'hi'),
    resultOf('b', 'the Bluebird'),
    '{"custom_id":"c","error":{}}',
    resultOf('d', card),
  ];
  for (const userPath of ['/told', '/free']) {
    const input = JSON.parse((await sendFile(userPath, line('hi'))).text) as { id: string };
    const batch = await created('/v1/batches', userPath, { input_file_id: input.id, endpoint: '/v1/chat/completions' });
    const output = batch['output_file_id'] ?? '';
    const owner = kept.batches.get(batch['id'] ?? '')?.owner;
    kept.files.set(output, { owner, body: {}, content: Buffer.from(results.join('\n')) });
    const told = (await read(userPath, `/v1/files/${output}/content`)).split('\n');
    if (userPath === '/free') {
      t.same(told, results);
      continue;
    }
    t.same([told[0], told[2]], [results[0], results[2]], 'what no guardrail changes is as it was');
    t.match(JSON.parse(told[1] ?? ''), { custom_id: 'b', response: { body: choice('the [redacted]') } });
    t.match(JSON.parse(told[3] ?? ''), { custom_id: 'd', response: null, error: { code: 'guardrail_blocked' } });
    t.notMatch(told.join(), /4111/);
  }
  const params = { model: 'claude/claude-m', max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] };
  const made = await created('/v1/messages/batches', '/told', { requests: [{ custom_id: 'a', params }] });
  const messageOf = (text: string): string =>
    JSON.stringify({ custom_id: text, result: { type: 'succeeded', message: { content: [{ type: 'text', text }] } } });
  const found = kept.batches.get(made['id'] ?? '');
  if (found === undefined) throw new Error('no batch was made');
  kept.batches.set(made['id'] ?? '', {
    ...found,
    content: Buffer.from(`${messageOf('Bluebird')}\n${messageOf(card)}\n`),
  });
  const told = await read('/told', `/v1/messages/batches/${made['id']}/results`);
  t.match(told, /"text":"\[redacted\]"/);
  t.match(told, /"type":"errored"/);
  t.notMatch(told, /"text":"(?:Bluebird|4111)/);
});
