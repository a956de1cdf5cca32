// Guardrails of a running gateway, with the official clients: what they refuse, mask and change, and what they leave alone. The model says what
// it hears.
import Anthropic from '@anthropic-ai/sdk';
import { APIError, BadRequestError, OpenAI } from 'openai';
import { t as suite, test } from 'tap';
import { type Entry, silence, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { recordOf } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';

const mail = 'bob@example.com';
const card = '4111 1111 1111 1111';
const guardrails = [
  { name: 'mask', user_paths: ['/masked'], pii: { action: 'mask' } },
  { name: 'no-cards', user_paths: ['/strict'], on: ['input', 'output'], pii: { kinds: ['card'], action: 'block' } },
  { name: 'house', user_paths: ['/house'], system_prompt: { text: 'Be kind.' } },
  { name: 'tried', user_paths: ['/shadow'], on: ['input', 'output'], mode: 'shadow', pii: { action: 'block' } },
  { name: 'names', models: ['fake-large'], on: ['output'], keywords: { words: ['Bluebird'], action: 'redact' } },
  { name: 'short', user_paths: ['/short'], limits: { max_tokens: 1000 } },
];
const upstream = await startFakeUpstream({ t: suite });
const gateway = await shareGateway({
  upstream,
  config: { rate_limits: { user_paths: [{ path: '/strict/few', limits: [{ period: 'day', max_requests: 1 }] }] } },
  files: { 'guardrails.yaml': { guardrails } },
});

/** The last thing that was said to the model. */
function heardIn(entry: Entry): string {
  const { messages = [] } = entry.json() as { messages?: { content: string }[] };
  return messages.at(-1)?.content ?? '';
}

const lastHeard = (): string => heardIn(upstream.ledger.at(-1) as Entry);
const defaultHeaders = (path: string) => ({ 'x-gateway-user-path': path });
const openai = (path: string): OpenAI =>
  new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0, defaultHeaders: defaultHeaders(path) });
const anthropic = (path: string): Anthropic =>
  new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0, defaultHeaders: defaultHeaders(path) });
const asked = (content: string) => ({ model: 'fake-small', messages: [{ role: 'user' as const, content }] });
const ask = (path: string, body: object | string) =>
  gateway.fetch('/v1/chat/completions', { method: 'POST', body, headers: defaultHeaders(path) });
suite.beforeEach(() => upstream.behave((entry) => ({ kind: 'openai', content: heardIn(entry) })));

await test('a request that is blocked is not sent, costs nothing, and learns the name of the guardrail alone', async (t) => {
  const sent = upstream.ledger.length;
  for (let attempt = 0; attempt < 2; attempt += 1) {
    const thrown = await openai('/strict/few')
      .chat.completions.create(asked(`my card: ${card}`))
      .catch((error) => error);
    t.ok(thrown instanceof BadRequestError);
    t.match(thrown, { status: 400, code: 'guardrail_blocked', message: /no-cards \(card\)/ });
    t.notMatch(thrown.message, /4111/);
  }
  t.equal(upstream.ledger.length, sent);
  t.equal((await ask('/strict/few', asked('hello'))).status, 200, 'the one request of the day is left');
  const message = { max_tokens: 9, ...asked(card) };
  const refused = await anthropic('/strict')
    .messages.create(message)
    .catch((error) => error);
  t.match(refused, { status: 400, error: { type: 'error', error: { type: 'invalid_request_error' } } });
});

await test('what is said twice, or under a name in another case, is refused where a guardrail might look at the other one', async (t) => {
  const user = `[{"role":"user","content":"${card}"}]`;
  for (const twin of ['"messages":[]', '"Messages":[]', '"mess\\u0061ges":[]']) {
    const response = await ask('/strict', `{"model":"fake-small","messages":${user},${twin}}`);
    t.match(await response.json(), { error: { code: 'duplicate_key', param: 'messages' } }, twin);
  }
  for (const message of [`{"content":"${card}","content":"hi"}`, `{"content":"hi","c\\u006fntent":"${card}"}`]) {
    const response = await ask('/strict', `{"model":"fake-small","messages":[${message}]}`);
    t.match(await response.json(), { error: { code: 'duplicate_key', param: 'content' } }, message);
  }
  const tools = [{ type: 'function', function: { name: 'f', parameters: { properties: { Name: {}, name: {} } } } }];
  t.equal((await ask('/strict', { ...asked('hi'), tools })).status, 200, 'names in two cases are two names');
});

await test('an answer that cannot be read is not told', async (t) => {
  for (const stream of [false, true]) {
    await upstream.behave({ kind: 'html' });
    const response = await ask('/strict', { ...asked('hi'), stream });
    t.same([response.status, (await response.text()).includes('upstream_invalid_response')], [502, true]);
  }
  await upstream.behave({ kind: 'gzip' });
  const packed = await ask('/strict', asked('hi'));
  t.match(await packed.json(), { choices: [{ message: { role: 'assistant' } }] }, 'one that is packed is unpacked');
});

