// What came of every call of a provider, as Prometheus sees it: outcomes, times, tokens, and keys that were refused.
import { t as suite, test } from 'tap';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { openRaw } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const [upstream, spare] = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
const timeouts = { connect: '300ms', first_byte: '200ms', stream_idle: '200ms' };
// What one test makes them do must not turn the next one's request away.
const trusted = { circuit_breaker: false, learn_limits: false };
const provider = (url: string) => ({ type: 'openai', base_url: url, models: ['m'], timeouts, ...trusted });
const gateway = await startGateway(suite, {
  config: {
    providers: { main: provider(upstream.url), spare: provider(spare.url) },
    aliases: [
      { source: 'both', strategy: 'round_robin', targets: [{ model: 'main/m', weight: 1e6 }, { model: 'spare/m' }] },
    ],
  },
});

const call = (model: string, more: object = {}) =>
  gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { model, messages: [{ role: 'user', content: 'a' }], ...more },
  });
const attempts = async (labels: Record<string, string>): Promise<number> =>
  (await gateway.metric('gateway_upstream_attempts_total', labels)) ?? Number.NaN;

await test('every attempt counts under what came of it', async (t) => {
  const cases: [behaviour: Behaviour, outcome: string, stream?: boolean, calls?: number][] = [
    [{ kind: 'openai' }, 'success'],
    [{ kind: 'openai' }, 'success', true],
    [{ kind: 'error', status: 400 }, 'client_error'],
    [{ kind: 'error', status: 401 }, 'unauthorized'],
    [{ kind: 'error', status: 403, message: 'This API key may not.' }, 'unauthorized'],
    [{ kind: 'error', status: 403 }, 'client_error'],
    [{ kind: 'error', status: 429 }, 'rate_limited'],
    // No other one can answer, so it is asked again.
    [{ kind: 'error', status: 503 }, 'server_error', false, 2],
    [{ kind: 'hang' }, 'timeout'],
    [{ kind: 'stall', after: 1 }, 'timeout', true],
    [{ kind: 'html' }, 'invalid_response'],
    [{ kind: 'reset' }, 'cut'],
    [{ kind: 'cut-chunk', after: 1 }, 'cut', true],
    // Nothing was sent, so it is asked again, twice.
    [{ kind: 'refused' }, 'unreachable', false, 3],
  ];
  for (const [behaviour, outcome, stream, calls = 1] of cases) {
    await upstream.behave(behaviour);
    const labels = { provider: 'main', model: 'm' };
    const [before, all] = [await attempts({ ...labels, outcome }), await attempts(labels)];
    await (await call('main/m', stream === true ? { stream } : {})).text().catch(() => '');
    await waitFor('it to count', async () => (await attempts({ ...labels, outcome })) === before + calls);
    t.equal(await attempts(labels), all + calls, `${JSON.stringify(behaviour)} is ${outcome} and nothing else`);
  }
});

await test('a request that fails over counts twice, the failure at once', async (t) => {
  await upstream.behave({ kind: 'refused' });
  const gate = createGate();
  await spare.behave({ kind: 'hold', gate });
  const main = { provider: 'main', outcome: 'unreachable' };
  const before = await attempts(main);
  const answer = call('both');
  await waitFor('the failure to count while the other is asked', async () => (await attempts(main)) === before + 1);
  t.equal(await attempts({ provider: 'spare', outcome: 'success' }), 0);
  gate.release();
  t.equal((await answer).status, 200);
  await waitFor('the success', async () => (await attempts({ provider: 'spare', outcome: 'success' })) === 1);
});

await test('a client that leaves counts as no failure', async () => {
  await upstream.behave({ kind: 'hang' });
  const connection = await openRaw(gateway.port);
  const body = '{"model":"main/m","messages":[]}';
  const asked = upstream.ledger.length;
  const head = `POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${gateway.masterKey}`;
  await connection.send(`${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  await upstream.waitFor((ledger) => ledger.length > asked);
  connection.close();
  const cancelled = { provider: 'main', outcome: 'cancelled' };
  await waitFor('it to count', async () => (await attempts(cancelled)) === 1);
});

await test('times and tokens, by provider and by what was asked for', async (t) => {
  await upstream.behave({ kind: 'openai' });
  const read = async () => {
    const of = async (name: string, labels: object = {}) =>
      (await gateway.metric(name, { provider: 'main', ...labels })) ?? 0;
    return {
      durations: await of('gateway_upstream_duration_seconds_count'),
      firstBytes: await of('gateway_upstream_first_byte_seconds_count'),
      whole: await of('gateway_request_duration_seconds_count', { stream: 'false' }),
      streamed: await of('gateway_request_duration_seconds_count', { stream: 'true' }),
      prompt: await of('gateway_tokens_total', { model: 'm', type: 'prompt' }),
      completion: await of('gateway_tokens_total', { model: 'm', type: 'completion' }),
    };
  };
  const before = await read();
  const answer = (await (await call('main/m')).json()) as { usage: Record<string, number> };
  const { prompt_tokens: prompt = 0, completion_tokens: completion = 0 } = answer.usage;
  t.ok(prompt > 0 && completion > 0);
  await (await call('main/m', { stream: true })).text();
  await waitFor('both to count', async () => (await read()).durations === before.durations + 2);
  t.strictSame(await read(), {
    durations: before.durations + 2,
    firstBytes: before.firstBytes + 2,
    whole: before.whole + 1,
    streamed: before.streamed + 1,
    prompt: before.prompt + 2 * prompt,
    completion: before.completion + 2 * completion,
  });
});

await test('a refused key counts by its reason, and every reason is there at 0', async (t) => {
  const failures = (reason: string) => gateway.metric('gateway_auth_failures_total', { reason });
  const ask = (path: string, headers: Record<string, string>) => gateway.fetch(path, { headers });
  t.strictSame([await failures('missing'), await failures('expired')], [0, 0]);
  for (const path of ['/v1/models', '/admin/status']) await ask(path, { authorization: 'Bearer wrong' });
  await ask('/v1/models', { authorization: 'Basic abc' });
  await fetch(`${gateway.url}/v1/models`);
  await ask('/v1/models', { 'x-api-key': 'another' });
  const reasons = ['unknown', 'malformed', 'missing', 'ambiguous', 'revoked'];
  t.strictSame(await Promise.all(reasons.map(failures)), [2, 1, 1, 1, 0]);
});

await test('the build is known', async (t) => {
  const labels = { plane: 'proxy', node: process.versions.node };
  t.equal(await gateway.metric('gateway_build_info', labels), 1);
});
