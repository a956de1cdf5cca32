// What attempts cost that are not simply answered: counts of tokens, answers that are too late or break off, long bodies that pass through.
import { t as suite, test } from 'tap';
import { ModelSpotter } from '../../proxy/opaque/model-spotter.ts';
import { converseFrame } from '../support/aws-frames.ts';
import { type Behaviour, fin, startFakeUpstream } from '../support/fake-upstream.ts';
import { recordOf } from '../support/journal.ts';
import { shareGateway } from '../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite, models: ['m'] });
const models = [{ id: 'm', pricing: { input_per_mtok: 10, output_per_mtok: 20 } }];
const provider = { base_url: upstream.url, models, circuit_breaker: false };
/** Of providers that are asked for what never comes. */
const timeouts = { total: '300ms' };
const gateway = await shareGateway({
  config: {
    providers: {
      openai: { ...provider, type: 'openai' },
      claude: { ...provider, type: 'anthropic' },
      hanging: { ...provider, type: 'openai', timeouts },
      hangingclaude: { ...provider, type: 'anthropic', timeouts },
      keeper: { ...provider, type: 'openai', dialects: ['responses'] },
      fees: {
        ...provider,
        type: 'openai',
        dialects: ['chat', 'moderations', 'rerank'],
        models: [{ id: 'f', pricing: { per_request: 0.002 } }],
      },
    },
    aliases: [
      {
        source: 'careful',
        strategy: 'failover',
        targets: [{ model: 'openai/m' }, { model: 'keeper/m' }],
        retry: { on: ['content_filter'], budget: 1 },
      },
    ],
  },
});

/** The cost of all attempts so far, as their records say it. Nano-dollars. */
let recorded = 0;
const metricOfCosts = async (): Promise<number> => (await gateway.metric('gateway_cost_dollars_total')) ?? 0;
const metricBefore = await metricOfCosts();

/** The usage of the last attempt. */
async function costOf(path: string, body: object | string, status: number) {
  const answer = await gateway.fetch(path, { method: 'POST', body });
  await answer.arrayBuffer();
  const { attempts, requested_model: model } = await recordOf(gateway, answer.headers.get('x-request-id') ?? '');
  for (const { usage } of attempts ?? []) recorded += usage?.cost?.total ?? 0;
  return { isAsExpected: answer.status === status, model, usage: attempts?.at(-1)?.usage, attempts };
}

const content = 'word '.repeat(1_000);
const asked = { model: 'openai/m', messages: [{ role: 'user', content }] };

await test('counting tokens costs nothing', async (t) => {
  await upstream.behave({ kind: 'json', body: { input_tokens: 1_001 } });
  const messages = [{ role: 'user', content }];
  const { isAsExpected, usage } = await costOf('/v1/messages/count_tokens', { model: 'claude/m', messages }, 200);
  t.ok(isAsExpected);
  t.match(usage, { input_tokens: 0, cost: { total: 0 } });
  const passed = await costOf('/p/claude/messages/count_tokens', { model: 'm', messages }, 200);
  t.match(passed.usage, { input_tokens: 0, cost: { total: 0 } }, 'in passing, too');
  await upstream.behave({ kind: 'hang' });
  const late = await costOf('/v1/messages/count_tokens', { model: 'hangingclaude/m', messages }, 504);
  t.match(late.usage, { input_tokens: 0, cost: { total: 0 } }, 'and where it is late');
});

await test('a price for each request is the cost of one, whatever its provider tells', async (t) => {
  const body = { model: 'f', input: 'a', query: 'a', documents: ['a'] };
  for (const answer of [{ results: [] }, { results: [], usage: { total_tokens: 9 } }]) {
    await upstream.behave({ kind: 'json', body: answer });
    for (const path of ['/v1/rerank', '/v1/moderations', '/p/fees/rerank', '/p/fees/unknown']) {
      const { isAsExpected, usage } = await costOf(path, body, 200);
      t.ok(isAsExpected);
      t.match(usage?.cost, { total: 2_000_000 }, path);
    }
  }
  await upstream.behave({ kind: 'error', status: 404 });
  t.match((await costOf('/p/fees/unknown', body, 404)).usage?.cost, { total: 0 }, 'what is refused costs nothing');
});

await test('the beginning of a response in the background has a price: its cost is told later', async (t) => {
  await upstream.behave({ kind: 'json', body: { id: 'resp_1', object: 'response', status: 'queued', usage: null } });
  const body = { model: 'm', input: 'a', background: true };
  t.match((await costOf('/v1/responses', { ...body, model: 'keeper/m' }, 200)).usage?.cost, { total: 0 });
  t.match((await costOf('/p/keeper/responses', body, 200)).usage?.cost, { total: 0 }, 'in passing, too');
});