await test('what was masked is put back for every client, streamed or not', async (t) => {
  const content = `Write to ${mail}, please.`;
  const client = openai('/masked');
  const { choices } = await client.chat.completions.create(asked(content));
  t.equal(choices[0]?.message.content, content);
  t.equal(lastHeard(), 'Write to [EMAIL_1], please.');

  let told = '';
  for await (const chunk of await client.chat.completions.create({ ...asked(content), stream: true })) {
    told += chunk.choices[0]?.delta.content ?? '';
  }
  t.equal(told, content);

  const stream = anthropic('/masked').messages.stream({ max_tokens: 99, ...asked(content) });
  t.equal(await stream.finalText(), content);

  const events = client.responses.stream({ model: 'fake-small', input: content });
  const seen: string[] = [];
  for await (const event of events) if (event.type === 'response.output_text.done') seen.push(event.text);
  t.same(seen, [content]);
  t.equal((await events.finalResponse()).output_text, content);
});

await test('a response that is kept, and one that goes on from it, hold what the client said', async (t) => {
  const client = openai('/masked');
  const first = await client.responses.create({ model: 'fake-small', input: `I am ${mail}` });
  t.equal(first.output_text, `I am ${mail}`);
  const next = await client.responses.create({ model: 'fake-small', input: 'again', previous_response_id: first.id });
  t.equal(next.output_text, 'again');
  t.notMatch(upstream.ledger.at(-1)?.body.toString(), /example/, 'all that was said is masked again');
  t.match(await client.responses.inputItems.list(first.id), { data: [{ content: [{ text: `I am ${mail}` }] }] });
});

await test('an answer that is blocked is not told, and its tokens are charged', async (t) => {
  await upstream.behave({ kind: 'openai', content: `It is ${card}.` });
  const response = await ask('/strict', asked('which card?'));
  t.equal(response.status, 400);
  const said = await response.text();
  t.match(said, /"guardrail_blocked"/);
  t.notMatch(said, /4111/);
  const record = await recordOf(gateway, response.headers.get('x-request-id') ?? '');
  t.match(record, { status_code: 400, attempts: [{ success: true, usage: { output_tokens: Number } }] });
  t.match(record.data?.guardrails, [{ name: 'no-cards', phase: 'output', outcome: 'block', reason: 'card' }]);
});

await test('a stream that is blocked ends with the error of its dialect, and its call with it', async (t) => {
  const chunk = (content: string) =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  await upstream.behave({ kind: 'sse', chunks: [chunk('It is '), chunk(`${card}.`), chunk(' Bye.'), silence] });
  const stream = await openai('/strict').chat.completions.create({ ...asked('which?'), stream: true });
  let told = '';
  const reading = (async () => {
    for await (const { choices } of stream) told += choices[0]?.delta.content ?? '';
  })();
  const thrown = await reading.catch((error: unknown) => error);
  t.ok(thrown instanceof APIError);
  t.match(thrown, { code: 'guardrail_blocked' });
  t.equal(told, 'It is ');
  await upstream.waitFor((ledger) => ledger.at(-1)?.clientClosedAtMs !== undefined);
});

await test('what no guardrail changes goes on as the bytes that came, both ways', async (t) => {
  const body =
    '{ "messages" : [{"role":"user","content":"h\\u0069"}],"seed":12345678901234567890, "model":"fake-small" }';
  const answer = '{ "id":"c", "choices" : [{"index":0,"message":{"role":"assistant","content":"h\\u0069"}}],"x":1.10 }';
  await upstream.behave({ kind: 'json', body: answer });
  const response = await ask('/strict', body);
  t.equal(await response.text(), answer);
  t.equal(upstream.ledger.at(-1)?.body.toString(), body);
});

await test('a change leaves every other member as it was', async (t) => {
  const body = `{"messages":[{"role":"user","content":"${mail}","name":"b"}],"seed":12345678901234567890,"own":{"a":1.50},"model":"fake-small"}`;
  await (await ask('/masked', body)).text();
  t.equal(upstream.ledger.at(-1)?.body.toString(), body.replace(mail, '[EMAIL_1]'));
});

await test('the operator puts words into the system prompt, and responses do not repeat them', async (t) => {
  const client = openai('/house');
  await client.chat.completions.create(asked('hi'));
  t.match(upstream.ledger.at(-1)?.json(), { messages: [{ role: 'system', content: 'Be kind.' }, { role: 'user' }] });
  const response = await client.responses.create({ model: 'fake-small', input: 'hi', instructions: 'Be brief.' });
  t.equal(response.instructions, 'Be brief.');
  t.match(upstream.ledger.at(-1)?.json(), { messages: [{ content: 'Be kind.\n\nBe brief.' }, { role: 'user' }] });
});

