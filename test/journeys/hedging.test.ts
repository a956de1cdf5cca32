// An alias with `hedge: true`: a second target is asked beside one that is slower than usual, and the first answer wins.
import { t as suite, test } from 'tap';
import { createGate, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { untilIdle } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const paying = ['paying-a', 'paying-b'];
const models = ['m', ...paying, 'whole', 'streamed', 'failing', 'left', 'full'];
const [first, second] = await Promise.all([
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
]);
/** A request to `plain-…` is the same without a hedge. Targets are asked in this order, so the second gets hedges only. */
const aliasesOf = (model: string): object[] =>
  ['plain', 'hedged'].map((kind) => ({
    source: `${kind}-${model}`,
    strategy: 'failover',
    hedge: kind === 'hedged',
    targets: [{ model: `first/${model}` }, { model: `second/${model}` }],
  }));
const limits = [
  { period: 'concurrent', max_requests: 100 },
  { period: 'minute', max_requests: 10_000, max_tokens: 1_000_000 },
];
const gateway = await shareGateway({
  config: {
    providers: {
      first: { type: 'openai', base_url: first.url, models },
      second: { type: 'openai', base_url: second.url, models },
    },
    aliases: models.flatMap(aliasesOf),
    rate_limits: {
      providers: [{ name: 'first', limits }],
      models: [{ model: 'second/full', limits: [{ period: 'day', max_requests: 1 }] }],
    },
    server: { access_log: 'all' },
  },
});

async function call(model: string, more: object = {}): Promise<{ status: number; text: string; ms: number }> {
  const sentAtMs = performance.now();
  const body = { model, messages: [{ role: 'user', content: 'Hello' }], ...more };
  const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
  const text = await response.text();
  return { status: response.status, text, ms: performance.now() - sentAtMs };
}

/** Lets the gateway see how fast the first target usually is. */
async function warmUp(model: string, more: object = {}): Promise<void> {
  await first.behave({ kind: 'delay', ms: 20 });
  await Promise.all(Array.from({ length: 20 }, () => call(`plain-${model}`, more)));
}

const hedges = async (): Promise<number> => (await gateway.metric('gateway_retries_total', { kind: 'hedge' })) ?? 0;
const callsOf = (ledger: readonly Entry[], model: string): Entry[] =>
  ledger.filter((entry) => (entry.json() as { model?: string }).model === model);
const tokens = (provider: string, model: string, type: string): Promise<number | undefined> =>
  gateway.metric('gateway_tokens_total', { provider, model, type });

suite.afterEach(() => untilIdle(gateway));

await test('where one of fifty answers is slow, the slowest hundredth takes less than half, for at most 6 % more calls', async (t) => {
  const [usualMs, slowMs, requests, lanes] = [60, 1_000, 300, 10];
  /** The number of a request is its `seed`; those of either alias are slow as often. */
  const isSlow = (entry: Entry): boolean => ((entry.json() as { seed?: number }).seed ?? 0) % 50 === 25;
  await first.behave((entry) => ({ kind: 'delay', ms: isSlow(entry) ? slowMs : usualMs }));
  await second.behave({ kind: 'delay', ms: usualMs });
  for (const kind of ['plain', 'hedged']) {
    for (let round = 0; round < 3; round += 1)
      await Promise.all(Array.from({ length: lanes }, () => call(`${kind}-m`)));
  }
  const before = { calls: callsOf(second.ledger, 'm').length, hedges: await hedges() };
  const durations = { plain: [] as number[], hedged: [] as number[] };
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < requests * 2; index = next++) {
      const kind = index % 2 === 0 ? 'plain' : 'hedged';
      const { status, ms } = await call(`${kind}-m`, { seed: index >> 1 });
      if (status !== 200) throw new Error(`status ${status}`);
      durations[kind].push(ms);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  const p99 = (all: readonly number[]): number => all.toSorted((a, b) => a - b)[Math.ceil(all.length * 0.99) - 1] ?? 0;
  const [plain, hedged, extra] = [
    p99(durations.plain),
    p99(durations.hedged),
    callsOf(second.ledger, 'm').length - before.calls,
  ];
  t.comment(`p99: plain ${plain} ms, hedged ${hedged} ms; ${extra} more calls`);
  t.ok(hedged < plain / 2, `${hedged} of ${plain} ms`);
  t.ok(extra > 0 && extra <= requests * 0.06, `${extra} more calls`);
  // One that was outrun before it was connected did not reach the second target.
  const counted = (await hedges()) - before.hedges;
  t.ok(counted >= extra && counted <= requests * 0.06, `${counted} are counted`);
  // Twenty requests pay for a hedge. Those above may have used up what they paid for, and the tests below make five; calls of a target
  // of which too little is known make none.
  for (const model of paying) await Promise.all(Array.from({ length: 60 }, () => call(`hedged-${model}`)));
});

for (const [model, stream] of [
  ['whole', false],
  ['streamed', true],
] as const) {
  await test(`the answer of the faster one is relayed, the other call ends and pays for its prompt: ${model}`, async (t) => {
    await warmUp(model, { stream });
    await first.behave({ kind: 'hang' });
    await second.behave({ kind: 'openai' });
    const before = (await tokens('first', model, 'prompt')) ?? 0;
    const { status, text } = await call(`hedged-${model}`, { stream });
    t.equal(status, 200);
    t.match(text, stream ? /data: \[DONE\]\n\n$/ : /"finish_reason":"stop"/);
    const [hung] = callsOf(first.ledger, model).slice(-1);
    await waitFor('the slower call to end', () => hung?.clientClosedAtMs !== undefined);
    await untilIdle(gateway);
    const { total_tokens = 0 } = callsOf(second.ledger, model)[0]?.usage ?? {};
    const paid =
      ((await tokens('second', model, 'prompt')) ?? 0) + ((await tokens('second', model, 'completion')) ?? 0);
    t.equal(paid, total_tokens, 'the faster pays for its answer');
    t.ok(((await tokens('first', model, 'prompt')) ?? 0) > before, 'the slower for the prompt');
    t.equal(
      await gateway.metric('gateway_upstream_attempts_total', { provider: 'first', model, outcome: 'outrun' }),
      1,
    );
    const line = await waitFor('its line in the access log', () =>
      gateway.process.stdout.find((said) => said.includes(`"requested_model":"hedged-${model}"`)),
    );
    t.match(line, /"attempts":\[\{"provider":"first".*"hedge_lost"\},\{"provider":"second".*"status":200/);
  });
}

await test('when the hedge fails first, the slow one is waited for; when both fail, the last word is told', async (t) => {
  await warmUp('failing');
  const gate = createGate();
  await first.behave({ kind: 'hold', gate });
  await second.behave({ kind: 'error', status: 500 });
  const answer = call('hedged-failing');
  await second.waitFor((ledger) => callsOf(ledger, 'failing')[0]?.finished);
  gate.release();
  t.equal((await answer).status, 200);
  await first.behave({ kind: 'delay', ms: 200, next: { kind: 'error', status: 503 } });
  t.equal((await call('hedged-failing')).status, 503);
});

await test('a client that leaves ends both calls', async (t) => {
  await warmUp('left');
  await first.behave({ kind: 'hang' });
  await second.behave({ kind: 'hang' });
  const client = new AbortController();
  const body = { model: 'hedged-left', messages: [] };
  const left = gateway.fetch('/v1/chat/completions', { method: 'POST', body, signal: client.signal });
  left.catch(() => undefined);
  await second.waitFor((ledger) => callsOf(ledger, 'left').length > 0);
  client.abort();
  await untilIdle(gateway);
  const calls = [...callsOf(first.ledger, 'left').slice(-1), ...callsOf(second.ledger, 'left')];
  await waitFor('both to be cancelled', () => calls.every(({ clientClosedAtMs }) => clientClosedAtMs !== undefined));
  t.equal(calls.length, 2);
});

await test('a target whose rules are used up is no second target', async (t) => {
  await second.behave({ kind: 'openai' });
  t.equal((await call('second/full')).status, 200);
  await warmUp('full');
  await first.behave({ kind: 'delay', ms: 200 });
  t.equal((await call('hedged-full')).status, 200);
  t.equal(callsOf(second.ledger, 'full').length, 1, 'the request before');
});

await test('nothing is held when all is over, and nothing unexpected happened', async (t) => {
  await waitFor('all slots to be free', async () => (await gateway.metric('gateway_rate_limit_in_flight')) === 0);
  t.same([...first.malformed, ...second.malformed], []);
  t.notMatch([...gateway.process.stdout, ...gateway.process.stderr].join('\n'), /unexpected/);
});
