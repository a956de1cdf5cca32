// A fleet on a Redis behind sentinels: the primary falls silent, and the replica that is promoted has missed the last changes.
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { startSentinels } from '../support/redis-fleet.ts';
import { waitFor } from '../support/wait-for.ts';
import { paths, prepare, saidToBeBehind, statusesDuring, statusWith, writeBacks } from '../support/went-back.ts';

suite.setTimeout(100_000);

await test('a fleet goes on at a promoted replica, and what that one missed is written back', async (t) => {
  const upstream = await startFakeUpstream({ t });
  // A replica that has been cut off for ten times as long is not promoted.
  const sentinels = await startSentinels(t, { downAfterMs: 500 });
  const [primary, replica] = sentinels.servers;
  const redis = { ...primary, url: sentinels.url };
  const fleet = await startFleet(t, { store: 'redis', redis, upstream, proxies: 1 });
  const { revoked, kept, run } = await prepare(fleet);
  const offset = async (server: typeof primary): Promise<string | undefined> =>
    /master_repl_offset:(\d+)/.exec(await server.client().info('replication'))?.[1];
  const admin = primary.client();
  await waitFor('the replication', async () => (await offset(primary)) === (await offset(replica)));
  await admin.call('ACL', 'SETUSER', 'default', '-psync', '-sync');
  await admin.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await run();
  const before = await paths(fleet);

  let startedMs = 0;
  const outcomes = new Set<number>();
  const statuses = await statusesDuring(fleet, revoked, async () => {
    primary.freeze();
    const failedOver = sentinels.isPrimary(replica);
    for (let isOver = false; !isOver; ) {
      for (const proxy of fleet.proxies) outcomes.add(await statusWith(proxy, kept));
      isOver = await Promise.race([failedOver.then(() => true), new Promise<false>((go) => setTimeout(go, 20, false))]);
    }
    startedMs = performance.now();
    await waitFor('the write-back', async () => (await writeBacks(fleet)) > 0);
    await fleet.recovered();
  });
  t.comment(`all is well ${Math.round(performance.now() - startedMs)} ms after the sentinels named the replica`);
  t.same([...outcomes], [200], 'clients were served all the time');
  t.same([...statuses], [401], 'revoked keys were refused all the time');
  t.same(await paths(fleet), before, 'no change was lost');
  t.ok(saidToBeBehind(fleet));
  const listening = async (): Promise<number> =>
    Number((await replica.client().pubsub('NUMSUB', '{gateway}:changed'))[1]);
  await waitFor('both planes to listen there', async () => (await listening()) === 2, 3_000);
  await fleet.write('PUT', { user_path: '/later', limit_key: { period: 'day' }, max_requests: 1 });
  await fleet.settle();
});
