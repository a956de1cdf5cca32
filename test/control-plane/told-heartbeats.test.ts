// A proxy whose heartbeats the state store does not take says itself how it is, to POST /admin/heartbeats.
import { test } from 'tap';
import { healthy, startStatus } from './status-plane.ts';

const trouble = 'the state store on redis:6379 cannot be reached';
const told = { ...healthy, ready: ['degraded', ['state_store_unavailable']], store_trouble: trouble };

await test('while the store is down, a proxy that says so itself is live, and the cause is named first', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1');
  await plane.beat('proxy-2');
  await plane.look();
  await plane.closeStore();
  plane.at.nowMs += 1_000;
  const causes = { state_store_unavailable: trouble };
  plane.facts.readiness = { status: 'degraded', reasons: ['state_store_unavailable'], causes };
  plane.facts.state = { ...plane.facts.state, isUp: false, trouble };
  await plane.look();
  plane.at.nowMs += 2_500;
  t.equal((await plane.tell({ instance: 'proxy-1', heartbeat: told })).status, 204);
  const shown = await plane.look();
  const since = '2026-06-01T00:00:01.000Z';
  t.match(shown, {
    converged: true,
    store: { status: 'down', trouble: { since, cause: trouble } },
    proxies: [
      { instance: 'proxy-1', live: true, heard_from: 'proxy', ready: { status: 'degraded' } },
      { instance: 'proxy-2', live: false, heard_from: 'store' },
    ],
  });
  t.match(shown['degraded'], [
    { where: 'control-plane', reason: 'state_store_unavailable', since, cause: trouble },
    { where: 'proxy-2', reason: 'silent', cause: 'it has not told this control plane itself either' },
    { where: 'proxy-1', reason: 'state_store_unavailable', cause: /^it says so itself, and serves .*redis:6379/ },
  ]);
  t.equal(await plane.metric('gateway_proxies_live'), 1);
  plane.at.nowMs += 3_000;
  t.match((await plane.look())['degraded'], [
    { reason: 'state_store_unavailable', where: 'control-plane' },
    { reason: 'silent', where: 'proxy-2' },
    { reason: 'silent', where: 'proxy-1' },
    { reason: 'no_proxy_is_live', cause: /none was heard through the state store, and none has told/ },
  ]);
});

await test('the store counts again once it takes heartbeats, and what ended meanwhile is not silent', async (t) => {
  const plane = await startStatus(t);
  await plane.tell({ instance: 'proxy-1', heartbeat: told });
  await plane.tell({ instance: 'proxy-2', heartbeat: told });
  t.match((await plane.look()).proxies, [{ heard_from: 'proxy' }, { heard_from: 'proxy' }]);
  plane.at.nowMs += 500;
  await plane.beat('proxy-1');
  t.match((await plane.look()).proxies, [{ heard_from: 'store' }, { heard_from: 'proxy' }]);
  plane.at.nowMs += 3_000;
  await plane.beat('proxy-1');
  t.same(
    (await plane.look()).proxies.map(({ instance, live }) => [instance, live]),
    [['proxy-1', true]],
  );
});

await test('only who has the master key speaks for a proxy, and only what is a heartbeat is heard', async (t) => {
  const plane = await startStatus(t);
  const whole = { instance: 'proxy-1', heartbeat: told };
  const cases: [body: unknown, status: number, code: string, authorization?: string][] = [
    [whole, 401, 'invalid_api_key', 'Bearer wrong'],
    [whole, 403, 'admin_scope_denied', 'Bearer key-admin'],
    [{ heartbeat: told }, 400, 'invalid_member'],
    [{ instance: 'proxy-1' }, 400, 'invalid_member'],
    [{ instance: '', heartbeat: told }, 400, 'invalid_member'],
    [{ ...whole, address: 'http://169.254.169.254/' }, 400, 'invalid_member'],
    [{ ...whole, heartbeat: { ...told, counters: 'none' } }, 400, 'invalid_member'],
  ];
  for (const [body, status, code, authorization] of cases) {
    const answer = await plane.tell(body, authorization);
    t.match([answer.status, await answer.json()], [status, { code }], code);
  }
  t.same((await plane.look()).proxies, []);
});
