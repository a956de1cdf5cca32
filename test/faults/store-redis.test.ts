// The Redis server dies, hangs, or is not there: models are served, acknowledged writes stay, and all is well again by itself.
import { t as suite, type Test, test } from 'tap';
import { ask, statusesOf, usageOf } from '../support/consumer.ts';
import { extent } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import {
  checkUnharmed,
  describeLoad,
  measured,
  roomyConfig,
  startLoad,
  underLoad,
  usualPerSecond,
} from '../support/load.ts';
import {
  type AdminAnswer,
  askAdmin,
  dayRule,
  listRules,
  manualCaps,
  stateRevisionOf,
  untilDegraded,
} from '../support/operator.ts';
import { residentBytes } from '../support/process.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const config = roomyConfig({ period: 'day', max_requests: 1_000_000_000 });
const fleet = await startFleet(suite, { store: 'redis', upstream, config });
const [first, second] = fleet.proxies as readonly [Gateway, Gateway];
const { redis } = fleet;
if (redis === undefined) throw new Error('there is no Redis');

const put = (path: string, cap: number) => askAdmin(first, 'PUT', dayRule(path, cap));

const manualRules = async (): Promise<Map<string, number | undefined>> =>
  new Map(Object.entries(await manualCaps(fleet)));
const revision = (): Promise<number> => stateRevisionOf(fleet);

const sayRefusal = ({ status, code, retryAfter }: AdminAnswer): string => [status, code, retryAfter].join(' ');

const residentMebibytes = ({ process }: Gateway): number => residentBytes(process) / 2 ** 20;

await fleet.recovered();

await test('killed with -9 amid writes: no acknowledged one is lost, none is applied twice', async (t) => {
  const before = { revision: await revision(), rules: (await manualRules()).size };
  const acknowledged = new Map<string, number>();
  const unknown = new Map<string, number>();
  const refusals = new Set<string>();
  let slowestMs = 0;
  const slowdown = watchSlowdown(fleet.controlPlane, first.process);
  await underLoad(t, fleet, async () => {
    const over = new AbortController();
    let count = 0;
    const writing = (async () => {
      while (!over.signal.aborted) {
        count += 1;
        const path = `/killed/${count}`;
        const answer = await put(path, count);
        slowestMs = Math.max(slowestMs, answer.tookMs);
        if (answer.status !== 200) refusals.add(sayRefusal(answer));
        (answer.status === 200 ? acknowledged : unknown).set(path, count);
      }
    })();
    for (let kills = 1; kills <= extent(3, 2); kills += 1) {
      const enough = acknowledged.size + extent(20, 10);
      await waitFor('writes', () => acknowledged.size >= enough);
      await redis.kill();
      await waitFor('refusals', () => unknown.size >= 2 * kills);
      await redis.restart();
    }
    const enough = acknowledged.size + 5;
    await waitFor('writes after the last kill', () => acknowledged.size >= enough);
    over.abort();
    await writing;
  });
  const rules = await manualRules();
  const lost = [...acknowledged].filter(([path, cap]) => rules.get(path) !== cap);
  const applied = [...unknown].filter(([path]) => rules.has(path));
  t.comment(`${acknowledged.size} acknowledged, ${unknown.size} refused of which ${applied.length} had happened`);
  t.comment(`the slowest answer took ${slowestMs.toFixed(0)} ms`);
  t.same([...refusals], ['503 store_unavailable 1']);
  t.same(lost, []);
  t.ok(
    applied.every(([path, cap]) => rules.get(path) === cap),
    'whole or not at all',
  );
  const added = rules.size - before.rules;
  t.equal(added, acknowledged.size + applied.length);
  t.equal((await revision()) - before.revision, added, 'one revision for each rule: none was applied twice');
  t.ok(slowestMs < 2_000 * slowdown());
});

