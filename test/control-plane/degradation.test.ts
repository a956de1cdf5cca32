// What GET /admin/status says is degraded, and GET /admin/convergence of a write.
import { test } from 'tap';
import { healthy, startStatus } from './status-plane.ts';

await test('a degraded part is shown with the time of its start, until it works again', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, left_out_providers: ['b'], unusable_target_count: 2 });
  await plane.look();
  plane.at.nowMs += 2_500;
  plane.facts.readiness = { status: 'degraded', reasons: ['record_store_unavailable'] };
  await plane.beat('proxy-1', { ...healthy, left_out_providers: ['b'] });
  const [first, then] = ['2026-06-01T00:00:00.000Z', '2026-06-01T00:00:02.500Z'];
  const leftOut = { where: 'proxy-1', reason: 'providers_left_out', since: first, cause: 'b' };
  const records = { where: 'control-plane', reason: 'record_store_unavailable', since: then };
  t.strictSame((await plane.look())['degraded'], [leftOut, records]);
  plane.at.nowMs += 3_000;
  plane.facts.readiness = { status: 'ready', reasons: [] };
  const silent = { where: 'proxy-1', reason: 'silent', since: then };
  const nobody = { where: 'control-plane', reason: 'no_proxy_is_live', since: '2026-06-01T00:00:05.500Z' };
  t.strictSame((await plane.look())['degraded'], [silent, nobody]);
});

await test('guardrails that cannot work in a proxy are named', async (t) => {
  const plane = await startStatus(t);
  const ready = ['degraded', ['guardrail_unusable']] as const;
  await plane.beat('proxy-1', { ...healthy, ready, unusable_guardrails: ['advice', 'tone'] });
  t.match((await plane.look())['degraded'], [
    { where: 'proxy-1', reason: 'guardrail_unusable', cause: 'advice; tone' },
  ]);
});

await test('a proxy that has not followed a change for two seconds is behind', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1', { ...healthy, state_revision: 3 });
  t.strictSame((await plane.look())['degraded'], []);
  plane.at.nowMs += 2_001;
  await plane.beat('proxy-1', { ...healthy, state_revision: 3 });
  t.strictSame((await plane.look())['degraded'], [
    { where: 'proxy-1', reason: 'behind', since: '2026-06-01T00:00:00.000Z' },
  ]);
});

await test('how many live proxies enforce a revision', async (t) => {
  const plane = await startStatus(t);
  await plane.beat('proxy-1');
  await plane.beat('proxy-2', { ...healthy, state_revision: 3 });
  await plane.beat('proxy-3', { ...healthy, state_source: 'copy' });
  t.match(await plane.convergence(''), { state_revision: 4, proxies: { live: 3, enforcing: 1 } });
  t.match(await plane.convergence('?revision=3'), { state_revision: 3, proxies: { live: 3, enforcing: 2 } });
  t.match(await plane.convergence('?revision=x'), { code: 'invalid_query', param: 'revision' });
});
