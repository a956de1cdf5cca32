// Thousands of consumers come and go: their counters go with them, those in use stay, and memory stays bounded.
import { t as suite, test } from 'tap';
import { extent } from '../support/extent.ts';
import { createGate, startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway } from '../support/gateway.ts';
import { residentBytes } from '../support/process.ts';
import { callQuick, quickCall, startQuickProvider } from '../support/quick-provider.ts';
import { openRaw } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const quick = await startQuickProvider(suite);
const upstream = await startFakeUpstream({ t: suite });
const windowSeconds = 5;
const children = extent(10_000, 3_000);
const strangers = extent(20_000, 6_000);
const residents = 50;
const warmUp = extent(4_000, 2_000);

const template = (path: string, ...limits: object[]) => ({ path, per_child: true, limits });
const gateway = await startGateway(suite, {
  config: {
    providers: {
      quick,
      fake: { type: 'openai', base_url: upstream.url, models: ['fake-small'] },
    },
    rate_limits: {
      user_paths: [
        template('/guests', { period_seconds: windowSeconds, max_requests: 2, max_tokens: 1_000_000 }),
        template('/brief', { period_seconds: 1, max_requests: 2 }),
        template('/residents', { period: 'day', max_requests: 1 }, { period: 'concurrent', max_requests: 1 }),
      ],
    },
  },
  env: { GATEWAY_ENTITLEMENTS: 'quota_templates', NODE_V8_COVERAGE: undefined },
  execArgv: ['--heap-growing-percent=50', '--v8-pool-size=0'],
});

const callAll = (userPaths: readonly string[]): Promise<Map<number, number>> => callQuick(gateway.port, userPaths);

async function counters(): Promise<number> {
  return (await gateway.metric('gateway_rate_limit_counters')) ?? Number.NaN;
}

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index.toString(36)}-${'n'.repeat(20)}`);
const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

const homes = names('/residents/', residents);

await test('children of a template go when their window has passed, those in use stay', async (t) => {
  // Of one consumer that no rule knows: what the process grows by anyway.
  t.same([...(await callAll(Array.from({ length: warmUp }, () => '/nobody')))], [[200, warmUp]]);
  const resting = { counters: await counters(), bytes: residentBytes(gateway.process) };
  t.equal(resting.counters, 0, 'a template without children counts nothing');

  t.same([...(await callAll(homes))], [[200, residents]]);
  const gate = createGate();
  await upstream.behave({ kind: 'hold', gate });
  const guest = await openRaw(gateway.port, { t });
  await guest.send(quickCall('/residents/long-stay', { model: 'fake-small', messages: [] }));
  await upstream.waitFor((ledger) => ledger[0]?.bodyComplete);
  // Two counters of its own for each: the day, and the slots, which are not needed once they are free.
  await waitFor('free slots to be forgotten', async () => (await counters()) === residents + 2);

  const startedAtMs = performance.now();
  t.same([...(await callAll(names('/guests/', children)))], [[200, children]]);
  const tookSeconds = (performance.now() - startedAtMs) / 1000;
  const peak = await counters();
  const grown = residentBytes(gateway.process) - resting.bytes;
  t.comment(`${children} children in ${tookSeconds.toFixed(1)} s: ${peak} counters, ${mebibytes(grown)} more`);
  if (tookSeconds < windowSeconds) t.ok(peak >= children, 'every child has a counter of its own');
  t.ok(peak > children / 2 && peak <= children + residents + 2);
  t.ok(grown < 64 << 20);

  await waitFor('the counters to go', async () => (await counters()) <= residents + 2, 30_000);
  t.comment(`gone ${((performance.now() - startedAtMs) / 1000 - tookSeconds).toFixed(1)} s after the last call`);
  t.equal(await counters(), residents + 2, 'and no other one');
  t.same([...(await callAll(homes))], [[429, residents]], 'a child that has used up its day is still refused');
  t.same([...(await callAll(['/residents/long-stay/deep']))], [[429, 1]], 'and so is who holds a slot');
  gate.release();
  t.equal((await guest.waitFor(({ responses }) => responses[0]?.complete && responses[0])).status, 200);
  await waitFor('its slot to be forgotten, its day not', async () => (await counters()) === residents + 1);
  t.equal(readMetric(await gateway.metrics(), 'gateway_rate_limit_in_flight'), 0);
  t.same([...(await callAll(['/residents/long-stay']))], [[429, 1]]);
});

await test('paths that no rule concerns leave nothing behind', async (t) => {
  const resting = { counters: await counters(), bytes: residentBytes(gateway.process) };
  const startedAtMs = performance.now();
  t.same([...(await callAll(names('/strangers/', strangers)))], [[200, strangers]]);
  const grown = residentBytes(gateway.process) - resting.bytes;
  t.comment(
    `${strangers} paths in ${((performance.now() - startedAtMs) / 1000).toFixed(1)} s: ${mebibytes(grown)} more`,
  );
  t.equal(await counters(), resting.counters);
  t.ok(grown < 32 << 20);
});

await test('children that come back begin anew', async (t) => {
  const statuses = await callAll(['/brief/one', '/brief/one', '/brief/one/deep', '/brief/other']);
  t.same([statuses.get(200), statuses.get(429)], [3, 1], 'each child has its own two');
  const before = await counters();
  await waitFor('the counters to go', async () => (await counters()) === before - 2);
  const again = await callAll(['/brief/one', '/brief/one', '/brief/one/deep', '/brief/other']);
  t.same([again.get(200), again.get(429)], [3, 1]);
});

await test('nothing malformed was sent, nothing unexpected happened inside', async (t) => {
  t.same(upstream.malformed, []);
  t.notMatch(
    [...gateway.process.stdout, ...gateway.process.stderr].join('\n'),
    /unexpected failure|"level":"(warn|error|fatal)"/,
  );
  t.ok(gateway.process.running);
});
