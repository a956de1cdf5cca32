// An alias with two targets: for every fault of the first, whether the second is asked, what the client gets, and who pays.
import { t as suite, test } from 'tap';
import { type Behaviour, startFakeUpstream, upstreamFaults } from '../support/fake-upstream.ts';
import { providerKey, readMetric, startGateway, untilIdle } from '../support/gateway.ts';
import { call, envelopeIn, lastError, verdicts } from './upstream-cases.ts';

const refusals: Record<string, Behaviour> = {
  'answers 400': { kind: 'error', status: 400 },
  'refuses our key': { kind: 'error', status: 401 },
  'forbids our key the model': { kind: 'error', status: 403 },
  'does not know the model': { kind: 'error', status: 404 },
  'does not know something else': { kind: 'json', status: 404, body: { error: { message: 'No such file' } } },
  'answers 429': { kind: 'error', status: 429 },
  'answers 429 and says when': { kind: 'error', status: 429, retryAfter: '30' },
  'answers 500': { kind: 'error', status: 500 },
  'answers 503': { kind: 'error', status: 503 },
  'answers 529': { kind: 'error', status: 529 },
  'begins with an error in a 200': { kind: 'json', body: { error: { message: 'no', code: 500 } } },
  'begins its stream with an error': { kind: 'sse', chunks: ['data: {"error":{"message":"no","code":500}}\n\n'] },
  'ends its stream before an event': { kind: 'sse', chunks: [': soon\n\n'] },
  'stalls before its first event': { kind: 'sse', chunks: [': soon\n\n', 3_000] },
};
const faults: Record<string, Behaviour> = { ...upstreamFaults, ...refusals };

/** What is never tried again: the work may be done, the request is wrong, or the time of the whole request is over. */
const final = new Set([
  'resets before the headers',
  'closes before the headers',
  'answers 400',
  'does not know something else',
]);
/** These break off in the middle: of a JSON answer the work may be done, and of a stream the client has a part. */
const broken = new Set(['sends less than its Content-Length', 'closes inside a chunk', 'resets inside a chunk']);
/** In the middle of a stream, behind what the client has. */
const late = new Set(['sends a bad chunk size', 'cuts a body that ends with the connection', 'stalls in the middle']);
/** What a client can use, or cannot be told from it in time. */
const usable = new Set([
  'never ends its body',
  'sends an event line of 100 MB',
  'sends a gzip bomb',
  'answers twice',
  'stacks six encodings',
  'drips for ever',
]);

function isAskedElsewhere(name: string, isStream: boolean): boolean {
  return !(final.has(name) || broken.has(name) || usable.has(name) || (isStream && late.has(name)));
}

const names = Object.keys(faults).filter((name) => !usable.has(name));
/** A model of its own for each fault: what is learned of a target must not be told to the next fault. */
const models = names.map((_, index) => `m${index}`);
/** The model of an alias that shares the retry budget of the process. */
const stormy = 'stormy';
/** The model of a provider that ends while it is asked. */
const ending = 'ending';
const offered = [...models, stormy, ending];
const first = await startFakeUpstream({ t: suite, models: offered });
const second = await startFakeUpstream({ t: suite, models: offered });
const timeouts = { connect: '300ms', first_byte: '300ms', stream_idle: '300ms', total: '5s' };
const provider = (base_url: string) => ({
  type: 'openai',
  base_url,
  api_key: providerKey,
  models: first.models,
  timeouts,
});
const gateway = await startGateway(suite, {
  config: {
    providers: { first: provider(first.url), second: provider(second.url) },
    aliases: offered.map((model) => ({
      source: `pair-${model}`,
      // Nearly every request here needs a second call.
      ...(model === stormy ? {} : { retry: { budget: 1 } }),
      targets: [{ model: `first/${model}`, weight: 1_000_000 }, { model: `second/${model}` }],
    })),
    rate_limits: {
      providers: ['first', 'second'].map((name) => ({ name, limits: [{ period: 'concurrent', max_requests: 100 }] })),
    },
  },
});

suite.afterEach(() => untilIdle(gateway));

for (const [index, name] of names.entries()) {
  await test(`the first target ${name}`, async (t) => {
    const model = models[index] ?? '';
    for (const isStream of [false, true]) {
      const fault = faults[name] as Behaviour;
      first.dropConnections('fin');
      await first.behave(fault.kind === 'redirect' ? { ...fault, location: `${second.url}/elsewhere` } : fault);
      const before = [first.ledger.length, second.ledger.length] as const;
      const chargedBefore = await tokensOf('second', model);
      const heard = await call(gateway, `pair-${model}`, isStream);
      const isElsewhere = isAskedElsewhere(name, isStream);
      const said = `${isStream ? 'stream' : 'JSON'}: ${heard.status} ${heard.end.slice(-200)}`;
      t.equal(second.ledger.length - before[1], isElsewhere ? 1 : 0, `${said}: calls of the second`);
      const isUnreached = fault.kind === 'refused' || fault.kind === 'full-backlog';
      // A target that failed in the JSON call may rest during the stream's.
      if (!isStream) t.equal(first.ledger.length - before[0], isUnreached ? 0 : 1, `${said}: calls of the first`);
      else t.ok(first.ledger.length - before[0] <= 1, `${said}: calls of the first`);
      if (isElsewhere) {
        t.equal(heard.status, 200, said);
        t.match(heard.end, isStream ? /data: \[DONE\]\n\n$/ : /"finish_reason":"stop"/);
        t.ok((await tokensOf('second', model)) > chargedBefore, 'the tokens are charged to the one that executed');
      } else if (heard.status === 200) t.match(lastError(heard), { provider: 'first' }, said);
      else t.match(envelopeIn(heard.end), { provider: 'first' }, said);
      // A stream that broke off has cost what of it was delivered.
      if (heard.status !== 200 || isElsewhere)
        t.equal(await tokensOf('first', model), 0, 'none to the one that failed');
      const verdict = verdicts[name as keyof typeof verdicts]?.[isStream ? 1 : 0];
      if (!isElsewhere && Array.isArray(verdict)) t.equal(heard.status, verdict[0]);
      await first.behave({ kind: 'openai' });
    }
    await untilIdle(gateway);
  });
}

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

async function tokensOf(name: string, model: string): Promise<number> {
  const text = await (await gateway.fetch('/metrics')).text();
  const of = (type: string) => readMetric(text, 'gateway_tokens_total', { provider: name, model, type }) ?? 0;
  return of('prompt') + of('completion');
}

await test('nothing unexpected happened inside', async (t) => {
  t.same([...first.malformed, ...second.malformed], []);
  t.notMatch([...gateway.process.stdout, ...gateway.process.stderr].join('\n'), /unexpected failure|sk-test/);
});