await test('hung for a second: every command gives up, nothing piles up, models do not notice', async (t) => {
  const client = redis.client();
  const sequences = async () =>
    Promise.all(
      ['proxy-1', 'proxy-2'].map(async (name) => Number(await client.hget(`{gateway}:counters:${name}`, 'sequence'))),
    );
  /** What Redis has read from its connections: a portion of the journal is one call, whatever its script does. */
  const calls = async (): Promise<number> =>
    Number(/total_reads_processed:(\d+)/.exec(await client.info('stats'))?.[1]);
  const startedMs = performance.now();
  const before = { sequences: await sequences(), calls: await calls() };
  await underLoad(t, fleet, async (load) => {
    const calm = await measured(load, extent(800, 400));
    const resting = fleet.proxies.map(residentMebibytes);
    const frozenMs = performance.now();
    const slowdown = watchSlowdown(fleet.controlPlane, first.process);
    redis.freeze();
    t.teardown(() => redis.thaw());
    const answers: AdminAnswer[] = [];
    const listings: AdminAnswer[] = [];
    await untilDegraded(fleet);
    await waitFor('the control plane to say so', async () => {
      const response = await fleet.admin('/health/ready');
      return ((await response.json()) as { reasons: string[] }).reasons.includes('state_store_unavailable');
    });
    t.comment(`degraded after ${(performance.now() - frozenMs).toFixed(0)} ms`);
    load.look();
    const saidMs = performance.now();
    while (answers.length < 2 || performance.now() < saidMs + extent(2_000, 500)) {
      answers.push(await put('/hung', answers.length + 1));
      listings.push(await askAdmin(first));
    }
    const hung = load.look();
    const grown = fleet.proxies.map((proxy, index) => residentMebibytes(proxy) - (resting[index] ?? 0));
    redis.thaw();
    t.comment(`before: ${describeLoad(calm)}`);
    t.comment(`hung: ${describeLoad(hung)}`);
    t.comment(
      `resident: ${resting.map((size) => size.toFixed(0)).join(', ')} MiB, grown by ${grown.map((size) => size.toFixed(1)).join(', ')}`,
    );
    t.same([...new Set(answers.map(sayRefusal))], ['503 store_unavailable 1']);
    t.ok(
      listings.every(({ status, isStale }) => status === 200 && isStale),
      'rules are listed from memory',
    );
    t.ok(Math.max(...[...answers, ...listings].map(({ tookMs }) => tookMs)) < 1_000 * slowdown());
    t.ok(hung.p50Ms < Math.max(100, 3 * calm.p50Ms) * slowdown(), 'half of the requests are as fast as before');
    t.ok(hung.perSecond > usualPerSecond * 0.5);
    t.ok(grown.every((size) => size < 48));
  });
  const seconds = (performance.now() - startedMs) / 1000;
  const after = { sequences: await sequences(), calls: await calls() };
  const writes = after.sequences.map((sequence, index) => sequence - (before.sequences[index] ?? 0));
  t.comment(`in ${seconds.toFixed(1)} s: ${writes.join(', ')} writes of counters, ${after.calls - before.calls} calls`);
  for (const count of writes) t.ok(count > 0 && count <= seconds + 2, 'one write of counters for each second at most');
  // The load alone is 300 requests a second.
  t.ok(after.calls - before.calls < 150 * seconds, 'far fewer calls than requests');
});

/** Without a store, and with good copies: `key` opens, the rule of 3 requests for `/limited` is in force, operators are told. */
async function checkGoodCopies(t: Test, key: string): Promise<void> {
  const slowdown = watchSlowdown(fleet.controlPlane, first.process);
  t.same(await statusesOf(first, '/limited', 4), [200, 200, 200, 429], 'a managed rule is in force');
  const asked = async (bearer: string) =>
    (await ask(first, '/', {}, { headers: { authorization: `Bearer ${bearer}` } })).status;
  t.equal(await asked(key), 200, 'a managed key opens');
  t.equal(await asked('sk-gw-nobody'), 401);
  const refused = await put('/new', 1);
  t.equal(sayRefusal(refused), '503 store_unavailable 1');
  t.ok(refused.tookMs < 1_000 * slowdown());
  const listing = await askAdmin(first);
  t.match(listing, { status: 200, isStale: true });
  t.ok(listing.tookMs < 1_000 * slowdown());
  const limited = listing.rules.find(({ subject }) => subject === '/limited');
  t.match(limited, { max_requests: 3, updated_by: 'master_key' });
  t.notOk('requests_used' in (limited ?? {}), 'usage is not known, so it is not shown');
  const shown = (await (await first.fetch('/admin/config')).json()) as { stale?: boolean; rate_limits: object[] };
  t.match(shown, { stale: true, providers: [{ name: 'fake' }] });
  t.equal(shown.rate_limits.length, listing.rules.length);
  const keys = await first.fetch('/admin/auth-keys');
  t.equal(keys.headers.get('x-gateway-stale'), 'true');
  t.match(await keys.json(), [{ name: 'client', stale: true }]);
  await checkCause(t);
}

