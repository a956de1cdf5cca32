// A budget of a dollar on two proxies with Redis and PostgreSQL: what is spent through one of them stops the other, until the window ends.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { startPostgres } from '../support/postgres.ts';
import { startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

/** Windows of custom periods begin at whole multiples of their length. */
const windowMs = 4_000;
/** The journal is emptied five times a second, spend is asked for once a second, verdicts are looked for five times. */
const mostDelayMs = 3_000;

const upstream = await startFakeUpstream(suite);
const [redis, postgres] = await Promise.all([startRedis(suite, { appendOnly: true }), startPostgres(suite)]);
const database = await postgres.database();
// Whatever the answer's tokens, a request costs half a dollar.
const models = [{ id: 'm1', pricing: { input_per_mtok: 0, output_per_mtok: 0, per_request: 0.5 } }];
const limits = [{ period: 'monthly', amount: 1 }];
const fleet = await startFleet(suite, {
  store: 'redis',
  redis,
  env: { DATABASE_URL: database },
  config: {
    providers: { fake: { type: 'openai', base_url: upstream.url, models } },
    budgets: {
      user_paths: [
        { path: '/team', limits },
        { path: '/short', limits: [{ period_seconds: windowMs / 1000, amount: 1 }] },
      ],
    },
  },
});
const [first, second] = fleet.proxies as readonly [Gateway, Gateway];

async function ask(proxy: Gateway, userPath: string) {
  const answer = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath },
    body: { model: 'm1', messages: [{ role: 'user', content: 'hi' }] },
  });
  const { error } = (await answer.json()) as { error?: { code: string } };
  return { said: `${answer.status} ${error?.code ?? 'ok'}`, waitSeconds: Number(answer.headers.get('retry-after')) };
}

/** Whether the proxy knows that the budget of the path is spent. Looking costs nothing. */
async function isSpent(proxy: Gateway, userPath: string): Promise<boolean> {
  const answer = await proxy.fetch(`/admin/explain?model=m1&user_path=${userPath}`);
  return ((await answer.json()) as { budgets: object[] }).budgets.length > 0;
}

await test('what is spent through one proxy stops the next request at both', async (t) => {
  for (const proxy of fleet.proxies) t.equal(await isSpent(proxy, '/team'), false);
  for (const path of ['/team', '/team/app']) t.equal((await ask(first, path)).said, '200 ok');
  const spentMs = performance.now();
  await Promise.all(fleet.proxies.map((proxy) => waitFor('the verdict', () => isSpent(proxy, '/team'))));
  const tookMs = performance.now() - spentMs;
  t.ok(tookMs < mostDelayMs, `${Math.round(tookMs)} ms`);
  const now = new Date();
  const monthEndMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
  for (const proxy of fleet.proxies) {
    const { said, waitSeconds } = await ask(proxy, '/team/other/app');
    t.equal(said, '429 budget_exceeded');
    t.ok(Math.abs(waitSeconds * 1000 - (monthEndMs - Date.now())) < 5_000, `${waitSeconds} s until the month ends`);
    t.equal((await ask(proxy, '/teams')).said, '200 ok');
  }
  const calls = await waitFor('the records in PostgreSQL', async () => {
    const sql = 'SELECT count(*)::int AS calls FROM gateway_records.usage WHERE total_cost = 500000000';
    const [row] = await postgres.query(database, sql);
    return Number(row?.['calls']) >= 4 && row?.['calls'];
  });
  t.equal(calls, 4, 'what is refused costs nothing');
});

await test('the end of the window lets go, at both and no earlier', async (t) => {
  // A window may end before it is spent; then the next one is.
  const endMs = await waitFor('a spent window', async () => {
    const windowEndMs = (Math.floor(Date.now() / windowMs) + 1) * windowMs;
    const { said } = await ask(first, '/short');
    const isRefused = said !== '200 ok' && (await ask(second, '/short/app')).said === '429 budget_exceeded';
    return isRefused && windowEndMs - Date.now() > 500 && windowEndMs;
  });
  const mostMs = endMs - Date.now() + 1_000;
  const { waitSeconds } = await ask(second, '/short');
  const leastMs = endMs - Date.now();
  t.ok(waitSeconds * 1000 >= leastMs && waitSeconds * 1000 <= mostMs, `${leastMs} <= ${waitSeconds} s <= ${mostMs}`);
  const lettingGo = async (proxy: Gateway): Promise<number> => {
    let refusedMs = 0;
    await waitFor('the end', async () => {
      const beganMs = Date.now();
      const isLet = (await ask(proxy, '/short')).said === '200 ok';
      if (!isLet) refusedMs = beganMs;
      return isLet;
    });
    t.ok(Date.now() >= endMs, 'not before the end');
    return refusedMs;
  };
  for (const refusedMs of await Promise.all([first, second].map(lettingGo)))
    t.ok(refusedMs > 0 && refusedMs < endMs, 'refused until then');
});
