// The response cache of a fleet: what a thousand equal requests cost, who gets what from Redis, and resets within a second.
import { t as suite, type Test, test } from 'tap';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Fleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { delaysUntil, listRules } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { watchTime } from '../support/slowdown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);

const promisedMs = 1_000;
const equal = 1_000;
const lanes = 20;
const chat = (content: string, model = 'chat') => ({ model, messages: [{ role: 'user', content }] });

interface Told {
  readonly status: number;
  readonly cache: string | null;
}

async function ask(proxy: Gateway, userPath: string, body: object): Promise<Told> {
  const headers = { 'x-gateway-user-path': userPath };
  const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', body, headers });
  await response.body?.cancel();
  return { status: response.status, cache: response.headers.get('x-gateway-cache') };
}

const isKept = async (proxy: Gateway, userPath: string, body: object): Promise<boolean> =>
  (await ask(proxy, userPath, body)).cache === 'hit';

/** Until every proxy has the answer. */
async function keep(fleet: Fleet, userPath: string, body: object): Promise<void> {
  for (const proxy of fleet.proxies) await waitFor('the answer', () => isKept(proxy, userPath, body));
}

/** Does it, and checks that each proxy has forgotten the answer within a second. */
async function reset(t: Test, fleet: Fleet, query: string, [userPath, body]: [string, object]): Promise<void> {
  await keep(fleet, userPath, body);
  const response = await fleet.admin(`/admin/cache?${query}`, { method: 'DELETE' });
  t.equal(response.status, 200, query);
  t.same(await response.json(), { status: 'ok' });
  const delays = await delaysUntil(fleet.proxies, 'another answer', async (proxy) => {
    return (await ask(proxy, userPath, body)).cache === 'miss';
  });
  for (const delayMs of delays) t.ok(delayMs <= promisedMs, `${query}: ${Math.round(delayMs)} ms`);
}

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await shareFleet({
      store,
      upstream,
      config: {
        cache: { enabled: true, engine: 'memory' },
        aliases: [{ source: 'chat', target: 'fake/fake-small' }],
        rate_limits: {
          user_paths: [{ path: '/many', limits: [{ period: 'day', max_requests: 5_000, max_tokens: 1e9 }] }],
        },
      },
    });
    const [first] = fleet.proxies;
    if (first === undefined) throw new Error('there is no proxy');

    await group.test(`${equal} equal requests are one call, and count as one`, async (t) => {
      const body = chat('the same for all');
      t.same(await ask(first, '/many', body), { status: 200, cache: 'miss' });
      const told: Told[] = [];
      const lane = async (): Promise<void> => {
        while (told.length < equal - 1) {
          const place = told.push({ status: 0, cache: null }) - 1;
          told[place] = await ask(first, '/many', body);
        }
      };
      await Promise.all(Array.from({ length: lanes }, lane));
      t.same(new Set(told.map((each) => JSON.stringify(each))), new Set(['{"status":200,"cache":"hit"}']));
      t.equal(told.length, equal - 1);
      t.equal(upstream.ledger.length, 1);
      const used = upstream.ledger[0]?.usage?.total_tokens;
      const rule = await waitFor('the counters', async () =>
        (await listRules(fleet)).find((row) => row.requests_used === 1),
      );
      t.match(rule, { subject: '/many', requests_used: 1, tokens_used: used });
      const summary = async (mode: string): Promise<Record<string, unknown>> => {
        const response = await fleet.admin(`/admin/usage/summary?user_path=/many&cache_mode=${mode}`);
        return (await response.json()) as Record<string, unknown>;
      };
      const isDrained = async () => (await summary('all'))['total_requests'] === equal;
      await waitFor('the records', isDrained, 30_000);
      t.match(await summary('uncached'), { total_requests: 1, total_tokens: used });
      t.match(await summary('cached'), { total_requests: equal - 1, total_tokens: (equal - 1) * (used ?? 0) });
      const cost = (await summary('cached'))['total_cost'];
      t.equal(cost, 0);
    });

    await group.test(
      'a reset is in force on every proxy within a second, and only for the answers that it names',
      async (t) => {
        const mine: [string, object] = ['/team/app', chat('mine')];
        const theirs: [string, object] = ['/team-alpha', chat('theirs')];
        await keep(fleet, ...theirs);
        await reset(t, fleet, 'user_path=/team', mine);
        await reset(t, fleet, 'user_path=%2Fteam%2Fapp%2F', mine);
        t.ok(await isKept(first, ...theirs), 'a path that only looks alike');
        await reset(t, fleet, 'model=Chat', mine);
        await keep(fleet, ...theirs);
        await reset(t, fleet, 'model=fake/fake-small', mine);
        await keep(fleet, '/team', chat('large', 'fake-large'));
        await reset(t, fleet, 'model=fake-small', mine);
        t.ok(await isKept(first, '/team', chat('large', 'fake-large')), 'another model');
        await reset(t, fleet, 'scope=gateway', mine);
        t.notOk(await isKept(first, '/team', chat('large', 'fake-large')));
      },
    );
  });
}

await test('what one proxy keeps in Redis is served by all', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const fleet = await shareFleet({ store: 'redis', upstream, config: { cache: { enabled: true } } });
  const [first, second] = fleet.proxies;
  if (first === undefined || second === undefined) throw new Error('there are not two proxies');
  const body = chat('for both', 'fake-small');
  await waitFor('the first to keep it', () => isKept(first, '/team', body));
  await upstream.behave({ kind: 'error', status: 400 });
  await waitFor('the second to have it', () => isKept(second, '/team', body));
  t.equal(await isKept(second, '/team-alpha', body), false);
  fleet.redis?.freeze();
  const tookMs = watchTime();
  t.match(await ask(second, '/team', body), { status: 400 });
  t.ok(tookMs() < 500, 'a silent server holds nothing up');
  await upstream.behave({ kind: 'openai' });
  t.same(await ask(second, '/team', body), { status: 200, cache: 'miss' });
  fleet.redis?.thaw();
  await waitFor('the server to be asked again', () => isKept(second, '/team', body));
});
