// Counters survive: whatever ends the process, what was counted is there again, and nothing is counted twice.
import { setTimeout } from 'node:timers/promises';
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import {
  askOnce,
  askTimes,
  inFlightOf,
  type Limit,
  limits,
  plus,
  roomy,
  type Sum,
  slots,
  storedCounters,
  sumOf,
  usedOf,
} from '../support/counters.ts';
import { extent, isFull } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, type GatewayOptions, startGateway } from '../support/gateway.ts';
import { readinessOf } from '../support/operator.ts';
import type { Exit } from '../support/process.ts';
import { createRandom } from '../support/random.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
// Some of it is waiting for windows and intervals.
suite.setTimeout(240_000);
suite.beforeEach(() => upstream.behave({ kind: 'openai' }));

/** Printed, so that a failure can be run again. */
const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32));
suite.comment(`SEED=${seed}`);
const random = createRandom(seed);

function start(t: Teardown, rules: Limit[], options: GatewayOptions = {}): Promise<Gateway> {
  return startGateway(t, { upstream, config: limits(...rules), ...options });
}

/** Lets that much time pass, while `probe` must hold. */
async function during(ms: number, probe: () => boolean | Promise<boolean>): Promise<boolean> {
  const endMs = performance.now() + ms;
  return waitFor(`${ms} ms to pass`, async () => {
    if (!(await probe())) return 'no';
    return performance.now() > endMs && 'yes';
  }).then((verdict) => verdict === 'yes');
}

/** Whatever happens to it, it is started again: one test goes on where the one before has left it. */
const home = temporaryDirectory(suite);
const gateway = await start(suite, [roomy, slots], { home, env: { GATEWAY_INSTANCE: 'only' } });

// --- the process ends

/** As rules of `/`, `/team` and one path below it. */
const rulesFor = (root: Limit, team: Limit, path: string): object => ({
  rate_limits: {
    user_paths: [
      { path: '/', limits: [root, slots] },
      { path: '/team', limits: [team] },
      { path, limits: [roomy] },
    ],
  },
});

/** What every window of a path has counted. */
async function countedOn(path: string): Promise<string[]> {
  return (await usageOf(gateway, path))
    .filter(({ period_seconds: seconds }) => seconds > 0)
    .map((row) => `${row.subject} ${row.period_label}: ${row.requests_used} requests, ${row.tokens_used} tokens`)
    .sort();
}

const emptyWindow = '0 requests, 0 tokens';

/** Tells it to stop; resolves when it has begun to, whatever runs before this one have said. */
async function drain(signal: NodeJS.Signals): Promise<void> {
  const drains = (): number => gateway.process.logs().filter(({ msg }) => msg === 'draining').length;
  const before = drains();
  gateway.process.signal(signal);
  await waitFor('the drain', () => drains() > before);
}

await test('SIGTERM: every count of a rule that stayed is there again, also of the drain; one that changed starts anew', async (t) => {
  await gateway.applyConfig({ 'gateway.yaml': rulesFor(roomy, roomy, '/team/ann') });
  let expected = plus(await usedOf(gateway), await askTimes(gateway, 4, '/team/ann'));
  t.same(await usedOf(gateway), expected);
  const counted = await countedOn('/team/ann');
  t.match(counted, ['/ hour: 4 requests, ', '/team hour: 4 requests, ', '/team/ann hour: 4 requests, ']);

  const gate = createGate();
  const asked = upstream.ledger.length;
  await upstream.behave([{ kind: 'hold', gate }]);
  const open = askOnce(gateway);
  await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
  await drain('SIGTERM');
  gate.release();
  const { status, tokens } = await open;
  t.equal(status, 200);
  t.match(await gateway.process.exited, { code: 0 });
  expected = plus(expected, { requests: 1, tokens });

  const root = { ...roomy, max_requests: expected.requests, max_tokens: 7_000_000 };
  const changed = rulesFor(root, { ...roomy, period: 'day' }, '/team/bob');
  gateway.writeConfig({ 'gateway.yaml': changed });
  await gateway.restart();
  t.same(await usedOf(gateway), expected);
  t.same((await countedOn('/team/bob')).slice(1), [`/team day: ${emptyWindow}`, `/team/bob hour: ${emptyWindow}`]);
  const refused = await askOnce(gateway);
  t.equal(refused.status, 429, 'the cap is the new one');
});

