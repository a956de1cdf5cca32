// What one target says decides about the others: when they are asked, when they must not be, and when all have failed.
import { t as suite, test } from 'tap';
import { type Behaviour, createGate, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

/** A model for each case: what is learned of a target must not be told to the next one. */
const models = ['zero', 'past', 'bad', 'broken', 'hanging', 'silent', 'both', 'eu-a', 'eu-b', 'eu-c'];
const [first, second, third] = await Promise.all([
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
]);
const timeouts = { connect: '300ms', first_byte: '2s', total: '5s' };
const provider = (base_url: string, more: object = {}) => ({
  type: 'openai',
  base_url,
  models,
  timeouts: { ...timeouts, ...more },
});
/** Of requests without a hedge, each waits for its timeout: the first target has a short one under this name. */
const firstOf = (model: string): string => (model === 'silent' ? 'first-silent' : 'first');
const gateway = await startGateway(suite, {
  config: {
    providers: {
      first: provider(first.url),
      'first-silent': provider(first.url, { first_byte: '400ms' }),
      second: provider(second.url),
      third: provider(third.url),
    },
    aliases: [
      ...models.map((model) => ({
        source: `all-${model}`,
        strategy: 'failover',
        hedge: true,
        retry: { budget: 1 },
        targets: [firstOf(model), 'second', 'third'].map((name) => ({ model: `${name}/${model}` })),
      })),
      {
        source: 'eu/*',
        strategy: 'failover',
        retry: { budget: 0 },
        targets: [{ model: 'first/*' }, { model: 'second/*' }],
      },
    ],
  },
});
suite.afterEach(() => untilIdle(gateway));

async function call(model: string): Promise<{ status: number; text: string }> {
  const body = { model, messages: [{ role: 'user', content: 'Hello' }] };
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
  return { status: response.status, text: await response.text() };
}
const callsOf = (ledger: readonly Entry[], model: string): number =>
  ledger.filter((entry) => (entry.json() as { model?: string }).model === model).length;
const asked = (model: string): number[] => [first, second, third].map(({ ledger }) => callsOf(ledger, model));

/** The first target is usually fast, so that others are asked beside it when it is not. */
async function warmUp(model: string): Promise<void> {
  await first.behave({ kind: 'delay', ms: 20 });
  await Promise.all(Array.from({ length: 20 }, () => call(`${firstOf(model)}/${model}`)));
}

for (const [model, retryAfter] of [
  ['zero', '0'],
  ['past', 'Wed, 31 Dec 2025 23:59:55 GMT'],
] as const) {
  await test(`429 with Retry-After: ${retryAfter} sends the request to the next target, and lets the first rest`, async (t) => {
    await first.behave({ kind: 'error', status: 429, retryAfter });
    t.equal((await call(`all-${model}`)).status, 200);
    t.equal((await call(`all-${model}`)).status, 200);
    t.same(asked(model), [1, 2, 0]);
  });
}

await test('a request that a target refuses for what it says goes nowhere else, also when a hedge is on its way', async (t) => {
  await warmUp('bad');
  const gate = createGate();
  await first.behave({ kind: 'hold', gate, next: { kind: 'error', status: 400, message: 'wrong' } });
  await second.behave({ kind: 'delay', ms: 200, next: { kind: 'error', status: 500 } });
  const answer = call('all-bad');
  await second.waitFor((ledger) => callsOf(ledger, 'bad') === 1);
  gate.release();
  const { status, text } = await answer;
  t.equal(status, 400);
  t.match(text, /wrong/);
  t.same(asked('bad'), [21, 1, 0]);
});

await test('when a hedge fails, the next target is asked beside the one that hangs', async (t) => {
  await warmUp('hanging');
  await first.behave({ kind: 'hang' });
  await second.behave({ kind: 'error', status: 500 });
  const tookMs = watchTime();
  t.equal((await call('all-hanging')).status, 200);
  t.ok(tookMs() < 1_500, 'before the timeout of the first');
  t.same(asked('hanging'), [21, 1, 1]);
});

await test('a target that always hangs behind hedges is left alone after ten of them', async (t) => {
  await warmUp('silent');
  await first.behave({ kind: 'hang' });
  await second.behave({ kind: 'openai' });
  for (let request = 0; request < 40 && (await breaker('silent')) === 0; request += 1) {
    t.equal((await call('all-silent')).status, 200);
  }
  t.ok((await breaker('silent')) > 0);
  t.ok((asked('silent')[0] ?? 0) <= 20 + 12, 'hedged or not');
});

await test('when all targets have failed, all are asked, and the first that works again serves', async (t) => {
  const dead: Behaviour = { kind: 'error', status: 500 };
  for (const upstream of [first, second, third]) await upstream.behave(dead);
  await waitFor('every breaker to open', async () => {
    await call('all-both');
    const states = await Promise.all(['first', 'second', 'third'].map((name) => breaker('both', name)));
    return states.every((state) => state > 0);
  });
  await third.behave({ kind: 'openai' });
  t.equal((await call('all-both')).status, 200, 'the next request');
});

await test('the names of a family share one budget', async (t) => {
  for (const upstream of [first, second]) await upstream.behave({ kind: 'error', status: 500 });
  for (let round = 0; round < 8; round += 1) {
    await Promise.all(['a', 'b', 'c'].map((name) => call(`eu/eu-${name}`)));
  }
  const calls = ['a', 'b', 'c'].flatMap((name) => asked(`eu-${name}`)).reduce((sum, count) => sum + count, 0);
  t.equal(calls, 24 + 10, 'ten more than there are requests');
});

async function breaker(model: string, name = firstOf(model)): Promise<number> {
  return (await gateway.metric('gateway_target_breaker_state', { provider: name, model })) ?? 0;
}
