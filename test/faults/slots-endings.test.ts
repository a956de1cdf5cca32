// A request whose client stays gives its slots back exactly once, however it ends and whatever happens to its rules meanwhile.
import { t as suite, test } from 'tap';
import { chatCall, firstEvent, lastEvent } from '../support/chat-call.ts';
import { complaintsOf } from '../support/complaints.ts';
import { type Behaviour, createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { openRaw, type RawConnection } from '../support/raw-http.ts';
import {
  figuresOf,
  isSame,
  minus,
  none,
  type PerRule,
  type RuleFigures,
  readFigures,
  slotsAndWindow,
} from '../support/rule-figures.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const path = '/v1/chat/completions';
const upstream = await startFakeUpstream({ t: suite });
const second = await startFakeUpstream({ t: suite });

const impatient = { connect: '300ms', first_byte: '300ms', stream_idle: '300ms' };
const provider = ({ url, models }: typeof upstream, timeouts: object = {}) => ({
  type: 'openai',
  base_url: url,
  models,
  timeouts,
  // What one test makes it do must not turn the next one's request away from it.
  circuit_breaker: false,
  learn_limits: false,
});

/** The rules every test starts with; parts may be replaced. */
function ruleFile(changes: object = {}): { 'rules.yaml': object } {
  return {
    'rules.yaml': {
      rate_limits: {
        user_paths: [{ path: '/team', limits: slotsAndWindow() }],
        providers: ['first', 'second'].map((name) => ({ name, limits: slotsAndWindow() })),
        models: [{ model: 'fake-small', limits: slotsAndWindow() }],
        ...changes,
      },
    },
  };
}

/** All but the rules. */
const config = (timeouts: object = {}) => ({
  server: { body_limit: '64KiB' },
  providers: {
    first: provider(upstream, timeouts),
    second: provider(second, timeouts),
    hurried: provider(upstream, { ...impatient, total: '300ms' }),
  },
  aliases: [
    { source: 'pair', targets: [{ model: 'first/fake-small', weight: 100_000 }, { model: 'second/fake-small' }] },
  ],
});

function start(t: Teardown, timeouts: object = {}): Promise<Gateway> {
  return startGateway(t, {
    config: config(timeouts),
    files: ruleFile(),
    env: { GATEWAY_ENTITLEMENTS: 'quota_templates', RATE_LIMITS_FLUSH_INTERVAL: '1' },
  });
}

/** Waits as long as a gate of a test is closed. */
const gateway = await start(suite);
/** For providers that never come to an end. */
const hasty = await start(suite, impatient);

suite.beforeEach(async () => {
  await upstream.behave({ kind: 'openai' });
  await second.behave({ kind: 'openai' });
});

const look = (through: Gateway = gateway): Promise<RuleFigures> => figuresOf(through);

async function untilFree(through: Gateway = gateway): Promise<void> {
  await waitFor('every slot to be free', async () => isSame((await look(through)).held, none), 5000);
}

interface Heard {
  status: number;
  text: string;
}

interface CallOptions {
  model?: string;
  stream?: boolean;
  userPath?: string;
  through?: Gateway;
}

function chatBody(model: string, stream: boolean): object {
  return { model, stream, messages: [{ role: 'user', content: 'hello' }] };
}

/** One call of `/team`, however it ends. */
async function call(options: CallOptions = {}): Promise<Heard> {
  const { model = 'first/fake-small', stream = false, userPath = '/team', through = gateway } = options;
  return post(chatBody(model, stream), { 'x-gateway-user-path': userPath }, through);
}

async function post(
  body: string | object,
  headers: Record<string, string>,
  through: Gateway = gateway,
): Promise<Heard> {
  const signal = AbortSignal.timeout(5000);
  const response = await through.fetch(path, { method: 'POST', body, headers, signal });
  let text = '';
  try {
    for await (const piece of response.body ?? []) text += Buffer.from(piece as Uint8Array).toString('latin1');
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') throw error;
    text += '(broken)';
  }
  return { status: response.status, text };
}

/** A stream whose first event has come, and which goes on when the gate opens. */
async function openStream(t: Teardown, through: Gateway = gateway, userPath = '/team') {
  const gate = createGate();
  await upstream.behave([{ kind: 'sse', chunks: [firstEvent, gate, lastEvent] }]);
  const connection = await openRaw(through.port, { t });
  await connection.send(chatCall(chatBody('first/fake-small', true), { 'X-Gateway-User-Path': userPath }));
  await connection.waitFor(({ responses }) => responses[0]?.body.length);
  return { connection, gate };
}

async function finish({ connection, gate }: { connection: RawConnection; gate: { release(): void } }): Promise<string> {
  gate.release();
  const answer = await connection.waitFor(({ responses }) => responses[0]?.complete && responses[0]);
  connection.close();
  return answer.text();
}

const held: PerRule = { user: 1, first: 1, second: 0, model: 1 };
const both: PerRule = { user: 1, first: 1, second: 1, model: 2 };

const endings: readonly (readonly [name: string, behaviour: Behaviour, status: number, options?: CallOptions])[] = [
  ['a success', { kind: 'openai' }, 200],
  ['a stream that succeeds', { kind: 'openai' }, 200, { stream: true }],
  ['an answer too long to hold', { kind: 'json', body: `{"pad":"${'p'.repeat(300_000)}"}` }, 200],
  ["the provider's 400", { kind: 'error', status: 400 }, 400],
  ["the provider's 401", { kind: 'error', status: 401 }, 502],
  ["the provider's 404", { kind: 'error', status: 404 }, 404, { stream: true }],
  ["the provider's 429", { kind: 'error', status: 429 }, 429],
  ["the provider's 500", { kind: 'error', status: 500 }, 500],
  ["the provider's 503", { kind: 'error', status: 503 }, 503, { stream: true }],
  ['a refused connection', { kind: 'refused' }, 502],
  ['a connection that hangs', { kind: 'full-backlog' }, 502],
  ['a reset before the answer', { kind: 'reset' }, 502],
  ['silence instead of an answer', { kind: 'hang' }, 504],
  ['an answer that stalls', { kind: 'stall' }, 504],
  ['a stream that stalls', { kind: 'stall' }, 200, { stream: true }],
  ['an answer that is none', { kind: 'html' }, 502],
  ['an answer that is no HTTP', { kind: 'not-http' }, 502],
  ['an error inside a 200', { kind: 'json', body: { error: { message: 'no', code: 500 } } }, 500],
  ['an answer that is cut', { kind: 'cut-chunk' }, 502],
  ['a stream that is cut', { kind: 'cut-chunk' }, 200, { stream: true }],
  ['a stream that is reset', { kind: 'reset-in-chunk' }, 200, { stream: true }],
  ['a long answer that is cut', { kind: 'short-body', missingBytes: 1 }, 502],
  ['a stream with broken framing', { kind: 'bad-chunk-size' }, 200, { stream: true }],
];

/** These end only because the gateway does not wait any longer. */
const endless = new Set(['full-backlog', 'hang', 'stall']);

for (const [name, behaviour, status, options] of endings) {
  await test(`after ${name}`, async (t) => {
    const through = endless.has(behaviour.kind) ? hasty : gateway;
    const before = await look(through);
    await upstream.behave(behaviour);
    t.equal((await call({ ...options, through })).status, status);
    await untilFree(through);
    const isUnreached = behaviour.kind === 'refused' || behaviour.kind === 'full-backlog';
    // A target that fails itself is asked once more, because no other one can answer.
    const calls = isUnreached ? 0 : status === 500 || status === 503 ? 2 : 1;
    const counted = { ...held, first: calls, model: calls };
    t.same(minus((await look(through)).used, before.used), counted, 'counted once by every rule it was asked under');
    await upstream.behave({ kind: 'openai' });
    t.equal((await call({ through })).status, 200, 'the next one is admitted');
    await untilFree(through);
  });
}

await test('after an answer that takes longer than all of it may', async (t) => {
  for (const stream of [false, true]) {
    await upstream.behave({ kind: 'drip' });
    t.equal((await call({ model: 'hurried/fake-small', stream, through: hasty })).status, stream ? 200 : 504);
    await untilFree(hasty);
  }
});

await test('a target gives its slot back before the next one is asked', async (t) => {
  for (const [stream, status] of [
    [false, 500],
    [true, 429],
  ] as const) {
    const before = (await look()).used;
    const gates = [createGate(), createGate()] as const;
    await upstream.behave({ kind: 'hold', gate: gates[0], next: { kind: 'error', status } });
    await second.behave({ kind: 'hold', gate: gates[1] });
    const asked = [upstream.ledger.length, second.ledger.length] as const;
    const answer = call({ model: 'pair', stream });
    await upstream.waitFor((ledger) => ledger[asked[0]]?.bodyComplete);
    t.same((await look()).held, { user: 1, first: 1, second: 0, model: 1 }, 'the first is asked');
    gates[0].release();
    await second.waitFor((ledger) => ledger[asked[1]]?.bodyComplete);
    t.same((await look()).held, { user: 1, first: 0, second: 1, model: 1 }, 'the second is asked');

    const beside = await call({ userPath: '/others' });
    t.equal(beside.status, 429, 'the slot of the model is taken');
    gates[1].release();
    t.equal((await answer).status, 200);
    await untilFree();
    t.same(minus((await look()).used, before), both, 'the two targets asked are counted, the one refused is not');
  }
  await upstream.behave({ kind: 'refused' });
  t.equal((await call({ model: 'pair' })).status, 200, 'the same when the first cannot be reached');
  await untilFree();
  await second.behave({ kind: 'error', status: 500 });
  t.equal((await call({ model: 'pair' })).status, 500, 'and when none of them serves');
  await untilFree();
});

await test('a target whose slots are taken is skipped and not counted', async (t) => {
  // The model rule would stop the second target as well.
  await gateway.applyConfig(ruleFile({ models: [{ model: 'fake-small', limits: slotsAndWindow(2) }] }));
  const stream = await openStream(t, gateway, '/others');
  const before = (await look()).used;
  t.equal((await call({ model: 'pair' })).status, 200);
  t.same(minus((await look()).used, before), { user: 1, first: 0, second: 1, model: 1 });
  t.match(await finish(stream), '[DONE]');
  await untilFree();
  await gateway.applyConfig(ruleFile());
});

await test('a refused request takes nothing from any rule', async (t) => {
  const stream = await openStream(t);
  const before = (await look()).used;
  t.equal((await call()).status, 429, 'by its own path');
  t.equal((await call({ userPath: '/team/app', stream: true })).status, 429);
  t.equal((await call({ userPath: '/others' })).status, 429, 'by the provider, which holds no slot of another path');
  t.same((await look()).held, held);
  t.same((await look()).used, before, 'no window has moved');
  t.match(await finish(stream), '[DONE]');
  await untilFree();

  // Refused behind its own admission: the path has a free slot, the provider has none.
  const other = await openStream(t, gateway, '/others');
  const now = (await look()).used;
  for (const model of ['first/fake-small', 'pair']) {
    t.equal((await call({ model })).status, 429, model);
    t.same((await look()).held, { user: 0, first: 1, second: 0, model: 1 }, `${model}: the slot of the path is back`);
  }
  t.same((await look()).used, now, 'and its window has what it had');
  t.match(await finish(other), '[DONE]');
  await untilFree();
  t.equal((await call()).status, 200);
});

await test('a request that is refused before admission takes no slot', async (t) => {
  const stream = await openStream(t, gateway, '/others');
  const before = await look();
  const json = { 'content-type': 'application/json', 'x-gateway-user-path': '/team' };
  for (const [body, headers, status] of [
    ['{"model":"first/fake-small"', json, 400],
    ['{"model":17}', json, 400],
    ['{"model":"nobody/knows"}', json, 404],
    [`{"model":"first/fake-small","pad":"${'p'.repeat(70_000)}"}`, json, 413],
    ['{"model":"first/fake-small"}', { ...json, 'content-type': 'text/plain' }, 415],
    ['{"model":"first/fake-small"}', { ...json, authorization: 'Bearer wrong' }, 401],
    ['{"model":"first/fake-small"}', { ...json, 'x-gateway-user-path': '/team/../etc' }, 400],
  ] as const) {
    t.equal((await post(body, headers)).status, status);
  }
  t.same(await look(), before, 'nothing is held or counted');
  t.match(await finish(stream), '[DONE]');
  await untilFree();
});

await test('a reload in the middle of a stream', async (t) => {
  const stream = await openStream(t);
  const before = (await look()).used;
  await gateway.applyConfig(ruleFile({ user_paths: [{ path: '/team', limits: slotsAndWindow(2) }] }));
  t.same(await look(), { held, used: before }, 'other caps leave slots and counts alone');
  t.equal((await call({ model: 'second/fake-small' })).status, 429, 'the model has no slot left');
  await gateway.applyConfig(ruleFile());
  t.equal((await call()).status, 429, 'the old caps hold again');
  t.match(await finish(stream), /one.*\[DONE\]/s, 'the stream was not cut');
  await untilFree();
  t.equal((await call()).status, 200);
  await untilFree();
});

await test('a rule that goes, and comes again, while its slot is held', async (t) => {
  const nothing = { user_paths: [], providers: [], models: [] };
  const old = await openStream(t);
  await gateway.applyConfig(ruleFile(nothing));
  t.same((await look()).held, { user: Number.NaN, first: Number.NaN, second: Number.NaN, model: Number.NaN });
  await gateway.applyConfig(ruleFile());
  t.same(await look(), { held, used: none }, 'rules that come back keep the open requests, and begin to count');
  t.equal((await call()).status, 429, 'the slots are taken');
  t.match(await finish(old), '[DONE]');
  await untilFree();
  t.same((await look()).held, none, 'its end gives them back');
  const young = await openStream(t);
  t.same((await look()).held, held);
  t.match(await finish(young), '[DONE]');
  await untilFree();

  const last = await openStream(t);
  await gateway.applyConfig(ruleFile(nothing));
  t.match(await finish(last), '[DONE]', 'a stream ends after its rules');
  await waitFor('it to end', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
  await gateway.applyConfig(ruleFile());
  t.same(await look(), { held: none, used: none });
  t.equal((await call()).status, 200);
  await untilFree();
});

await test('a rule that becomes a template, and stops being one, while its slot is held', async (t) => {
  const old = await openStream(t, gateway, '/team/app');
  await gateway.applyConfig(ruleFile({ user_paths: [{ path: '/team', per_child: true, limits: slotsAndWindow() }] }));
  t.same((await look()).held, { ...held, user: 0 }, 'it starts anew');
  t.match(await finish(old), '[DONE]');
  await untilFree();
  const child = await openStream(t, gateway, '/team/app');
  t.same((await look()).held, held);
  t.equal((await call({ userPath: '/team/app/deep' })).status, 429);
  await gateway.applyConfig(ruleFile());
  t.same((await look()).held, { ...held, user: 0 });
  t.match(await finish(child), '[DONE]');
  await untilFree();
  t.equal((await call()).status, 200);
  await untilFree();
});

await test('a provider that leaves the config in the middle of a stream', async (t) => {
  const stream = await openStream(t);
  t.teardown(() => gateway.applyConfig({ 'gateway.yaml': config(), ...ruleFile() }));
  const file = {
    providers: { second: provider(second) },
    aliases: [{ source: 'pair', target: 'second/fake-small' }],
  };
  await gateway.applyConfig({
    'gateway.yaml': file,
    ...ruleFile({ providers: [{ name: 'second', limits: slotsAndWindow() }] }),
  });
  t.equal((await look()).held.model, 1, 'the rule of the model still sees it');
  t.match(await finish(stream), '[DONE]');
  await waitFor('it to end', async () => (await gateway.metric('gateway_requests_in_flight')) === 0);
  const { user, model } = (await look()).held;
  t.same([user, model], [0, 0]);
  t.equal((await call({ model: 'second/fake-small' })).status, 200);
});

// What the next run of a process has of counts and slots is in counters-restarts.
await test('a proxy that is drained gives back what ends', async (t) => {
  const { used: before } = await look();
  const counted = ({ used, ...slots }: RuleFigures) => ({ ...slots, used: minus(used, before) });
  // In the middle of a head, so that metrics can still be asked for when the listener is closed; the stream behind it proves that
  // its bytes were read, else it would be closed as idle.
  const probe = await openRaw(gateway.port, { t });
  await probe.send('GET /metrics HTTP/1.1\r\nHost: gateway.test\r\n');
  const stream = await openStream(t);
  gateway.process.signal('SIGTERM');
  await gateway.process.waitForLine('"draining"');
  t.match(await finish(stream), '[DONE]');
  await probe.send('\r\n');
  const { responses } = await probe.waitFor((exchange) => exchange.responses[0]?.complete && exchange);
  const drained = readFigures(responses[0]?.text() ?? '');
  t.same(counted(drained), { held: none, used: held });
  t.same(await gateway.process.exited, { code: 0, signal: null });
});

await test('nothing unexpected happened inside', async (t) => {
  for (const { process } of [gateway, hasty]) t.same(complaintsOf(process), []);
  t.ok(hasty.process.running);
});
