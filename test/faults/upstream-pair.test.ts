// An alias with two targets: for every fault of the first, whether the second is asked, what the client gets, and who pays.
import { t as suite, type Test, test } from 'tap';
import {
  type Behaviour,
  createGate,
  type FakeUpstream,
  startFakeUpstream,
  upstreamFaults,
} from '../support/fake-upstream.ts';
import { providerKey, readMetric, startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';
import {
  call,
  type Expected,
  envelopeIn,
  holds,
  isWhole,
  sized,
  slotRules,
  slotsIn,
  startUnreachable,
  tokensIn,
  late as tooLate,
  untilFree,
  verdicts,
} from './upstream-cases.ts';

const refusals: Record<string, Behaviour> = {
  'answers 400': { kind: 'error', status: 400 },
  'refuses our key': { kind: 'error', status: 401 },
  'forbids our key the model': { kind: 'error', status: 403 },
  'does not know the model': { kind: 'error', status: 404 },
  'does not know something else': { kind: 'json', status: 404, body: { error: { message: 'No such file' } } },
  'answers 429': { kind: 'error', status: 429 },
  'answers 429 and says when': { kind: 'error', status: 429, retryAfter: '30' },
  'answers 429 and names a date': { kind: 'error', status: 429, retryAfter: inSeconds(30) },
  'answers 429 and names a date of the past': { kind: 'error', status: 429, retryAfter: inSeconds(-30) },
  'answers 429 and says garbage': { kind: 'error', status: 429, retryAfter: 'soon' },
  'answers 429 and says 31 years': { kind: 'error', status: 429, retryAfter: '1000000000' },
  'answers 500': { kind: 'error', status: 500 },
  'answers 503': { kind: 'error', status: 503 },
  'answers 529': { kind: 'error', status: 529 },
  'answers 529 and names a date': { kind: 'error', status: 529, retryAfter: inSeconds(30) },
  'answers nothing': { kind: 'json', body: '' },
  'answers an object of nothing': { kind: 'json', body: {} },
  'begins with an error in a 200': { kind: 'json', body: { error: { message: 'no', code: 500 } } },
  'begins its stream with an error': { kind: 'sse', chunks: ['data: {"error":{"message":"no","code":500}}\n\n'] },
  'ends its stream before an event': { kind: 'sse', chunks: [': soon\n\n'] },
  'stalls before its first event': { kind: 'sse', chunks: [': soon\n\n', 3_000] },
};
const faults: Record<string, Behaviour> = { ...upstreamFaults, ...refusals };
/** Only in the table of one target it is read as long as it is. */
const lineBytes = 8_000_000;

/** What is never tried again: the request is wrong. */
const final = new Set(['answers 400', 'does not know something else']);
/** In the middle of a stream, behind what the client has. A long line is whole there, and no JSON can be made of it. */
const late = new Set([
  'sends less than its Content-Length',
  'closes inside a chunk',
  'resets inside a chunk',
  'sends a bad chunk size',
  'cuts a body that ends with the connection',
  'stalls in the middle',
  'sends an event line of 100 MB',
]);
/** What a client can use, or cannot be told from it in time. */
const usable = new Set(['never ends its body', 'sends a gzip bomb', 'answers twice', 'drips for ever']);

/** What only a timeout between two events, or before the first, can end. */
const stalling = new Set(['never answers', 'stalls in the middle', 'stalls before its first event']);

function isAskedElsewhere(name: string, isStream: boolean): boolean {
  return !(final.has(name) || usable.has(name) || (isStream && late.has(name)));
}

const names = Object.keys(faults);
/** A model of its own for each call: what is learned of a target must not be told to the next. */
const modelOf = (index: number, isStream: boolean): string => `m${index}-${isStream ? 'stream' : 'json'}`;
const models = names.flatMap((_, index) => [modelOf(index, false), modelOf(index, true)]);
const unreachedModels = ['unreached-json', 'unreached-stream'];
/** The Retry-After of the first target and of the second, and what the client is told. */
const waits = {
  'garbage-both': () => ['soon', '-5', '1'],
  'garbage-and-seconds': () => ['soon', '7', '1'],
  'date-and-seconds': () => [inSeconds(300), '7', '7'],
  'seconds-and-date': () => ['86000', inSeconds(300), /^(29\d|300)$/],
  'past-and-seconds': () => [inSeconds(-300), '7', '1'],
  'for-ever': () => ['1000000000', '1000000000', '86400'],
} satisfies Record<string, () => readonly [first: string, second: string, told: string | RegExp]>;
const waitModels = Object.keys(waits).flatMap((name) => [`${name}-json`, `${name}-stream`]);
/** The model of an alias that shares the retry budget of the process. */
const stormy = 'stormy';
/** The model of a provider that ends while it is asked. */
const ending = 'ending';
/** The model of a request that takes its time. */
const slow = 'slow';
const offered = [...models, ...unreachedModels, ...waitModels, stormy, ending, slow];
const first = await startFakeUpstream({ t: suite, models: offered });
const second = await startFakeUpstream({ t: suite, models: offered });
const notReached = await startUnreachable(suite);
/** On a machine that has much to do, everything may be slow: only what a timeout has to end is short of time. */
const timeouts = { connect: '300ms', total: '5s' };
const impatient = { ...timeouts, first_byte: '300ms', stream_idle: '300ms' };
const provider = (base_url: string, more: object = {}) => ({
  type: 'openai',
  base_url,
  api_key: providerKey,
  models: offered,
  timeouts,
  ...more,
});
const providers = {
  first: provider(first.url),
  // The first again, in a hurry.
  impatient: provider(first.url, { timeouts: impatient, models: modelsOf('impatient') }),
  hurried: provider(first.url, { timeouts: { ...timeouts, total: '300ms' }, models: modelsOf('hurried') }),
  second: provider(second.url, { timeouts: { total: '5s' } }),
  ...Object.fromEntries(
    Object.entries(notReached).map(([name, { place }]) => [
      name,
      provider(place.base_url, { ...place, models: unreachedModels }),
    ]),
  ),
};

/** The provider that plays the fault. */
function firstOf(name: string): string {
  if (stalling.has(name)) return 'impatient';
  return verdicts[name as keyof typeof verdicts]?.[2]?.startsWith('hurried/') ? 'hurried' : 'first';
}

/** The models of the faults that it plays. */
function modelsOf(playing: string): string[] {
  return names.flatMap((name, index) =>
    firstOf(name) === playing ? [modelOf(index, false), modelOf(index, true)] : [],
  );
}

const pairOf = (model: string, [firstName, otherName]: readonly [string, string], prefix = 'pair') => ({
  source: `${prefix}-${model}`,
  // Nearly every request here needs a second call.
  ...(model === stormy ? {} : { retry: { budget: 1 } }),
  targets: [{ model: `${firstName}/${model}`, weight: 1_000_000 }, { model: `${otherName}/${model}` }],
});
const gateway = await startGateway(suite, {
  config: {
    providers,
    aliases: [
      ...names.flatMap((name, index) =>
        [modelOf(index, false), modelOf(index, true)].map((model) => pairOf(model, [firstOf(name), 'second'])),
      ),
      ...[...waitModels, stormy, ending].map((model) => pairOf(model, ['first', 'second'])),
      pairOf(slow, ['second', 'first']),
      ...Object.keys(notReached).flatMap((name) =>
        unreachedModels.map((model) => pairOf(model, [name, 'second'], name)),
      ),
    ],
    rate_limits: slotRules(Object.keys(providers)),
  },
});

suite.afterEach(() => untilFree(gateway));

/** An HTTP date. */
function inSeconds(seconds: number): string {
  return new Date(Date.now() + seconds * 1000).toUTCString();
}

for (const [index, name] of names.entries()) {
  await test(`the first target ${name}`, async (t) => {
    const fault = sized(faults[name] as Behaviour, lineBytes, `${second.url}/elsewhere`);
    await first.behave(fault);
    const before = [first.ledger.length, second.ledger.length] as const;
    const answered = await Promise.all([false, true].map((isStream) => ask(t, { index, isStream, fault })));
    const metrics = await untilFree(gateway);
    for (const isStream of [false, true]) {
      const model = modelOf(index, isStream);
      const isElsewhere = isAskedElsewhere(name, isStream);
      const isUnreached = fault.kind === 'refused' || fault.kind === 'full-backlog';
      const calls = [callsOf(first, before[0], model), callsOf(second, before[1], model)];
      t.same(calls, [isUnreached ? 0 : 1, isElsewhere ? 1 : 0], `${model}: calls of each`);
      // A stream that broke off has cost what of it was delivered.
      const isCharged = [answered[isStream ? 1 : 0] === true && !isElsewhere, isElsewhere];
      const tokens = [tokensIn(metrics, firstOf(name), model), tokensIn(metrics, 'second', model)];
      t.same([tokens[0] !== 0, tokens[1] !== 0], isCharged, `${model}: tokens of each: ${tokens.join(', ')}`);
    }
    await first.behave({ kind: 'openai' });
    // The next fault meets new connections: what breaks on a kept one was never sent.
    first.dropConnections('fin');
  });
}

interface Case {
  readonly index: number;
  readonly isStream: boolean;
  readonly fault: Behaviour;
}

/** One call: the client gets what it should. Gives whether that is an answer, or a part of one. */
async function ask(t: Test, { index, isStream, fault }: Case): Promise<boolean> {
  const name = names[index] ?? '';
  const source = `pair-${modelOf(index, isStream)}`;
  const heard = await call(gateway, source, isStream);
  const said = `${isStream ? 'stream' : 'JSON'}: ${heard.status} ${heard.end.slice(-200)}`;
  const verdict = verdictOf(name, isStream);
  if (isAskedElsewhere(name, isStream)) {
    t.equal(heard.status, 200, said);
    isWhole(t, heard, isStream);
  } else if (verdict !== undefined) holds(t, heard, verdict, { provider: firstOf(name), behaviour: fault });
  else t.match([heard.status, envelopeIn(heard.end)], [statusOf(fault), { provider: 'first' }], said);
  return heard.status === 200;
}

/** The requests for that model since then. */
function callsOf({ ledger }: FakeUpstream, since: number, model: string): number {
  return ledger.slice(since).filter((entry) => (entry.json() as { model: string }).model === model).length;
}

/** What the client of the first target gets. Before there is a whole event of a stream, it has nothing. */
function verdictOf(name: string, isStream: boolean): Expected | undefined {
  if (name === 'drips for ever') return tooLate;
  return verdicts[name as keyof typeof verdicts]?.[isStream ? 1 : 0];
}

function statusOf(behaviour: Behaviour): number | undefined {
  return 'status' in behaviour ? Number(behaviour.status) : undefined;
}

await test('the first target is not reached, because of its name or of its certificate', async (t) => {
  const before = [first.ledger.length, second.ledger.length] as const;
  const asked = Object.keys(notReached).flatMap((name) => unreachedModels.map((model) => ({ name, model })));
  for (const { name, model } of asked) {
    const isStream = model.endsWith('stream');
    const heard = await call(gateway, `${name}-${model}`, isStream);
    t.equal(heard.status, 200, `${name}: ${heard.end.slice(-200)}`);
    isWhole(t, heard, isStream);
  }
  const metrics = await untilFree(gateway);
  for (const { name, model } of asked) {
    t.equal(tokensIn(metrics, name, model), 0, 'none to the one that was not reached');
    const attempts = { provider: name, model, outcome: 'unreachable' };
    t.equal(readMetric(metrics, 'gateway_upstream_attempts_total', attempts), 1, name);
  }
  for (const model of unreachedModels) t.ok(tokensIn(metrics, 'second', model) > 0, 'but to the one that executed');
  t.same([first.ledger.length - before[0], second.ledger.length - before[1]], [0, asked.length], 'calls of each');
});

await test('when both targets answer 429, the client waits for the one that has room first', async (t) => {
  for (const [name, waitsOf] of Object.entries(waits)) {
    for (const isStream of [false, true]) {
      const [said, saidBySecond, told] = waitsOf();
      const model = `${name}-${isStream ? 'stream' : 'json'}`;
      const before = [first.ledger.length, second.ledger.length] as const;
      await first.behave(refusing(said));
      await second.behave(refusing(saidBySecond));
      const heard = await call(gateway, `pair-${model}`, isStream);
      t.match([heard.status, heard.retryAfter], [429, told], `${name}: ${heard.end}`);
      t.match(envelopeIn(heard.end), { type: 'rate_limit_error', provider: /^(first|second)$/ });
      t.same([first.ledger.length - before[0], second.ledger.length - before[1]], [1, 1], `${name}: calls of each`);
      const metrics = await untilFree(gateway);
      t.same([tokensIn(metrics, 'first', model), tokensIn(metrics, 'second', model)], [0, 0]);
    }
  }
  await second.behave({ kind: 'openai' });
});

/** A 429 whose provider does not want to be asked again at once. */
function refusing(retryAfter: string): Behaviour {
  const headers: [string, string][] = [
    ['retry-after', retryAfter],
    ['x-should-retry', 'false'],
  ];
  return { kind: 'json', status: 429, body: {}, headers };
}

await test('while a target works, its slot and that of the consumer are held; not that of one that failed', async (t) => {
  const gate = createGate();
  await second.behave({ kind: 'error', status: 500 });
  await first.behave({ kind: 'hold', gate });
  const heard = call(gateway, `pair-${slow}`);
  await waitFor('the call', () => gate.waiting === 1);
  t.equal(slotsIn(await gateway.metrics()), 2);
  gate.release();
  t.equal((await heard).status, 200);
  await second.behave({ kind: 'openai' });
});

await test('what closes a kept connection and the new one in its place has done nothing, so the second target is asked', async (t) => {
  await first.behave({ kind: 'openai' });
  for (const fault of [{ kind: 'reset' }, { kind: 'fin' }] as const) {
    t.equal((await call(gateway, `pair-${ending}`)).status, 200);
    const before = [first.ledger.length, second.ledger.length] as const;
    await first.behave(fault);
    const heard = await call(gateway, `pair-${ending}`);
    t.equal(heard.status, 200, heard.end);
    t.equal(first.ledger.length - before[0], 2, 'calls of the first');
    t.equal(second.ledger.length - before[1], 1, 'calls of the second');
    await first.behave({ kind: 'openai' });
  }
});

await test('two targets that fail always are called for ten requests and a fifth more than there are', async (t) => {
  await first.behave({ kind: 'error', status: 500 });
  await second.behave({ kind: 'error', status: 500 });
  const before = first.ledger.length + second.ledger.length;
  const requests = 100;
  for (let sent = 0; sent < requests; sent += 20) {
    const answers = await Promise.all(Array.from({ length: 20 }, () => call(gateway, `pair-${stormy}`)));
    t.ok(answers.every(({ status }) => status === 500));
  }
  const calls = first.ledger.length + second.ledger.length - before;
  t.ok(calls >= requests && calls <= requests + 10 + requests / 5, `${calls} calls`);
});

await test('nothing unexpected happened inside', async (t) => {
  t.same([...first.malformed, ...second.malformed], []);
  t.notMatch([...gateway.process.stdout, ...gateway.process.stderr].join('\n'), /unexpected failure|sk-test/);
});
