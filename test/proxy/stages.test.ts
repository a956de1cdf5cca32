// The steps that send a request to a provider, hand its answer back and count it.

import { Socket } from 'node:net';
import { test } from 'tap';
import { compileRules } from '../../domain/rules/rule.ts';
import { identityOf } from '../../plane/identity.ts';
import { Budgets } from '../../proxy/budgets/budgets.ts';
import { readCall } from '../../proxy/call/call.ts';
import { refusal } from '../../proxy/errors.ts';
import { closeExchange, type Exchange } from '../../proxy/http/exchange.ts';
import { createLimiter } from '../../proxy/limits/limiter.ts';
import { createAccessLog } from '../../proxy/records/access-log.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { FailedAttempt } from '../../proxy/stages/attempts.ts';
import type { Ending } from '../../proxy/stages/relay.ts';
import { relay } from '../../proxy/stages/relay.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import { type SettledTrip, settle } from '../../proxy/stages/settle.ts';
import { TargetStates } from '../../proxy/targets/target-states.ts';
import type { Limit } from '../../schemas/types.ts';
import { type Behaviour, createGate, type FakeUpstream, fin } from '../support/fake-upstream.ts';
import { waitFor } from '../support/wait-for.ts';
import { sampleConfig } from './sample-config.ts';
import {
  admitted,
  attempted,
  exchangeOf,
  metricsOf,
  named,
  open,
  partsOf,
  refusedBy,
  reported,
  routedOf,
} from './stage-parts.ts';
import { deliveryOf, post, startStand } from './stages-stand.ts';

const plain = '{"model":"all","messages":[]}';
const streaming = '{"model":"all","stream":true,"messages":[]}';
const error = (status: number): Behaviour => ({ kind: 'error', status });

await test('the next target is tried unless the request is wrong', async (t) => {
  const { providers, port, outcomes } = await startStand(t);
  const [first, second] = providers as [FakeUpstream, FakeUpstream];
  const cases: [behaviour: Behaviour, status: number, servedBy: string][] = [
    [{ kind: 'openai' }, 200, 'p0'],
    [error(429), 200, 'p1'],
    [error(500), 200, 'p1'],
    [error(503), 200, 'p1'],
    [error(400), 400, 'p0'],
    [error(401), 200, 'p1'],
    [error(404), 200, 'p1'],
    [{ kind: 'json', status: 404, body: { error: { message: 'No such file' } } }, 404, 'p0'],
    // A kept connection and the new one in its place: the request was read by neither.
    [{ kind: 'reset' }, 200, 'p1'],
    // A first connection.
    [{ kind: 'fin' }, 200, 'p1'],
    [{ kind: 'hang' }, 200, 'p1'],
    [{ kind: 'not-http' }, 200, 'p1'],
    [{ kind: 'short-body' }, 200, 'p1'],
    [{ kind: 'html' }, 200, 'p1'],
    [{ kind: 'refused' }, 200, 'p1'],
  ];
  for (const [behaviour, status, provider] of cases) {
    await first.behave(behaviour);
    const before = second.ledger.length;
    outcomes.length = 0;
    const { responses } = await post(port, plain);
    const name = JSON.stringify(behaviour);
    t.equal(responses[0]?.status, status, name);
    t.same(outcomes, [{ status, provider }], name);
    t.equal(second.ledger.length - before, provider === 'p1' ? 1 : 0, `${name}: calls of the second`);
  }
});

await test('a trip knows every target that was asked, when, and what came of it', async (t) => {
  const { providers, snapshot } = await startStand(t, 3);
  await providers[0]?.behave({ kind: 'refused' });
  await providers[1]?.behave({ kind: 'error', status: 503, message: 'too busy' });
  const parts = partsOf();
  const route = resolve(named('all'), snapshot, undefined);
  const call = readCall(Buffer.from(plain));
  const failed: FailedAttempt[] = [];
  const routed = routedOf(call, route, admitted(parts));
  const accepted = await attempted(routed, failed, exchangeOf({}), parts);
  const attempts = [...failed, accepted];
  t.same(
    attempts.map(({ target, answer, refused }) => [target.upstream.name, answer?.status, refused?.message]),
    [
      ['p0', 0, 'The provider could not be reached: connection refused.'],
      ['p1', 503, 'too busy'],
      ['p2', 200, undefined],
    ],
  );
  const moments = attempts.flatMap(({ startedAtMs, endedAtMs }) => [startedAtMs, endedAtMs]);
  t.same(
    moments.map(Math.floor),
    moments.map(Math.floor).sort((a, b) => a - b),
    'one after the other',
  );
  parts.pools.closeFree();
});