/** The status names the store, why and since when it is down; every proxy says itself that it serves, and none is called silent. */
async function checkCause(t: Test): Promise<void> {
  interface Shown {
    readonly degraded: readonly { readonly where: string; readonly reason: string; readonly since: string }[];
    readonly proxies: readonly { readonly live: boolean; readonly heard_from: string }[];
  }
  const seen = await waitFor('both proxies to say how they are', async () => {
    const shown = (await (await fleet.admin('/admin/status')).json()) as Shown;
    return shown.proxies.filter(({ live }) => live).length === 2 && shown;
  });
  const cause = /the state store on .* cannot be reached/;
  const [{ since } = { since: '' }] = seen.degraded;
  t.match(seen, {
    store: { status: 'down', source: 'copy', trouble: { since, cause } },
    proxies: ['proxy-1', 'proxy-2'].map((instance) => ({ instance, heard_from: 'proxy' })),
  });
  t.match(seen.degraded[0], { where: 'control-plane', reason: 'state_store_unavailable', cause });
  const told = seen.degraded.filter(({ where, reason }) => where !== 'control-plane' && /store/.test(reason));
  t.match(told, [{ cause: /says so itself, and serves/ }, { cause: /says so itself, and serves/ }]);
  const wrong = seen.degraded.filter(({ reason }) => reason === 'silent' || reason === 'no_proxy_is_live');
  t.same(wrong, []);
}

await test('not there when the planes start: the last copy holds, and Redis is picked up when it comes', async (t) => {
  const issued = await fleet.admin('/admin/auth-keys', {
    method: 'POST',
    body: { name: 'client', user_path: '/client' },
  });
  const { value: key } = (await issued.json()) as { value: string };
  await fleet.write('PUT', dayRule('/limited', 3));
  await fleet.settle();
  const rules = await manualRules();
  await first.process.stop();
  await redis.kill();
  t.teardown(() => redis.restart());
  await underLoad(
    t,
    fleet,
    async () => {
      await Promise.all([first.restart(), fleet.restartControlPlane()]);
      await untilDegraded(fleet);
      await checkGoodCopies(t, key);
      await redis.restart();
    },
    { proxies: [second] },
  );
  t.same(await manualRules(), rules, 'nothing was lost');
  t.same(await statusesOf(first, '/limited', 1), [429], 'and what was counted meanwhile counts');
  t.equal((await listRules(fleet)).find(({ subject }) => subject === '/limited')?.requests_used, 3);
  t.equal((await put('/new', 1)).status, 200);
  t.equal((await askAdmin(first)).isStale, false);
  t.ok(first.process.logs().some(({ msg }) => msg === 'started on the copy of the managed state'));
});

await test('a proxy killed with -9 comes back with what it had counted up to 1.25 s before, and with free slots', async (t) => {
  const usedNow = async (): Promise<number> =>
    (await usageOf(first, '/')).find(({ period_seconds: seconds }) => seconds === 86_400)?.requests_used ?? -1;
  await underLoad(
    t,
    fleet,
    async () => {
      const before = await usedNow();
      const startedMs = performance.now();
      const lifeMs = 1_500 + Math.random() * 500;
      const load = startLoad(t, [first], extent(150, 50));
      const samples: { atMs: number; answered: number }[] = [];
      let answered = 0;
      let stalledMs = 0;
      await waitFor('the moment of death', () => {
        const atMs = performance.now();
        stalledMs = Math.max(stalledMs, atMs - (samples.at(-1)?.atMs ?? atMs));
        answered += load.look().answered;
        samples.push({ atMs, answered });
        // A machine that stalls this process stalls the timers of the gateway, too.
        return atMs - startedMs > lifeMs + stalledMs;
      });
      await first.process.kill();
      const killedMs = samples.at(-1)?.atMs ?? 0;
      await waitFor('a request that the death cost', () => Object.keys(load.look().failures).length > 0);
      const { answered: sent } = await load.end();
      await first.restart();
      const counted = (await usedNow()) - before;
      const kept = samples.findLast(({ atMs }) => atMs < killedMs - 1_250 - stalledMs)?.answered ?? 0;
      t.comment(
        `killed after ${lifeMs.toFixed(0)} ms: ${kept} ≤ ${counted} ≤ ${sent}, stalls of ${stalledMs.toFixed(0)} ms`,
      );
      t.ok(kept > 0 && counted >= kept && counted <= sent);
      const slots = (await usageOf(first, '/')).find(({ period_seconds: seconds }) => seconds === 0);
      t.equal(slots?.in_flight, 0);
    },
    { proxies: [second] },
  );
});

await test('no process logged an unexpected failure, and none ended', async (t) => {
  checkUnharmed(t, fleet, upstream);
});
