// startFleet: several proxies share one state, on each store.
import { test } from 'tap';
import { startFakeUpstream } from './fake-upstream.ts';
import { startFleet } from './fleet.ts';
import { waitFor } from './wait-for.ts';

for (const store of ['sqlite', 'redis'] as const) {
  await test(`a fleet on ${store} agrees on what is in force`, async (t) => {
    const upstream = await startFakeUpstream({ t });
    const fleet = await startFleet(t, { store, upstream });
    const status = await waitFor('all processes to agree', async () => {
      const answer = (await (await fleet.admin('/admin/status')).json()) as { converged: boolean; proxies: object[] };
      return answer.converged && answer.proxies.length === 2 && answer;
    });
    t.match(status.proxies, [
      { instance: 'proxy-1', live: true },
      { instance: 'proxy-2', live: true },
    ]);
    for (const proxy of fleet.proxies) {
      const body = { model: 'fake-small', messages: [{ role: 'user', content: 'Hello' }] };
      t.equal((await proxy.fetch('/v1/chat/completions', { method: 'POST', body })).status, 200);
      t.equal((await proxy.fetch('/admin/rate-limits')).status, 200, 'one address serves the admin API too');
    }
  });
}