await test('when every target refuses, the last one’s refusal is the answer', async (t) => {
  const { providers, port } = await startStand(t);
  await providers[0]?.behave(error(500));
  await providers[1]?.behave({ kind: 'error', status: 429, retryAfter: '7', message: 'slow down, canary-key' });
  const { responses } = await post(port, plain);
  t.equal(responses[0]?.status, 429);
  t.equal(responses[0]?.header('retry-after'), '7');
  t.match(JSON.parse(responses[0]?.body.toString() ?? ''), {
    error: { type: 'rate_limit_error', provider: 'p1', message: 'slow down, [redacted]' },
  });
});

await test('a provider sees its key, its model and the request id, and nothing of the client', async (t) => {
  const { providers, port } = await startStand(t, 1);
  await post(port, plain);
  const entry = providers[0]?.ledger[0];
  t.equal(entry?.target, '/v1/chat/completions');
  t.equal(entry?.body.toString(), '{"model":"m","messages":[]}');
  t.equal(entry?.header('authorization'), 'Bearer canary-key');
  t.match(entry?.header('x-request-id'), /^req_/);
  const names = (entry?.headers ?? []).map(([name]) => name.toLowerCase()).sort();
  t.same(names, [
    'accept-encoding',
    'authorization',
    'connection',
    'content-length',
    'content-type',
    'host',
    'x-request-id',
  ]);
});

/** The data of each event in a body; a rest without a blank line at its end counts as an event. */
const eventsOf = (body: string): string[] => body.split(/\n\n/).filter((event) => event !== '');

await test('a stream comes through without the usage event that only the gateway wanted', async (t) => {
  const { providers, port } = await startStand(t, 1);
  const bytes = [
    ': hi\n\n',
    'data: {"choices":[{}]}\n',
    '\ndata: {"choices":[],"usage":{"total_tokens":3}}\n\nda',
    'ta: [DONE]\n\n',
  ];
  await providers[0]?.behave({ kind: 'sse', chunks: bytes });
  const { responses } = await post(port, streaming);
  t.equal(responses[0]?.body.toString(), ': hi\n\ndata: {"choices":[{}]}\n\ndata: [DONE]\n\n');
  t.equal(responses[0]?.header('cache-control'), 'no-cache');
  const own = streaming.replace('"messages"', '"stream_options":{"include_usage":true},"messages"');
  t.equal((await post(port, own)).responses[0]?.body.toString(), bytes.join(''), 'a client that asked gets it');
});

