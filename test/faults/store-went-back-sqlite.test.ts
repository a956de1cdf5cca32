// The file of the embedded state store is restored from a copy: a revoked key stays revoked everywhere.
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { copyState } from '../support/state-copy.ts';
import { waitFor } from '../support/wait-for.ts';
import { paths, prepare, statusesDuring, statusWith, writeBacks } from '../support/went-back.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });

await test('while all processes run, and while none does', async (t) => {
  const fleet = await startFleet(t, { store: 'sqlite', upstream, proxies: 1 });
  const [proxy] = fleet.proxies as readonly [Gateway];
  const { revoked, kept, run } = await prepare(fleet);
  const restore = copyState(join(fleet.home, 'data'));
  await run();
  const before = await paths(fleet);
  const statuses = await statusesDuring(fleet, revoked, async () => {
    restore();
    await waitFor('the write-back', async () => (await writeBacks(fleet)) > 0);
    await fleet.recovered();
  });
  t.same([...statuses], [401]);
  t.same(await paths(fleet), before);

  await Promise.all([fleet.controlPlane.stop(), proxy.process.stop()]);
  restore();
  await proxy.restart();
  for (const key of revoked) t.equal(await statusWith(proxy, key), 401);
  await fleet.restartControlPlane();
  await fleet.recovered();
  t.same(await paths(fleet), before);
  for (const key of revoked) t.equal(await statusWith(proxy, key), 401);
  t.equal(await statusWith(proxy, kept), 200);
});
