// Equal requests at once share one call (cache.share_concurrent): who waits, who asks, and what they count.
import { t as suite, type Test, test } from 'tap';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { untilIdle } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const limits = [{ period: 'concurrent', max_requests: 1 }];
const gateway = await shareGateway({
  upstream,
  config: {
    cache: { enabled: true, share_concurrent: true, share_patience: '200ms' },
    rate_limits: { user_paths: [{ path: '/narrow', limits }] },
  },
});
const followers = 40;
let questions = 0;
const question = (more: object = {}) => {
  questions += 1;
  return { model: 'fake-small', messages: [{ role: 'user', content: `question ${questions}` }], ...more };
};

interface Told {
  readonly status: number;
  readonly cache: string | null;
  readonly text: string;
}

async function ask(body: object, signal?: AbortSignal, userPath = '/narrow'): Promise<Told> {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath },
    body,
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, cache: response.headers.get('x-gateway-cache'), text: await response.text() };
}

const waiting = (count: number) =>
  waitFor(`${count} requests to wait`, async () => (await gateway.metric('gateway_cache_waiting_requests')) === count);
const callsSince = (before: number) => upstream.ledger.length - before;

/** A leader whose call has begun, and others that wait for it; `open` lets the provider answer. */
async function gather(t: Test, body: object, count = followers) {
  const gate = createGate();
  t.teardown(() => gate.release());
  const before = upstream.ledger.length;
  await upstream.behave({ kind: 'hold', gate, next: { kind: 'openai' } });
  const leaving = new AbortController();
  const leader = ask(body, leaving.signal).catch((error: unknown) => error);
  await upstream.waitFor(() => callsSince(before) === 1);
  const others = Array.from({ length: count }, () => ask(body));
  await waiting(count);
  return { gate, before, leaving, leader, others };
}

await test('one is asked for all, and the others count nothing and hold no slot', async (t) => {
  const { gate, before, leader, others } = await gather(t, question());
  gate.release();
  const first = await leader;
  t.match(first, { status: 200, cache: 'miss' });
  const { text } = first as Told;
  for (const told of await Promise.all(others)) t.same(told, { status: 200, cache: 'hit', text });
  t.equal(callsSince(before), 1);
  await waiting(0);
});

await test('those that stream get the answer as a stream when it is complete', async (t) => {
  const body = question();
  const { gate, before, leader } = await gather(t, body, 1);
  const streaming = ask({ ...body, stream: true });
  await waiting(2);
  gate.release();
  await leader;
  t.match(await streaming, { status: 200, cache: 'hit', text: /data: \[DONE\]/ });
  t.equal(callsSince(before), 1);
});

await test('when the client of the call leaves, one of the others makes it', async (t) => {
  const { gate, before, leaving, leader, others } = await gather(t, question());
  leaving.abort();
  t.match(await leader, { name: 'AbortError' });
  await upstream.waitFor(() => callsSince(before) === 2);
  gate.release();
  const told = await Promise.all(others);
  t.equal(told.filter(({ cache }) => cache === 'miss').length, 1);
  t.equal(told.filter(({ cache }) => cache === 'hit').length, followers - 1);
  t.equal(callsSince(before), 2);
});

await test('when the client of the call reads nothing, one of the others makes it', async (t) => {
  const body = question();
  const before = upstream.ledger.length;
  const delta = { choices: [{ index: 0, delta: { content: 'x'.repeat(60_000) } }] };
  const long = {
    kind: 'sse',
    chunks: Array.from({ length: 500 }, () => `data: ${JSON.stringify(delta)}\n\n`),
  } as const;
  await upstream.behave([long, { kind: 'openai' }]);
  const leaving = new AbortController();
  const leader = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { ...body, stream: true },
    headers: { 'x-gateway-user-path': '/wide' },
    signal: leaving.signal,
  });
  const others = Array.from({ length: 5 }, () => ask(body, undefined, '/wide'));
  const told = await Promise.all(others);
  t.equal(told.filter(({ cache }) => cache === 'miss').length, 1);
  t.equal(told.filter(({ cache }) => cache === 'hit').length, 4);
  t.equal(callsSince(before), 2);
  leaving.abort();
  await leader.body?.cancel().catch(() => undefined);
  await untilIdle(gateway);
});

await test('a client that waits may leave, and the others still get the answer', async (t) => {
  const body = question();
  const { gate, before, leader, others } = await gather(t, body, 2);
  const leaving = new AbortController();
  const third = ask(body, leaving.signal).catch((error: unknown) => error);
  await waiting(3);
  leaving.abort();
  await third;
  await waiting(2);
  gate.release();
  await leader;
  for (const { cache } of await Promise.all(others)) t.equal(cache, 'hit');
  t.equal(callsSince(before), 1);
  await untilIdle(gateway);
});

await test('after two failed calls no request waits for a third', async (t) => {
  const gate = createGate();
  t.teardown(() => gate.release());
  const before = upstream.ledger.length;
  await upstream.behave({ kind: 'hold', gate, next: { kind: 'error', status: 400 } });
  const body = question();
  const first = ask(body);
  await upstream.waitFor(() => callsSince(before) === 1);
  const others = Array.from({ length: 5 }, () => ask(body));
  await waiting(5);
  gate.release();
  t.equal((await first).status, 400);
  const statuses = (await Promise.all(others)).map(({ status }) => status);
  t.same(
    statuses.filter((status) => status !== 400 && status !== 429),
    [],
    'each has an answer of its own, or is beyond its limit',
  );
  t.ok(callsSince(before) >= 2);
  await waiting(0);
});

await test('an answer that may not be shared sends each request to the provider', async (t) => {
  const body = question({ max_tokens: 1 });
  const gate = createGate();
  t.teardown(() => gate.release());
  const before = upstream.ledger.length;
  const cut = { index: 0, message: { role: 'assistant', content: 'x' }, finish_reason: 'length' };
  const answer = { id: 'c', object: 'chat.completion', choices: [cut] };
  await upstream.behave({ kind: 'hold', gate, next: { kind: 'json', body: answer } });
  const first = ask(body);
  await upstream.waitFor(() => callsSince(before) === 1);
  const second = ask(body);
  await waiting(1);
  gate.release();
  t.match(await first, { status: 200, cache: 'miss' });
  t.match(await second, { status: 200, cache: 'miss' });
  t.equal(callsSince(before), 2);
});