await test('an answer that is too late, or breaks off, costs what was read and said until then', async (t) => {
  await upstream.behave({ kind: 'hang' });
  const late = await costOf('/v1/chat/completions', { ...asked, model: 'hanging/m' }, 504);
  t.ok(late.isAsExpected);
  t.match(late.usage, { source: 'partial', output_tokens: 0 });
  t.ok((late.usage?.input_tokens ?? 0) > 500);
  t.equal(late.usage?.cost?.total, (late.usage?.input_tokens ?? 0) * 10_000);
  const said = JSON.stringify({ choices: [{ message: { role: 'assistant', content } }] });
  const cut = Buffer.from(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99999\r\n\r\n${said}`);
  await upstream.behave({ kind: 'raw', steps: [cut, fin] });
  const broken = await costOf('/v1/chat/completions', asked, 502);
  t.ok(broken.isAsExpected);
  t.equal(broken.usage?.source, 'partial');
  t.ok((broken.usage?.output_tokens ?? 0) > 500);
  await upstream.behave({ kind: 'error', status: 500 });
  const refused = await costOf('/v1/chat/completions', asked, 502);
  t.match(refused.usage, { input_tokens: 0, cost: { total: 0 } }, 'an error is free');
});

await test('an answer that was filtered costs what its provider reports, although another target gives the answer', async (t) => {
  const usage = { prompt_tokens: 1_000, completion_tokens: 0, total_tokens: 1_000 };
  const choice = { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'content_filter' };
  const filtered: Behaviour = { kind: 'json', body: { id: 'c', object: 'chat.completion', choices: [choice], usage } };
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes.' }] }];
  const body = { id: 'resp_1', object: 'response', status: 'completed', output, model: 'm' };
  await upstream.behave([filtered, { kind: 'json', body }]);
  const { isAsExpected, attempts } = await costOf('/v1/chat/completions', { ...asked, model: 'careful' }, 200);
  t.ok(isAsExpected);
  t.equal(attempts?.length, 2);
  t.match(attempts?.[0], { error_code: 'content_filter', usage: { source: 'reported', cost: { total: 10_000_000 } } });
});

await test('a long body that passes through is billed as the model that it names', async (t) => {
  await upstream.behave({ kind: 'openai' });
  for (const long of [
    { model: 'm', messages: [{ role: 'user', content: content.repeat(20) }] },
    { messages: [{ role: 'user', content: content.repeat(20) }], model: 'm' },
  ]) {
    const { isAsExpected, model, usage } = await costOf('/p/openai/chat/completions', long, 200);
    t.ok(isAsExpected);
    t.equal(model, 'm');
    t.equal(usage?.source, 'reported');
    t.ok((usage?.cost?.total ?? 0) > 0);
  }
});

await test('what passes through in other formats costs what its provider reports', async (t) => {
  const metadata = { promptTokenCount: 100, candidatesTokenCount: 40, thoughtsTokenCount: 10, totalTokenCount: 150 };
  const part = (more: object) => ({ candidates: [{ content: { parts: [{ text: '"usageMetadata":{' }] } }], ...more });
  const cost = { total: 2_000_000 };
  await upstream.behave({ kind: 'json', body: part({ usageMetadata: metadata, modelVersion: 'm' }) });
  const whole = await costOf('/p/openai/models/m:generateContent', { contents: [] }, 200);
  t.match(whole.usage, { source: 'reported', input_tokens: 100, output_tokens: 50, reasoning_tokens: 10, cost });
  const events = [{ ...metadata, candidatesTokenCount: 1, totalTokenCount: 111 }, metadata];
  const chunks = events.map((usageMetadata) => `data: ${JSON.stringify(part({ usageMetadata }))}\r\n\r\n`);
  await upstream.behave({ kind: 'sse', chunks });
  const streamed = await costOf('/p/openai/models/m:streamGenerateContent?alt=sse', { contents: [] }, 200);
  t.match(streamed.usage, { input_tokens: 100, output_tokens: 50, cost });
  const usage = { input_tokens: 100, output_tokens: 50, total_tokens: 150 };
  await upstream.behave({ kind: 'json', body: { data: [{ b64_json: 'x' }], usage } });
  const image = await costOf('/p/openai/images/generations', { model: 'm', prompt: 'x' }, 200);
  t.match(image.usage, { source: 'reported', images: 1, cost });
});

await test('what passes through in the formats of Bedrock costs what its headers, answers and frames report', async (t) => {
  const counted = { inputTokens: 60, outputTokens: 50, totalTokens: 110, cacheReadInputTokens: 40 };
  const expected = { source: 'reported', input_tokens: 100, cached_input_tokens: 40, output_tokens: 50 };
  const contentType = ['content-type', 'application/vnd.amazon.eventstream'] as const;
  const costs = async (claim: string, endpoint: string, behaviour: Behaviour): Promise<void> => {
    await upstream.behave(behaviour);
    const { isAsExpected, model, usage } = await costOf(`/p/openai/model/m/${endpoint}`, { messages: [] }, 200);
    t.match({ isAsExpected, model, usage }, { isAsExpected: true, model: 'm', usage: expected }, claim);
  };
  const output = { message: { content: [{ toolUse: { input: { usage: 'x' } } }] } };
  await costs('Converse', 'converse', { kind: 'json', body: { output, usage: counted } });
  const named = { usage: { inputTokens: 0, outputTokens: 0 } };
  const trace = { guardrail: { invocationMetrics: { usage: { topicPolicyUnits: 1 } } } };
  const behind = { usage: counted, output: { message: { content: [{ toolUse: { input: named } }] } }, trace };
  await costs('Converse, with others of that name behind', 'converse', { kind: 'json', body: behind });
  const frames = (...all: readonly Buffer[]): Behaviour => ({ kind: 'sse', chunks: all, headers: [contentType] });
  const told = [
    converseFrame('messageStop', { stopReason: 'end_turn' }),
    converseFrame('metadata', { usage: counted }),
  ];
  await costs('ConverseStream', 'converse-stream', frames(...told));
  const claude = { input_tokens: 60, output_tokens: 50, cache_read_input_tokens: 40 };
  await costs('InvokeModel of Claude', 'invoke', { kind: 'json', body: { usage: claude } });
  const headers: [string, string][] = [
    ['X-Amzn-Bedrock-Input-Token-Count', '60'],
    ['X-Amzn-Bedrock-Output-Token-Count', '50'],
    ['X-Amzn-Bedrock-Cache-Read-Input-Token-Count', '40'],
    ['X-Amzn-Bedrock-Invocation-Latency', '7'],
  ];
  await costs('InvokeModel of others', 'invoke', { kind: 'json', body: { generation: 'x' }, headers });
  const metrics = { inputTokenCount: 60, outputTokenCount: 50, cacheReadInputTokenCount: 40 };
  const invoked = (said: object) =>
    converseFrame('chunk', { bytes: Buffer.from(JSON.stringify(said)).toString('base64'), p: 'abc' });
  const last = invoked({ type: 'message_stop', 'amazon-bedrock-invocationMetrics': metrics });
  await costs('its stream', 'invoke-with-response-stream', frames(invoked({ type: 'message_delta' }), last));
});

await test('the metric of costs says what all of these records say', async (t) => {
  const nanoDollars = ((await metricOfCosts()) - metricBefore) * 1e9;
  t.ok(recorded > 0);
  t.ok(Math.abs(nanoDollars - recorded) < 1, `${nanoDollars} of ${recorded}`);
});

await test('the model of a body is spotted wherever it is cut', (t) => {
  const inner = { model: 'inner', text: '"model":"text"' };
  for (const [body, model] of [
    [JSON.stringify({ inner, list: [inner, 'model'], value: 'model', model: 'a"b\\é' }), 'a"b\\é'],
    [JSON.stringify({ model: 'm', inner }, null, 2), 'm'],
    ['{"mod\\u0065l" : "m"}', 'm'],
    [JSON.stringify({ inner, key: 'model', other: 'm' }), undefined],
    [JSON.stringify({ model: 7, other: 'm' }), undefined],
    [JSON.stringify({ model: ['m'], other: 'n' }), undefined],
    [JSON.stringify([{ model: 'm' }]), undefined],
  ] as const) {
    const bytes = Buffer.from(body);
    for (let size = 1; size <= bytes.length; size += 1) {
      const spotter = new ModelSpotter();
      for (let at = 0; at < bytes.length; at += size) spotter.take(bytes.subarray(at, at + size));
      if (spotter.model !== model) t.fail(`${body} in pieces of ${size} asks for ${spotter.model}`);
    }
  }
  t.pass();
  t.end();
});