// The other order of the two is in journeys/drain.
for (const second of isFull ? (['SIGTERM', 'SIGINT'] as const) : (['SIGINT'] as const)) {
  await test(`a second signal while draining, ${second}: gone within a second, counters exact, rules of before begin anew`, async (t) => {
    await gateway.applyConfig({ 'gateway.yaml': rulesFor(roomy, { ...roomy, period: 'day' }, '/team/bob') });
    const expected = plus(await usedOf(gateway), await askTimes(gateway, 5));
    const gate = createGate();
    t.teardown(() => gate.release());
    const asked = upstream.ledger.length;
    await upstream.behave([{ kind: 'hold', gate }]);
    const open = askOnce(gateway).then(
      () => 'answered',
      () => 'cut',
    );
    await upstream.waitFor((ledger) => ledger[asked]?.bodyComplete);
    t.equal(await inFlightOf(gateway), 1);
    await drain('SIGTERM');
    const signalledMs = performance.now();
    const slowdown = watchSlowdown();
    gateway.process.signal(second);
    const exit: Exit = await gateway.process.exited;
    const tookMs = performance.now() - signalledMs;
    t.same(exit, { code: 0, signal: null });
    t.ok(tookMs < 1_000 * slowdown(), `${tookMs.toFixed(0)} ms`);
    t.equal(await open, 'cut');
    await upstream.behave({ kind: 'openai' });
    gateway.writeConfig({ 'gateway.yaml': rulesFor(roomy, roomy, '/team/ann') });
    await gateway.restart();
    const cleared = [`/team hour: ${emptyWindow}`, `/team/ann hour: ${emptyWindow}`];
    t.same((await countedOn('/team/ann')).slice(1), cleared, 'neither the old period nor the old subject comes back');
    const after = await usedOf(gateway);
    t.equal(after.requests, expected.requests + 1, 'the open request was admitted');
    t.ok(after.tokens > expected.tokens, 'and its provider had read it');
    t.equal(await inFlightOf(gateway), 0);
  });
}

await test('kill -9 at any moment: at most the last 1.25 s are lost, and nothing is counted twice', async (t) => {
  let before = await usedOf(gateway);
  t.ok(before.requests > 0, 'there is something that could be counted twice');
  for (let round = 1; round <= extent(5, 1); round += 1) {
    const firstEntry = upstream.ledger.length;
    const answered: { atMs: number; tokens: number }[] = [];
    let sent = 0;
    const end = new AbortController();
    const client = async (): Promise<void> => {
      while (!end.signal.aborted) {
        sent += 1;
        const answer = await askOnce(gateway).catch(() => undefined);
        if (answer?.status === 200) answered.push({ atMs: performance.now(), tokens: answer.tokens });
        await setTimeout(25);
      }
    };
    const startedMs = performance.now();
    const lifeMs = 1_500 + Math.floor(random() * 1_000);
    const clients = [client(), client(), client()];
    // A machine that stalls us stalls the gateway's timer, too: that much later may its last write have been.
    let stalledMs = 0;
    let seenMs = startedMs;
    await waitFor('the moment of death', () => {
      const nowMs = performance.now();
      stalledMs = Math.max(stalledMs, nowMs - seenMs);
      seenMs = nowMs;
      return nowMs - startedMs > lifeMs + stalledMs;
    });
    gateway.process.signal('SIGKILL');
    const killedMs = performance.now();
    end.abort();
    await Promise.all([gateway.process.exited, ...clients]);

    await gateway.restart();
    const after = await usedOf(gateway);
    const kept = answered.filter(({ atMs }) => atMs < killedMs - 1_250 - stalledMs);
    const known = upstream.ledger.slice(firstEntry).reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
    const counted = after.requests - before.requests;
    t.comment(
      `killed after ${lifeMs} ms: ${kept.length} ≤ ${counted} ≤ ${sent} requests; stalls of ${stalledMs.toFixed(0)} ms`,
    );
    t.ok(kept.length > 0, 'something had to be there');
    t.ok(counted >= kept.length, `at least ${kept.length}: ${counted}`);
    t.ok(counted <= sent, `at most ${sent}: ${counted}`);
    const tokens = after.tokens - before.tokens;
    t.ok(tokens >= kept.reduce((sum, each) => sum + each.tokens, 0), `tokens: ${tokens}`);
    t.ok(tokens <= known, `at most ${known} tokens: ${tokens}`);
    t.equal(await inFlightOf(gateway), 0);
    t.equal((await readinessOf(gateway)).status, 'ready');
    before = after;
  }
});

// --- rules change

