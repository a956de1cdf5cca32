// Caps that hold for a whole fleet: two proxies on one store admit what one would (design section 7).
import { test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway } from '../support/gateway.ts';
import { shareFleet } from '../support/shared.ts';

const path = '/v1/chat/completions';

/** Asks through a proxy as a member of the team. */
async function ask(proxy: Gateway, team: string = '/capped'): Promise<Response> {
  const response = await proxy.fetch(path, {
    method: 'POST',
    headers: { 'x-gateway-user-path': team },
    body: { model: 'fake-small', messages: [{ role: 'user', content: 'hello' }] },
  });
  await response.clone().text();
  return response as unknown as Response;
}

for (const store of ['redis', 'sqlite'] as const) {
  await test(`on ${store}, two proxies admit together what a cap allows`, async (t) => {
    const upstream = await startFakeUpstream({ t });
    const limits = [{ period: 'minute', max_requests: 7 }];
    const config = { rate_limits: { scope: 'fleet', user_paths: [{ path: '/capped', limits }] } };
    const fleet = await shareFleet({ store, upstream, config });
    const [one, other] = fleet.proxies;
    if (one === undefined || other === undefined) throw new Error('there are two proxies');
    const statuses: number[] = [];
    for (let time = 0; time < 10; time += 1) statuses.push((await ask(time % 2 === 0 ? one : other)).status);
    t.same(statuses, [...Array(7).fill(200), ...Array(3).fill(429)]);
    const together = await Promise.all(Array.from({ length: 20 }, (_, time) => ask(time % 2 === 0 ? one : other)));
    t.same(new Set(together.map(({ status }) => status)), new Set([429]));
    const wait = Number((await ask(other)).headers.get('retry-after'));
    t.ok(wait >= 55 && wait <= 61, `both wait for the first slice to leave: ${wait} s`);
    t.equal(upstream.ledger.length, 7);
  });
}
