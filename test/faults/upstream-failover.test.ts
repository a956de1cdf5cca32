// An alias with two targets under a steady load: whatever becomes of one provider, no client hears of it.
import { t as suite, type Test, test } from 'tap';
import { extent } from '../support/extent.ts';
import { type Entry, type Plan, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { describeLoad, measured, startLoad } from '../support/load.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

/** How long a provider answers 500 in the longest case, and how long one is at fault in the others. */
const deadMs = 5_000;
const briefMs = extent(1_000, 300);
const perSecond = extent(200, 60);
/** A breaker is open for 1 s, then for 2 s, 4 s and so on: so many probes fit into that time. */
const mostProbes = (ms: number): number => Math.floor(Math.log2(1 + ms / 1000));

/** Each connection carries one answered call; the next one on it meets a FIN or a RST, as when the provider had closed it a moment before. */
const carried = new Set<number>();
const closingAtReuse = ({ connection, id }: Entry) => {
  if (carried.has(connection)) return { kind: id % 2 === 0 ? 'fin' : 'reset' } as const;
  carried.add(connection);
  return undefined;
};

/** A model for each fault, so that each meets targets of which nothing bad is known. */
const models = ['failing', 'limited', 'closing', 'hanging', 'killed'];
const [first, second] = await Promise.all([
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
]);
/** Only the one that hangs is short of time: on a machine that has much to do, the others may be slow. */
const provider = (base_url: string, timeouts: object = {}) => ({
  type: 'openai',
  base_url,
  models,
  timeouts: { total: '2s', ...timeouts },
});
const firstOf = (model: string): string => (model === 'hanging' ? 'first-hanging' : 'first');
const gateway = await startGateway(suite, {
  config: {
    providers: {
      first: provider(first.url),
      'first-hanging': provider(first.url, { first_byte: '300ms' }),
      second: provider(second.url),
    },
    aliases: models.map((model) => ({
      source: `pair-${model}`,
      targets: [{ model: `${firstOf(model)}/${model}` }, { model: `second/${model}` }],
    })),
  },
});

/** What is asked for at the moment, in turn. */
let asked = ['failing'];
let sent = 0;
const load = startLoad(suite, [gateway], perSecond, () => {
  sent += 1;
  const messages = [{ role: 'user', content: 'Hello' }];
  return JSON.stringify({ model: `pair-${asked[sent % asked.length]}`, messages, stream: sent % 3 === 0 });
});

const metricOf = async (name: string, model: string, labels: Record<string, string> = {}): Promise<number> =>
  (await gateway.metric(name, { provider: firstOf(model), model, ...labels })) ?? 0;
const probesOf = (model: string): Promise<number> =>
  metricOf('gateway_target_breaker_transitions_total', model, { to: 'half_open' });

/** From now on this model is asked for; waits until both of its targets are asked. */
async function turnTo(model: string): Promise<void> {
  asked = [model];
  const seen = [first, second].map(({ ledger }) => ledger.length);
  await waitFor(`both targets to be asked for ${model}`, () =>
    [first, second].every(({ ledger }, index) => ledger.length > (seen[index] ?? 0) + 5),
  );
}

/** What a target saw after the gateway had learned that it is no good, and how much of it were probes. */
interface Left {
  readonly calls: number;
  readonly probes: number;
  readonly ms: number;
}

/** Waits until the gateway has learned of it and what was under way has ended; `calls`: of that target, so far. */
async function leftAlone(model: string, ms: number, calls: () => number | Promise<number>): Promise<Left> {
  const state = model === 'limited' ? 'gateway_target_resting' : 'gateway_target_breaker_state';
  const startedMs = performance.now();
  await waitFor(`${state} of ${model}`, async () => (await metricOf(state, model)) > 0);
  await load.answered();
  const before = { probes: await probesOf(model), calls: await calls() };
  await measured(load, ms);
  const seen = (await calls()) - before.calls;
  return { calls: seen, probes: (await probesOf(model)) - before.probes, ms: performance.now() - startedMs };
}

/** The first target does this until the gateway has learned of it, and then for a while. */
async function misbehave(model: string, plan: Plan, ms: number): Promise<Left> {
  await turnTo(model);
  await first.behave(plan);
  const left = await leftAlone(model, ms, () => first.ledger.length);
  await first.behave({ kind: 'openai' });
  return left;
}

function onlyProbes(t: Test, { calls: seen, probes, ms }: Left): void {
  // One may be on its way when both are counted.
  t.ok(seen <= probes + 1, `${seen} calls, ${probes} of them probes`);
  t.ok(probes <= mostProbes(ms), `${probes} probes in ${Math.round(ms)} ms`);
}

function noneLost(t: Test): void {
  t.same(load.lost(), [], 'no request was lost');
}

await test('one that is dead for five seconds costs no request, and sees only probes', async (t) => {
  const left = await misbehave('failing', { kind: 'error', status: 500 }, deadMs);
  t.ok(left.probes >= 1, `${left.probes} probes`);
  onlyProbes(t, left);
  noneLost(t);
});

await test('one that answers 429 with Retry-After costs no request, and is left alone', async (t) => {
  const left = await misbehave('limited', { kind: 'error', status: 429, retryAfter: '30' }, briefMs);
  t.equal(left.calls, 0);
  t.equal(await metricOf('gateway_target_breaker_state', 'limited'), 0, 'its breaker says nothing of it');
  noneLost(t);
});

await test('one that closes kept connections at their reuse costs no request, and no retry of the budget', async (t) => {
  await turnTo('closing');
  const retries = async (kind: string) => (await gateway.metric('gateway_retries_total', { kind })) ?? 0;
  const [reconnects, others] = [await retries('reconnect'), (await retries('failover')) + (await retries('retry'))];
  carried.clear();
  await first.behave(closingAtReuse);
  await waitFor('new connections', async () => (await retries('reconnect')) - reconnects > 10);
  await measured(load, briefMs);
  await first.behave({ kind: 'openai' });
  t.equal((await retries('failover')) + (await retries('retry')), others);
  t.equal(await metricOf('gateway_target_breaker_state', 'closing'), 0);
  noneLost(t);
});

await test('one that hangs costs no request', async (t) => {
  onlyProbes(t, await misbehave('hanging', { kind: 'hang' }, briefMs));
  await load.answered();
  noneLost(t);
});

await test('one that is killed costs no request that came after its end', async (t) => {
  await turnTo('killed');
  await load.answered();
  const killedAtMs = performance.now();
  // The port is closed, and every connection cut.
  await first.behave({ kind: 'refused' });
  const unreached = () => metricOf('gateway_upstream_attempts_total', 'killed', { outcome: 'unreachable' });
  onlyProbes(t, await leftAlone('killed', briefMs, unreached));
  await load.answered();
  const lost = load.lost();
  t.same(
    lost.filter(({ sentAtMs }) => sentAtMs > killedAtMs),
    [],
  );
  // An answer in the middle of it is lost, and a call whose work may have been done.
  for (const { failure } of lost) t.match(failure, /upstream_disconnected|stream_incomplete/);
});

await test('each of them comes back, and no request notices', async (t) => {
  const lost = load.lost().length;
  await first.behave({ kind: 'openai' });
  asked = models.filter((model) => model !== 'limited');
  const since = first.ledger.length;
  await waitFor('the first provider to serve every model again', () => {
    const served = new Set(first.ledger.slice(since).map((entry) => (entry.json() as { model: string }).model));
    return asked.every((model) => served.has(model));
  });
  for (const model of asked) t.equal(await metricOf('gateway_target_breaker_state', model), 0, model);
  const all = await load.end();
  t.equal(load.lost().length, lost, describeLoad(all));
  t.equal(all.leftOut, 0);
  t.equal(await gateway.metric('gateway_retry_budget_exhausted_total'), 0);
});

await test('nothing unexpected happened', async (t) => {
  await untilIdle(gateway);
  t.same([...first.malformed, ...second.malformed], []);
  t.notMatch(gateway.process.lastLines(), /unexpected failure/);
});
