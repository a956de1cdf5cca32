// Rate limits switched off on a fleet: manual rules are off too, and are in force again afterwards.
import { t as suite, test } from 'tap';
import { ask, statusesOf, usageOf } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { doorsOf } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);

const minute = { period: 'minute' };

for (const store of scenarioStores) {
  await test(`a fleet on ${store}`, async (group) => {
    const upstream = await startFakeUpstream({ t: group });
    const limits = { user_paths: [{ path: '/team', limits: [{ period: 'hour', max_requests: 50 }] }] };
    // Starts switched off in the environment.
    const env = { RATE_LIMITS_ENABLED: 'false' };
    const fleet = await startFleet(group, { store, upstream, proxies: 1, config: { rate_limits: limits }, env });
    const [proxy] = fleet.proxies;
    if (proxy === undefined) throw new Error('no proxy');
    const issued = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'a key' } });
    const { id, value } = (await issued.json()) as { id: string; value: string };
    await fleet.admin(`/admin/auth-keys/${id}/deactivate`, { method: 'POST' });
    const revoked = { headers: { authorization: `Bearer ${value}` } };

    for (const how of ['in the environment', 'in git'] as const) {
      await group.test(
        `limits that are switched off ${how}: manual rules are off too, and the listing says so`,
        async (t) => {
          const toggle = (enabled: boolean): Promise<void> =>
            proxy.applyConfig({ 'gateway.yaml': { rate_limits: { ...limits, enabled } } });
          const startWithoutVariable = async (): Promise<void> => {
            const change = { RATE_LIMITS_ENABLED: undefined };
            const port = new URL(fleet.controlPlane.address).port;
            await Promise.all([
              fleet.controlPlane.restart({ ...change, GATEWAY_ADMIN_PORT: port }),
              proxy.restart(change),
            ]);
          };
          const rulesOf = async () => {
            const answer = (await (await fleet.admin('/admin/rate-limits')).json()) as {
              rate_limits: { subject: string; enforced: boolean }[];
            };
            return answer.rate_limits;
          };
          const known = `/known-${how.replaceAll(' ', '-')}`;
          await fleet.write('PUT', { user_path: known, limit_key: minute, max_requests: 1 });
          if (how === 'in git') {
            await fleet.settle();
            t.same(await statusesOf(proxy, known, 2), [200, 429]);
            await toggle(false);
          }
          await waitFor('every plane to know', async () => {
            const listed = await rulesOf();
            return listed.every(({ enforced }) => !enforced) && (await usageOf(proxy, known)).length === 0;
          });
          t.same(await statusesOf(proxy, known, 3), [200, 200, 200]);
          const other = { user_path: `${known}-other`, limit_key: minute };
          for (const door of doorsOf(fleet)) {
            const put = await door('/admin/rate-limits', { method: 'PUT', body: { ...other, max_requests: 1 } });
            t.equal(put.status, 200, 'rules can be set');
            const { rate_limits: rows } = (await put.json()) as {
              rate_limits: { enforced: boolean; unenforced_reason: string }[];
            };
            t.same(
              rows.filter(({ enforced, unenforced_reason: why }) => enforced || !/switched off/.test(why)),
              [],
            );
            t.equal((await door('/admin/rate-limits', { method: 'DELETE', body: other })).status, 200, 'and removed');
          }
          await waitFor('the status to say so', async () => {
            const answer = (await (await fleet.admin('/admin/status')).json()) as { proxies: { limiter: string }[] };
            return answer.proxies.every(({ limiter }) => limiter === 'off');
          });
          t.equal((await ask(proxy, '/', {}, revoked)).status, 401, 'keys are no limits');

          await (how === 'in git' ? toggle(true) : startWithoutVariable());
          await waitFor('every plane to know', async () => {
            const isListed = (await rulesOf()).some(({ subject, enforced }) => subject === known && enforced);
            return isListed && (await usageOf(proxy, known)).some(({ max_requests }) => max_requests === 1);
          });
          t.equal((await statusesOf(proxy, known, 2)).at(-1), 429, 'the rule that was there before is in force again');
          const listed = await rulesOf();
          t.match(
            listed.find(({ subject }) => subject === known),
            { enforced: true, unenforced_reason: undefined },
          );
        },
      );
    }
  });
}
