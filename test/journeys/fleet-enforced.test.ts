// A write through a proxy is answered when that proxy enforces it, and at the latest after a second.
import { t as suite, test } from 'tap';
import { ask, usageOf } from '../support/consumer.ts';
import { extent, scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { dayRule, stateRevisionOf } from '../support/operator.ts';
import { freePort } from '../support/ports.ts';
import { shareFleet } from '../support/shared.ts';
import { temporaryDirectory } from '../support/teardown.ts';

suite.setTimeout(240_000);

const list = '/admin/rate-limits';

/** What an answer says of the write: enforced here, and the revision. */
const saidOf = ({ headers }: { headers: { get(name: string): string | null } }) => ({
  enforced: headers.get('x-gateway-enforced'),
  revision: Number(headers.get('x-gateway-state-revision')),
});

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const fleet = await shareFleet({ store, upstream });
    const [proxy] = fleet.proxies as readonly [Gateway];
    const withKey = async (key: string): Promise<number> =>
      (await ask(proxy, '/', {}, { headers: { authorization: `Bearer ${key}` } })).status;

    await group.test('a rule holds for the next request, however many are written', async (t) => {
      for (let cap = 1; cap <= extent(50, 15); cap += 1) {
        const response = await proxy.fetch(list, { method: 'PUT', body: dayRule('/written', cap) });
        const rows = await usageOf(proxy, '/written');
        t.equal(rows.find(({ subject }) => subject === '/written')?.max_requests, cap);
        t.match(saidOf(response), { enforced: 'true', revision: Number }, 'and the answer says so');
        t.match(await response.json(), { rate_limits: Array }, 'the answer is whole');
      }
      const removal = { user_path: '/written', limit_key: { period: 'day' } };
      const removed = await proxy.fetch(list, { method: 'DELETE', body: removal });
      t.same(await usageOf(proxy, '/written'), []);
      t.same(saidOf(removed), { enforced: 'true', revision: await stateRevisionOf(fleet) });
    });

    await group.test(
      'a key opens with the answer that has its secret, and is refused with its revocation',
      async (t) => {
        const issued = await proxy.fetch('/admin/auth-keys', { method: 'POST', body: { name: 'at once' } });
        const { id, value } = (await issued.json()) as { id: string; value: string };
        t.equal(await withKey(value), 200);
        const revoked = await proxy.fetch(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' });
        t.equal(await withKey(value), 401);
        t.match([saidOf(issued).enforced, saidOf(revoked).enforced], ['true', 'true']);
      },
    );

    await group.test('reads, refusals and answers of the control plane itself say nothing of it', async (t) => {
      const direct = await fleet.admin(list, { method: 'PUT', body: dayRule('/direct', 1) });
      t.match(saidOf(direct), { enforced: null, revision: await stateRevisionOf(fleet) });
      const refused = await proxy.fetch(list, { method: 'PUT', body: { user_path: '/x' } });
      t.equal(refused.status, 400);
      for (const answer of [refused, await proxy.fetch(list)]) t.same(saidOf(answer), { enforced: null, revision: 0 });
    });

    await group.test('a proxy that cannot read its store answers after a second, and says so', async (t) => {
      const cutOff = await startGateway(t, {
        upstream,
        env: {
          GATEWAY_DATA: temporaryDirectory(t),
          GATEWAY_INSTANCE: 'cut-off',
          GATEWAY_CONTROL_PLANE_URL: fleet.controlPlane.address,
          REDIS_URL: `redis://127.0.0.1:${await freePort()}`,
        },
      });
      const startedMs = performance.now();
      const response = await cutOff.fetch(list, { method: 'PUT', body: dayRule('/cut-off', 1) });
      const tookMs = performance.now() - startedMs;
      t.equal(response.status, 200);
      t.equal(saidOf(response).enforced, 'false');
      t.ok(tookMs < 1_800, `answered after ${tookMs.toFixed(0)} ms`);
    });
  });
}
