// OpenTelemetry of a real proxy: the spans and figures that a collector gets, the trace that providers get, a collector that hangs, and nothing
// at all when it is off.
import OpenAI from 'openai';
import { t as suite, test } from 'tap';
import { type CollectedSpan, startCollector } from '../support/collector.ts';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { type FakeUpstream, type Field, startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, providerKey, startGateway } from '../support/gateway.ts';
import { openSession } from '../support/realtime-client.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

const first = await startFakeUpstream({ t: suite, models: ['m'] });
const second = await startFakeUpstream({ t: suite, models: ['m'] });
const voice = await startFakeRealtime(suite);
const collector = await startCollector(suite);
const collectorSecret = 'canary-collector-token';

const provider = ({ url }: { url: string }) => ({
  type: 'openai',
  base_url: url,
  api_key: `\${TEST_PROVIDER_KEY}`,
  models: ['m'],
  circuit_breaker: false,
  learn_limits: false,
  forward_headers: ['traceparent'],
});
/** Says in the output when the exporters are loaded: a file of the source, or one of a build. */
const watchLoads = `data:text/javascript,${encodeURIComponent(
  "import { registerHooks } from 'node:module'; registerHooks({ load: (url, context, next) => { " +
    "if (/\\/exporting[-.]/.test(url)) process.stderr.write('loads ' + url + '\\n'); return next(url, context); } });",
)}`;
const variables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${collectorSecret}`,
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test%20bench',
  OTEL_BSP_SCHEDULE_DELAY: '20',
  OTEL_BSP_MAX_QUEUE_SIZE: '8',
  OTEL_METRIC_EXPORT_INTERVAL: '100',
};
const gateway = await startGateway(suite, {
  execArgv: ['--import', watchLoads],
  env: variables,
  config: {
    providers: {
      first: provider(first),
      second: provider(second),
      voice: { ...provider(voice), models: ['gpt-realtime'], dialects: ['realtime'] },
    },
    aliases: [{ source: 'both', strategy: 'failover', targets: [{ model: 'first/m' }, { model: 'second/m' }] }],
    rate_limits: { user_paths: [{ path: '/few', limits: [{ period: 'day', max_requests: 1, name: 'once a day' }] }] },
  },
});
const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: masterKey, maxRetries: 0 });

const traceId = (digit: string): string => digit.repeat(32);
const clientSpan = 'b7ad6b7169203331';
const question = [{ role: 'user' as const, content: 'canary question' }];

/** The headers of the last request to a provider that say something of a trace. */
const traceSentTo = ({ ledger }: FakeUpstream): readonly Field[] =>
  (ledger.at(-1)?.headers ?? []).filter(([name]) => /^(trace|baggage)/i.test(name));

/** The spans of a trace, once that of the request is there: it first, then the attempts in order. */
const spansOf = (id: string): Promise<readonly CollectedSpan[]> =>
  waitFor(`the spans of ${id}`, () => {
    const spans = collector.spans().filter((span) => span.traceId === id);
    return spans.some(({ kind }) => kind === 2) && spans.toSorted((a, b) => a.kind - b.kind || a.startMs - b.startMs);
  });

function ask(headers: Record<string, string>, body: object = {}): Promise<{ status: number }> {
  const request = { model: 'second/m', messages: question, ...body };
  return gateway.fetch('/v1/chat/completions', { method: 'POST', headers, body: request }).then(async (answer) => {
    await answer.text();
    return answer;
  });
}

await test('a request that fails over: the client is the parent, each attempt has a span, providers are told its id', async (t) => {
  await first.behave([{ kind: 'error', status: 503 }]);
  const id = traceId('1');
  const beginMs = Date.now();
  const headers = { traceparent: `00-${id}-${clientSpan}-01`, tracestate: 'a=1, b@c=2', 'x-request-id': 'req-one' };
  const asked = { model: 'both', messages: question, temperature: 0.5, max_tokens: 9 };
  const answer = await client.chat.completions.create(asked, {
    headers: { ...headers, 'x-gateway-user-path': '/team/ann' },
  });
  const [server, failed, answered] = await spansOf(id);
  t.match(server, {
    name: 'POST /v1/chat/completions',
    kind: 2,
    parentSpanId: clientSpan,
    traceState: 'a=1,b@c=2',
    status: 0,
    resource: {
      'service.name': 'model-gateway',
      'deployment.environment.name': 'test bench',
      'service.version': /^\d/,
    },
    attributes: {
      'http.request.method': 'POST',
      'http.response.status_code': 200,
      'url.path': '/v1/chat/completions',
      'gen_ai.operation.name': 'chat',
      'gen_ai.request.model': 'both',
      'gateway.alias': 'both',
      'gateway.user_path': '/team/ann',
      'gateway.key_id': 'master_key',
      'gateway.request_id': 'req-one',
      'gateway.config_revision': /^[0-9a-f]{12}$/,
      'gateway.attempts': 2,
    },
  });
  t.match(failed, {
    name: 'chat m',
    kind: 3,
    parentSpanId: server?.spanId,
    status: 2,
    attributes: { 'gateway.provider': 'first', 'http.response.status_code': 503, 'error.type': '503' },
  });
  t.match(answered, {
    parentSpanId: server?.spanId,
    status: 0,
    attributes: {
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'm',
      'gen_ai.request.max_tokens': 9,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.stream': false,
      'gen_ai.response.id': answer.id,
      'gen_ai.response.model': answer.model,
      'gen_ai.usage.input_tokens': answer.usage?.prompt_tokens,
      'gen_ai.usage.output_tokens': answer.usage?.completion_tokens,
      'gateway.usage.source': 'reported',
      'gateway.attempt.kind': 'failover',
      'gateway.attempt.number': 2,
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': second.port,
    },
  });
  const times = [beginMs - 1, server, failed, answered].map((each) =>
    typeof each === 'number' ? each : (each?.startMs ?? 0),
  );
  t.same(
    times,
    times.toSorted((a, b) => a - b),
  );
  t.ok((answered?.endMs ?? 0) <= (server?.endMs ?? 0) && (server?.endMs ?? 0) <= Date.now() + 1);
  for (const [upstream, span] of [
    [first, failed],
    [second, answered],
  ] as const) {
    t.match(traceSentTo(upstream), [
      ['traceparent', new RegExp(`^00-${id}-${span?.spanId}-0[13]$`)],
      ['tracestate', 'a=1,b@c=2'],
    ]);
  }
});

await test('a stream has the names and tokens of its events; a trace without a valid parent begins here', async (t) => {
  await second.behave({ kind: 'openai' });
  const headers = { traceparent: `00-${traceId('0')}-${clientSpan}-01`, tracestate: 'a=1' };
  const asked = {
    model: 'second/m',
    messages: question,
    stream: true,
    stream_options: { include_usage: true },
  } as const;
  let last: OpenAI.ChatCompletionChunk | undefined;
  for await (const chunk of await client.chat.completions.create(asked, { headers })) last = chunk;
  const sent = Object.fromEntries(traceSentTo(second));
  t.same(Object.keys(sent), ['traceparent'], 'without a parent, tracestate means nothing');
  const [, ownTrace = '', ownSpan] = sent['traceparent']?.split('-') ?? [];
  const [server, answered] = await spansOf(ownTrace);
  t.equal(server?.parentSpanId || undefined, undefined);
  t.equal(answered?.spanId, ownSpan);
  t.match(answered?.attributes, {
    'gen_ai.request.stream': true,
    'gen_ai.response.id': last?.id,
    'gen_ai.response.model': last?.model,
    'gen_ai.usage.output_tokens': last?.usage?.completion_tokens,
    'gen_ai.response.time_to_first_chunk': Number,
  });
});

await test('a refused request names its rule; a client that does not sample has no spans, but its trace goes on', async (t) => {
  const refused = { traceparent: `00-${traceId('2')}-${clientSpan}-01`, 'x-gateway-user-path': '/few' };
  t.equal((await ask({ 'x-gateway-user-path': '/few' })).status, 200);
  t.equal((await ask(refused)).status, 429);
  const [server, ...attempts] = await spansOf(traceId('2'));
  t.same(attempts, []);
  t.match(server, { status: 0, attributes: { 'gateway.rule': 'once a day', 'error.type': 'rate_limit_exceeded' } });
  t.equal((await ask({ traceparent: `00-${traceId('3')}-${clientSpan}-00` })).status, 200);
  const [[, sent] = []] = traceSentTo(second);
  t.match(sent, new RegExp(`^00-${traceId('3')}-(?!${clientSpan})[0-9a-f]{16}-00$`));
  await ask({ traceparent: `00-${traceId('4')}-${clientSpan}-01` });
  await spansOf(traceId('4'));
  t.same(
    collector.spans().filter((span) => span.traceId === traceId('3')),
    [],
  );
});

await test('what is passed on as it is has spans, too, and its trace in place of the client’s', async (t) => {
  const id = traceId('5');
  const headers = { traceparent: `00-${id}-${clientSpan}-01`, baggage: 'k=v' };
  const passed = await gateway.fetch('/p/second/chat/completions', {
    method: 'POST',
    headers,
    body: { model: 'm', messages: question },
  });
  await passed.text();
  const [server, attempt] = await spansOf(id);
  t.match(server?.attributes, { 'http.route': '/p/*', 'gateway.request_id': /^req_/ });
  t.same(Object.fromEntries(traceSentTo(second)), { traceparent: `00-${id}-${attempt?.spanId}-01`, baggage: 'k=v' });
});

await test('a session is one request: its handshake has the trace, its frames are the client’s', async (t) => {
  const id = traceId('7');
  const session = await openSession(gateway, { headers: { traceparent: `00-${id}-${clientSpan}-01` } });
  session.say({ type: 'response.create' });
  await waitFor('the tokens', () => session.said.some((text) => text.includes('response.done')));
  session.socket.close();
  await session.closed;
  const [server, attempt] = await spansOf(id);
  t.match(server, {
    name: 'GET /v1/realtime',
    parentSpanId: clientSpan,
    attributes: { 'gen_ai.operation.name': 'realtime', 'http.response.status_code': 101 },
  });
  t.match(attempt?.attributes, { 'gen_ai.request.model': 'gpt-realtime', 'gen_ai.usage.output_tokens': 20 });
  t.equal(voice.asked.at(-1)?.headers['traceparent'], `00-${id}-${attempt?.spanId}-01`);
  t.notOk(session.said.some((text) => text.includes(id)));
});

await test('figures go by provider and model; no secret, no question and no user path of theirs goes to the collector', async (t) => {
  const durations = await waitFor('the figures of both providers', () => {
    const points = collector.points().filter(({ metric }) => metric === 'gen_ai.client.operation.duration');
    return points.some(({ attributes }) => attributes['error.type'] === '503') && points;
  });
  t.match(
    durations.find(
      ({ attributes }) => attributes['error.type'] === undefined && attributes['server.port'] === second.port,
    ),
    { attributes: { 'gen_ai.operation.name': 'chat', 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'm' } },
  );
  const tokens = collector.points().filter(({ metric }) => metric === 'gen_ai.client.token.usage');
  t.same(new Set(tokens.map(({ attributes }) => attributes['gen_ai.token.type'])), new Set(['input', 'output']));
  const names = new Set(collector.points().flatMap(({ attributes }) => Object.keys(attributes)));
  t.notOk(
    [...names].some((name) => name.startsWith('gateway.')),
    'a user path would make series without end',
  );
  await ask({}, { model: 'sk-canary-of-a-model' });
  await (await gateway.fetch('/p/second/keys/sk-canary-of-a-path', { method: 'POST', body: {} })).text();
  const paths = () => collector.spans().map(({ attributes }) => String(attributes['url.path']));
  await waitFor('the span of the path', () => paths().some((path) => path.includes('/p/second/keys')));
  const all = collector.texts.join('\n');
  for (const secret of [masterKey, providerKey, collectorSecret, 'canary question', 'canary-of-a'])
    t.notOk(all.includes(secret), secret);
  t.ok(collector.headers.every(({ authorization }) => authorization === `Bearer ${collectorSecret}`));
  t.notOk([...gateway.process.stdout, ...gateway.process.stderr].some((line) => line.includes(collectorSecret)));
});

await test('a collector that hangs costs no request: spans beyond the queue are dropped and counted, the process ends', async (t) => {
  collector.hang();
  for (let asked = 0; asked < 20; asked += 1) t.equal((await ask({})).status, 200);
  t.ok(((await gateway.metric('gateway_spans_total', { outcome: 'dropped' })) ?? 0) >= 20);
  t.ok(((await gateway.metric('gateway_spans_total', { outcome: 'exported' })) ?? 0) >= 8);
  t.equal(await gateway.metric('gateway_spans_waiting'), 8);
  const tookMs = watchTime();
  t.same(await gateway.process.stop(), { code: 0, signal: null });
  t.ok(tookMs() < 3_500, 'two seconds, and the rest of the end');
});

await test('off, nothing of it is loaded, and the trace of a client goes where the config says', async (t) => {
  const loads = (): string[] => gateway.process.stderr.filter((line) => line.startsWith('loads '));
  const before = loads().length;
  t.ok(before > 0);
  await gateway.restart({ OTEL_SDK_DISABLED: 'true' });
  const parent = `00-${traceId('6')}-${clientSpan}-01`;
  t.equal((await ask({ traceparent: parent, tracestate: 'a=1' })).status, 200);
  t.same(traceSentTo(second), [['traceparent', parent]]);
  t.equal(loads().length, before);
});
