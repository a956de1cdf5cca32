// An alias with two targets under a steady load: whatever becomes of one provider, no client hears of it.
import { t as suite, type Test, test } from 'tap';
import { extent } from '../support/extent.ts';
import { type Entry, type Plan, startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway, untilIdle } from '../support/gateway.ts';
import { describeLoad, measured, startLoad } from '../support/load.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(60_000);

/** How long a provider is dead in the longest case: the first probe fails 1 s after its breaker opened, the second one 2 s later. */
const deadMs = extent(5_000, 2_000);
const briefMs = extent(1_000, 200);
const perSecond = 200;

/** Each connection carries one answered call; the next one on it meets a FIN or a RST, as when the provider had closed it a moment before. */
const carried = new Set<number>();
const closingAtReuse = ({ connection, id }: Entry) => {
  if (carried.has(connection)) return { kind: id % 2 === 0 ? 'fin' : 'reset' } as const;
  carried.add(connection);
  return undefined;
};

/** A model for each fault, so that each meets targets of which nothing bad is known. */
const models = ['killed', 'failing', 'limited', 'closing', 'hanging'];
const [first, second] = await Promise.all([
  startFakeUpstream({ t: suite, models }),
  startFakeUpstream({ t: suite, models }),
]);
const provider = (base_url: string) => ({
  type: 'openai',
  base_url,
  models,
  timeouts: { connect: '300ms', first_byte: '300ms' },
});
const gateway = await startGateway(suite, {
  config: {
    providers: { first: provider(first.url), second: provider(second.url) },
    aliases: models.map((model) => ({
      source: `pair-${model}`,
      targets: [{ model: `first/${model}` }, { model: `second/${model}` }],
    })),
  },
});

/** What is asked for at the moment, in turn. */
let asked = ['killed'];
let calls = 0;
const load = startLoad(suite, [gateway], perSecond, () => {
  calls += 1;
  const messages = [{ role: 'user', content: 'Hello' }];
  return JSON.stringify({ model: `pair-${asked[calls % asked.length]}`, messages, stream: calls % 3 === 0 });
});

const metricOf = async (name: string, model: string, labels: Record<string, string> = {}): Promise<number> =>
  (await gateway.metric(name, { provider: 'first', model, ...labels })) ?? 0;

/** From now on this model is asked for; waits until both of its targets are asked. */
async function turnTo(model: string): Promise<void> {
  asked = [model];
  const seen = [first, second].map(({ ledger }) => ledger.length);
  await waitFor(`both targets to be asked for ${model}`, () =>
    [first, second].every(({ ledger }, index) => ledger.length > (seen[index] ?? 0) + 5),
  );
}

/** The first target does this until the gateway has learned of it, and then for a while. Gives the calls it saw before and after that. */
async function misbehave(
  model: string,
  plan: Plan,
  ms: number,
): Promise<{ readonly before: number; readonly after: number }> {
  await turnTo(model);
  const begin = first.ledger.length;
  await first.behave(plan);
  const state = model === 'limited' ? 'gateway_target_resting' : 'gateway_target_breaker_state';
  await waitFor(`${state} of ${model}`, async () => (await metricOf(state, model)) > 0);
  const learned = first.ledger.length;
  await measured(load, ms);
  const after = first.ledger.length - learned;
  await first.behave({ kind: 'openai' });
  return { before: learned - begin, after };
}

function noneLost(t: Test): void {
  t.same(load.lost(), [], `no request was lost; ${describeLoad(load.look())}`);
}

await test('one that answers 500 costs no request, and sees only probes while it does', async (t) => {
  const { before, after } = await misbehave('failing', { kind: 'error', status: 500 }, deadMs);
  const probes = await metricOf('gateway_target_breaker_transitions_total', 'failing', { to: 'half_open' });
  t.ok(probes >= 1, `${probes} probes`);
  t.ok(before >= 5, `${before} calls before its breaker was seen open`);
  // One more may have been under way when the breaker opened.
  t.ok(after <= probes + 1, `${after} calls afterwards, ${probes} of them probes`);
  noneLost(t);
});

await test('one that answers 429 with Retry-After costs no request, and is left alone', async (t) => {
  const { after } = await misbehave('limited', { kind: 'error', status: 429, retryAfter: '30' }, briefMs);
  t.ok(after <= 1, `${after} calls afterwards`);
  t.equal(await metricOf('gateway_target_breaker_state', 'limited'), 0, 'its breaker says nothing of it');
  noneLost(t);
});

await test('one that closes kept connections at their reuse costs no request, and no retry of the budget', async (t) => {
  await turnTo('closing');
  const retries = async (kind: string) => (await gateway.metric('gateway_retries_total', { kind })) ?? 0;
  const [reconnects, others] = [await retries('reconnect'), (await retries('failover')) + (await retries('retry'))];
  carried.clear();
  await first.behave(closingAtReuse);
  await measured(load, Math.max(briefMs, 400));
  await first.behave({ kind: 'openai' });
  t.ok((await retries('reconnect')) - reconnects > 10, `${(await retries('reconnect')) - reconnects} new connections`);
  t.equal((await retries('failover')) + (await retries('retry')), others);
  t.equal(await metricOf('gateway_target_breaker_state', 'closing'), 0);
  noneLost(t);
});

await test('one that hangs costs no request', async (t) => {
  const { after } = await misbehave('hanging', { kind: 'hang' }, briefMs);
  t.ok(after <= 2, `${after} calls after its breaker had opened`);
  await load.answered();
  noneLost(t);
});

await test('one that is killed costs no request that came after its end', async (t) => {
  await turnTo('killed');
  await load.answered();
  const killedAtMs = performance.now();
  // The port is closed, and every connection cut: an answer in the middle of it is lost, and a call whose work may have been done.
  await first.behave({ kind: 'refused' });
  await waitFor('its breaker', async () => (await metricOf('gateway_target_breaker_state', 'killed')) > 0);
  const tried = await metricOf('gateway_upstream_attempts_total', 'killed', { outcome: 'unreachable' });
  await measured(load, briefMs);
  const probes = await metricOf('gateway_target_breaker_transitions_total', 'killed', { to: 'half_open' });
  const now = await metricOf('gateway_upstream_attempts_total', 'killed', { outcome: 'unreachable' });
  t.ok(now - tried <= probes + 1, `${now - tried} attempts afterwards, ${probes} of them probes`);
  await load.answered();
  t.same(
    load.lost().filter(({ sentAtMs }) => sentAtMs > killedAtMs),
    [],
  );
  t.ok(load.lost().length <= 5, 'nor more than were under way');
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
