// A store that lost everything gets its counters back too, also those nobody has touched since.
import { test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { waitFor } from '../support/wait-for.ts';

await test('counters of idle rules are written again after FLUSHALL', { timeout: 60_000 }, async (t) => {
  const upstream = await startFakeUpstream({ t });
  const rate_limits = { user_paths: [{ path: '/', limits: [{ period: 'day', max_requests: 100 }] }] };
  const { proxies, redis } = await startFleet(t, { store: 'redis', proxies: 1, upstream, config: { rate_limits } });
  const [proxy] = proxies;
  if (proxy === undefined || redis === undefined) throw new Error('no fleet');
  const used = async (): Promise<unknown> => {
    const usage = (await (await proxy.fetch('/v1/usage')).json()) as { rate_limits: { requests_used: number }[] };
    return usage.rate_limits[0]?.requests_used;
  };
  const client = redis.client();
  const stored = async (): Promise<boolean> => (await client.keys('*counters*')).length > 0;
  const body = { model: 'fake-small', messages: [] };
  for (let count = 0; count < 3; count += 1) {
    t.equal((await proxy.fetch('/v1/chat/completions', { method: 'POST', body })).status, 200);
  }
  await waitFor('the counters to be stored', stored);

  await client.flushall();
  await waitFor('the counters to be stored again', stored);
  await proxy.process.kill();
  await proxy.restart();
  t.equal(await used(), 3, 'nothing was lost with the store and the process');
});