await test('a stream that breaks ends with an error event of its own, wherever it was cut', async (t) => {
  const { providers, port } = await startStand(t, 1);
  const whole = 'data: {"choices":[{"delta":{"content":"a"}}]}\n\n';
  const own = streaming.replace('"messages"', '"stream_options":{"include_usage":true},"messages"');
  const cuts: [name: string, chunks: string[], framing: 'chunked' | 'eof'][] = [
    ['between events', [whole], 'chunked'],
    ['inside an event', [whole, 'data: {"choi'], 'chunked'],
    ['at the end of a line', [whole, 'data: {"choices":[]}\n'], 'chunked'],
    ['before the terminal event', [whole], 'eof'],
    ['inside an event of unknown length', [whole, 'data: {"choi'], 'eof'],
    ['after text that mentions the terminal event', [whole, 'data: {"choices":[{"delta":"[DONE]"}]}\n\n'], 'eof'],
  ];
  for (const [name, chunks, framing] of cuts) {
    for (const body of [streaming, own]) {
      await providers[0]?.behave({ kind: 'sse', chunks: [...chunks, fin], framing });
      const text = (await post(port, body)).responses[0]?.body.toString() ?? '';
      t.ok(text.startsWith(whole), name);
      t.match(eventsOf(text).at(-1), /^data: \{"error":\{"code":"stream_incomplete".*"provider":"p0"/, `cut ${name}`);
      t.notMatch(text, 'data: [DONE]', name);
    }
  }
});

await test('a stream that is complete by its framing needs no terminal event', async (t) => {
  const { providers, port } = await startStand(t, 1);
  for (const [chunks, framing] of [
    [['data: 1\n\n'], 'chunked'],
    [['data: 1\n\n', 'data: [DONE]\n\n'], 'eof'],
    [['data: 1\r\n\r\ndata:[DO', 'NE]\r\n\r\n'], 'eof'],
  ] as const) {
    await providers[0]?.behave({ kind: 'sse', chunks, framing });
    const { responses } = await post(port, streaming);
    t.equal(responses[0]?.body.toString(), chunks.join(''), `${framing} ${chunks.length}`);
  }
});

await test('a long answer passes while it arrives, and one that breaks off is never taken for whole', async (t) => {
  const { providers, port, outcomes } = await startStand(t, 1);
  const body = `{"a":"${'x'.repeat(300_000)}"}`;
  await providers[0]?.behave({ kind: 'json', body });
  const { responses } = await post(port, plain);
  t.equal(responses[0]?.header('content-length'), String(body.length));
  t.ok(responses[0]?.body.toString() === body);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  await providers[0]?.behave({ kind: 'raw', steps: [head, body.slice(0, 200_000), fin] });
  t.equal((await post(port, plain)).responses[0]?.complete, false);
  t.same(outcomes, [
    { status: 200, provider: 'p0' },
    { status: 502, provider: 'p0' },
  ]);
});

await test('targets that were all used up a moment ago are refused, although a slice ends meanwhile', async (t) => {
  const providers = { p0: {}, p1: {} };
  const aliases = [{ source: 'all', targets: [{ model: 'p0/m' }, { model: 'p1/m' }] }];
  const snapshot = compile(sampleConfig({ providers, aliases }), '', open);
  const usedMs = 1_700_000_000_000;
  // The 61st second from there on is free again, and begins between two looks at the clock.
  const ticks = [usedMs + 60_999, usedMs + 61_000];
  const parts = { ...partsOf(), nowMs: () => ticks.shift() ?? usedMs + 61_001 };
  const limits: Limit[] = [{ period: 'minute', max_requests: 1, mode: 'enforce' }];
  parts.limiter.reconcile(
    compileRules({
      enabled: true,
      user_paths: [],
      providers: Object.keys(providers).map((name) => ({ name, limits })),
      models: [],
    }),
  );
  for (const name of Object.keys(providers)) {
    t.ok(parts.limiter.admit(parts.limiter.forTarget(name, 'm'), usedMs, 'reject').lease);
  }
  const consumer = admitted({ ...parts, nowMs: () => usedMs });
  const call = readCall(Buffer.from(streaming));
  const route = resolve(named('all'), snapshot, undefined);
  const routed = routedOf(call, route, consumer);
  const refused = await refusedBy(() => attempted(routed, [], exchangeOf({}), parts));
  t.match(refused, { status: 429, code: 'rate_limit_exceeded', headers: { 'retry-after': '1' }, message: /p0/ });
});

await test('an answer that comes after the client has left is cancelled', async (t) => {
  const { providers, snapshot } = await startStand(t, 1);
  const gate = createGate();
  await providers[0]?.behave({ kind: 'sse', chunks: ['data: 1\n\n', gate] });
  const exchange = exchangeOf({});
  const parts = partsOf();
  const { pools } = parts;
  const route = resolve(named('all'), snapshot, undefined);
  const call = readCall(Buffer.from(streaming));
  const routed = routedOf(call, route, admitted(parts));
  const accepted = await attempted(routed, [], exchange, parts);
  exchange.gone = true;
  const { delivery, tap } = deliveryOf(routed, accepted);
  t.match(await relay(delivery, exchange, parts), { status: 499, refused: { code: 'client_left' } });
  t.match(tap.usage(), { source: 'estimated' });
  await providers[0]?.waitFor((ledger) => ledger[0]?.clientClosedAtMs);
  pools.closeFree();
});

await test('a client that leaves takes its upstream call with it', async (t) => {
  const { providers, port, outcomes } = await startStand(t);
  const gate = createGate();
  const [first] = providers as [FakeUpstream, FakeUpstream];
  for (const behaviour of [
    { kind: 'hold', gate },
    { kind: 'sse', chunks: ['data: 1\n\n', gate] },
  ] as Behaviour[]) {
    await first.behave(behaviour);
    const socket = new Socket();
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined).connect(port, '127.0.0.1');
    socket.write(
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${streaming.length}\r\n\r\n${streaming}`,
    );
    await waitFor('the provider to hold it', () => gate.waiting);
    if (behaviour.kind === 'sse') await new Promise((got) => socket.once('data', got));
    outcomes.length = 0;
    const leftAtMs = performance.now();
    socket.destroy();
    const closedAtMs = await first.waitFor((ledger) => ledger.at(-1)?.clientClosedAtMs);
    t.ok(closedAtMs - leftAtMs < 3_000, `cancelled after ${Math.round(closedAtMs - leftAtMs)} ms`);
    await waitFor('the outcome', () => outcomes.length > 0);
    t.equal(providers[1]?.ledger.length, 0, 'no other target is asked for a client that has left');
  }
});

await test('no provider is called for a client that has left', async (t) => {
  const { providers, snapshot } = await startStand(t, 1);
  const exchange = exchangeOf({});
  closeExchange(exchange);
  const parts = partsOf();
  const route = resolve(named('all'), snapshot, undefined);
  const call = readCall(Buffer.from(plain));
  const routed = routedOf(call, route, admitted(parts));
  const refused = await refusedBy(() => attempted(routed, [], exchange, parts));
  t.match(refused, { status: 499, code: 'client_left' });
  t.equal(providers[0]?.ledger.length, 0);
});

// --- settle

/** The trip of a request that came nowhere and ended like this. */
function tripOf(exchange: Exchange, ending: Ending): SettledTrip {
  return {
    path: '/v1/embeddings',
    exchange,
    snapshot: compile(sampleConfig({}), '', open),
    principal: undefined,
    consumer: undefined,
    call: undefined,
    route: undefined,
    failed: [],
    accepted: undefined,
    expected: undefined,
    money: undefined,
    remembered: undefined,
    usage: undefined,
    ending,
  };
}

await test('a request is counted and logged once, by how it ended and how long it took', async (t) => {
  const logged: string[] = [];
  const output = { writeSoon: (line: string) => void logged.push(line) };
  const accessLog = createAccessLog(identityOf('proxy', '0', 'a'), output, () => 0);
  const limiter = createLimiter();
  const metrics = metricsOf(limiter);
  metrics.keep(compile(sampleConfig({ providers: { p: {} } }), '', open));
  const settled = (ending: Ending, gone: boolean): void => {
    const exchange = exchangeOf({});
    exchange.gone = gone;
    exchange.waiting = { gone: () => t.fail('no step waits any more') };
    metrics.requests.begin();
    const reportFailure = (thrown: unknown) => void reported.push(thrown);
    const records = { trip: () => undefined, flush: () => undefined, capture: () => undefined, omitted: () => 0 };
    const parts = {
      accessLog,
      records,
      metrics,
      limiter,
      reportFailure,
      targets: new TargetStates(),
      nowMs: () => 250,
      budgets: new Budgets(),
      usageEnabled: true,
    };
    settle(tripOf(exchange, ending), { isOfClient: true, isSession: false }, parts);
    t.equal(exchange.waiting, undefined);
  };
  const failed = refusal('upstream_timeout', { provider: 'p' });
  settled({ status: 504, headers: [], refused: failed }, false);
  settled({ status: 504, headers: [], refused: failed }, true);
  settled({ status: 404, headers: [], refused: refusal('model_not_found') }, false);
  t.match(
    logged.map((line) => JSON.parse(line)),
    [
      { status: 504, error_code: 'upstream_timeout', endpoint: '/v1/embeddings', duration_ms: 250, attempts: [] },
      { status: 499 },
      { status: 404 },
    ],
  );
  const text = await metrics.text();
  for (const line of [
    'gateway_requests_total{endpoint="/v1/embeddings",provider="p",status="504"} 1',
    'gateway_requests_total{endpoint="/v1/embeddings",provider="p",status="499"} 1',
    'gateway_requests_total{endpoint="/v1/embeddings",provider="",status="404"} 1',
    'gateway_http_requests_total{trip="model",status="499"} 1',
    'gateway_request_duration_seconds_bucket{le="0.1",endpoint="/v1/embeddings",provider="p",stream="false"} 0',
    'gateway_request_duration_seconds_bucket{le="0.25",endpoint="/v1/embeddings",provider="p",stream="false"} 2',
    'gateway_request_duration_seconds_bucket{le="+Inf",endpoint="/v1/embeddings",provider="p",stream="false"} 2',
    'gateway_request_duration_seconds_sum{endpoint="/v1/embeddings",provider="p",stream="false"} 0.5',
    'gateway_request_duration_seconds_count{endpoint="/v1/embeddings",provider="",stream="false"} 1',
    'gateway_requests_in_flight 0',
  ]) {
    t.ok(text.split('\n').includes(line), line);
  }
});

await test('no failure was unexpected', (t) => {
  t.strictSame(reported, []);
  t.end();
});