await test('thinking for which a cap leaves no room is left out, and named', async (t) => {
  const thinking = { type: 'enabled', budget_tokens: 4000 };
  const response = await ask('/short', { ...asked('hi'), thinking, max_tokens: 9000 });
  t.equal(response.headers.get('x-gateway-dropped'), 'thinking');
  t.same((upstream.ledger.at(-1) as Entry).json(), { ...asked('hi'), max_tokens: 1000 });
  t.match(await recordOf(gateway, response.headers.get('x-request-id') ?? ''), { data: { dropped: ['thinking'] } });
});

await test('shadow changes nothing, and is recorded and counted', async (t) => {
  const response = await ask('/shadow', asked(mail));
  t.match(await response.json(), { choices: [{ message: { content: mail } }] });
  t.equal(lastHeard(), mail);
  const { data } = await recordOf(gateway, response.headers.get('x-request-id') ?? '');
  const said = { name: 'tried', kind: 'pii', outcome: 'block', reason: 'email', mode: 'shadow' };
  t.same(data?.guardrails, [
    { ...said, phase: 'input' },
    { ...said, phase: 'output' },
  ]);
  t.equal(data?.request_revisions, undefined);
  for (const phase of ['input', 'output']) {
    const labels = { guardrail: 'tried', phase };
    const counted = (outcome: string) => gateway.metric('gateway_guardrail_verdicts_total', { ...labels, outcome });
    t.equal(await counted('shadow_block'), 1);
    t.equal(await counted('shadow_failed'), 0, 'failures are shown before the first one');
  }
});

await test('a revision is recorded with its lengths, and without what was found', async (t) => {
  const body = JSON.stringify(asked(mail));
  const response = await ask('/masked', body);
  await response.text();
  const { data } = await recordOf(gateway, response.headers.get('x-request-id') ?? '');
  const lengths = { bytes_before: body.length, bytes_after: body.length - mail.length + '[EMAIL_1]'.length };
  const saved = Number(data?.request_revisions?.[0]?.tokens_saved);
  t.ok(saved > 0, 'what is masked is shorter');
  t.same(data?.request_revisions, [{ seq: 1, rewriter: 'mask', ...lengths, tokens_saved: saved, no_change: false }]);
  t.match(data?.workflow_features, { guardrails: true });
  t.notMatch(JSON.stringify(data), /bob/);
});

await test('a guardrail for a model holds whatever the model is called', async (t) => {
  for (const [model, told] of [
    ['fake-large', 'the [redacted]'],
    ['fake/fake-large', 'the [redacted]'],
    ['fake-small', 'the Bluebird'],
  ] as const) {
    const { choices } = await openai('/').chat.completions.create({ ...asked('the Bluebird'), model });
    t.equal(choices[0]?.message.content, told, model);
  }
});

await test('passthrough is closed to those for whom a guardrail is enforced, and open to others', async (t) => {
  const pass = (path: string) =>
    gateway.fetch('/p/fake/chat/completions', { method: 'POST', body: asked('hi'), headers: defaultHeaders(path) });
  const refused = await pass('/masked/app');
  t.equal(refused.status, 403);
  t.match(await refused.json(), { error: { code: 'guardrails_prevent_passthrough' } });
  for (const path of ['/', '/shadow']) t.equal((await pass(path)).status, 200, path);
});

await test('an explanation shows the guardrails that hold, in their order, and where they are declared', async (t) => {
  const explained = async (query: string): Promise<unknown> =>
    ((await (await gateway.fetch(`/admin/explain?${query}`)).json()) as { guardrails: unknown }).guardrails;
  const shown = { order: 0, source: 'config' };
  const [strict, names] = [1, 4].map((index) => ({ name: guardrails[index]?.name, mode: 'enforce', ...shown }));
  t.match(await explained('model=fake-large&user_path=/strict/app'), [
    { ...strict, kind: 'pii', on: ['input', 'output'], declared_at: /^guardrails\.yaml:\d+$/ },
    { ...names, kind: 'keywords', on: ['output'] },
  ]);
  t.same(await explained('model=fake-small&user_path=/'), []);
  const counting = await explained('model=fake-large&user_path=/strict&endpoint=/v1/messages/count_tokens');
  t.match(counting, [{ name: 'no-cards' }, {}]);
});

await test('a change of the list is in force at once', async (t) => {
  const [first, ...others] = guardrails;
  const edited = [{ ...first, pii: { action: 'redact', replacement: '***' } }, ...others];
  await gateway.applyConfig({ 'guardrails.yaml': { guardrails: edited } });
  await (await ask('/masked', asked(mail))).text();
  t.equal(lastHeard(), '***');
  await gateway.applyConfig({ 'guardrails.yaml': { guardrails: [] } });
  await (await ask('/masked', asked(mail))).text();
  t.equal(lastHeard(), mail);
});