await test('a reload changes no count', async (t) => {
  const expected = plus(await usedOf(gateway), await askTimes(gateway, 7));
  for (const max_requests of [expected.requests + 1, 2 * expected.requests, 2, 1_000_000]) {
    await gateway.applyConfig({ 'gateway.yaml': limits({ ...roomy, max_requests }) });
    t.same(await usedOf(gateway), expected, `cap ${max_requests}`);
  }
  const reloads = await gateway.metric('gateway_config_reload_total', { result: 'success' });
  gateway.process.signal('SIGHUP');
  t.ok(await during(300, async () => (await usedOf(gateway)).requests === expected.requests));
  t.ok(reloads);
  const more = await askTimes(gateway, 2);
  t.same(await usedOf(gateway), plus(expected, more));
});

// --- several instances

/** Waits until everything that was counted before is in the store. */
async function untilWritten(...proxies: Gateway[]): Promise<void> {
  const countedMs = Date.now();
  for (const proxy of proxies) {
    await waitFor('the counts to be written', async () => {
      const written = (await proxy.metric('gateway_counters_written_timestamp_seconds')) ?? 0;
      return written * 1000 > countedMs;
    });
  }
}

/** What an instance has stored of the hour of all clients. */
function storedSums(name: string): Sum[] {
  return storedCounters(gateway)
    .filter(({ instance, rule }) => instance === name && rule.endsWith(' 3600 /'))
    .map(({ requests, tokens }) => ({ requests: sumOf(requests), tokens: sumOf(tokens) }));
}

await test('two instances in one directory: each its own rows; a second of one name does not start; after a kill -9 it starts at once, all slots free', async (t) => {
  const config = limits(roomy, { ...slots, max_requests: 2 });
  await gateway.applyConfig({ 'gateway.yaml': config });
  const options = { upstream, config, home } as const;
  const other = await startGateway(t, { ...options, env: { GATEWAY_INSTANCE: 'other' } });
  const before = plus(await usedOf(gateway), await askTimes(gateway, 3));
  const usedByOther = await askTimes(other, 5);
  const gate = createGate();
  t.teardown(() => gate.release());
  const asked = upstream.ledger.length;
  await upstream.behave({ kind: 'hold', gate });
  const open = [1, 2].map(() => askOnce(gateway).catch(() => undefined));
  await upstream.waitFor((ledger) => ledger[asked + 1]?.bodyComplete);
  await upstream.behave({ kind: 'openai' });
  t.equal((await askOnce(gateway)).status, 429, 'the slots are taken');
  const expected = plus(before, { requests: 2, tokens: 0 });
  await untilWritten(gateway, other);
  const requestsIn = (name: string): number[] => storedSums(name).map(({ requests }) => requests);
  t.same([requestsIn('only'), requestsIn('other')], [[expected.requests], [usedByOther.requests]]);

  const second = await startGateway(t, { ...options, env: { GATEWAY_INSTANCE: 'only' }, ready: 'spawned' });
  t.same(await second.process.exited, { code: 1, signal: null });
  t.match(
    second.process.stderr.map((line) => JSON.parse(line)),
    [
      {
        instance: 'only',
        msg: 'proxy cannot start: another proxy runs as instance "only"; give each its own GATEWAY_INSTANCE',
      },
    ],
  );
  t.same(await usedOf(gateway), expected, 'the first goes on undisturbed');

  const sumOfOther = plus(usedByOther, await askTimes(other, 2));
  gateway.process.signal('SIGKILL');
  await Promise.all([gateway.process.exited, ...open, other.process.stop()]);
  const startedMs = performance.now();
  const slowdown = watchSlowdown();
  await gateway.restart({ RATE_LIMITS_FLUSH_INTERVAL: '0' });
  const tookMs = performance.now() - startedMs;
  t.comment(`took over after ${tookMs.toFixed(0)} ms`);
  t.ok(tookMs < 5_000 * slowdown(), `${tookMs.toFixed(0)} ms`);
  t.same(await usedOf(gateway), expected);
  t.same(storedSums('other'), [sumOfOther], 'which the other would read');
  t.equal(await inFlightOf(gateway), 0, 'the slots are free');
});

// --- flush interval 0

await test('flush interval 0: written at SIGTERM and only then, read at the start', async (t) => {
  const before = await usedOf(gateway);
  t.ok(before.requests > 0, 'read at the start');
  await askTimes(gateway, 3);
  const [stored] = storedSums('only');
  t.ok(
    await during(1_200, () => storedSums('only')[0]?.requests === stored?.requests),
    'nothing is written while it runs',
  );
  await gateway.process.kill();
  await gateway.restart();
  t.same(await usedOf(gateway), before, 'kill -9 loses what that run has counted');
  const more = await askTimes(gateway, 3);
  await gateway.process.stop();
  t.same(storedSums('only'), [plus(before, more)], 'the sum is written, not the counts of the last run alone');
});
