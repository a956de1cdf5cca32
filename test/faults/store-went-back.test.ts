// Redis comes back as it was before: with a snapshot, or as a replica that lagged. A revoked key stays revoked everywhere.
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { type RedisServer, startDetour, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { paths, prepare, saidToBeBehind, statusesDuring, statusWith, writeBacks } from '../support/went-back.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });

/** A Redis whose address may lead to another server. */
interface Pair {
  readonly servers: readonly [RedisServer, RedisServer];
  readonly leadTo: (server: RedisServer) => void;
  readonly redis: RedisServer;
}

async function startPair(): Promise<Pair> {
  const servers = [await startRedis(suite), await startRedis(suite)] as const;
  const target = { port: servers[0].port };
  const detour = await startDetour(suite, target);
  return {
    servers,
    leadTo: ({ port }) => {
      target.port = port;
    },
    redis: { ...servers[0], url: detour.url },
  };
}

const pair = await startPair();
const [primary, replica] = pair.servers;
const onRedis = await startFleet(suite, { store: 'redis', redis: pair.redis, upstream });

await test('a Redis that starts with an older snapshot', async (t) => {
  const fleet = onRedis;
  const { revoked, kept, run } = await prepare(fleet);
  await primary.client().save();
  await run();
  const before = await paths(fleet);
  const statuses = await statusesDuring(fleet, revoked, async () => {
    await primary.restart();
    await waitFor('the write-back', async () => (await writeBacks(fleet)) > 0);
    await fleet.recovered();
  });
  t.same([...statuses], [401], 'the revoked keys were refused all the time');
  t.same(await paths(fleet), before);
  for (const proxy of fleet.proxies) t.equal(await statusWith(proxy, kept), 200);
  t.ok(saidToBeBehind(fleet));
  t.equal(await fleet.proxies[0]?.metric('gateway_state_store_behind'), 0, 'by now');
  const listed = (await (await fleet.admin(`/admin/auth-keys/${revoked[0]?.id}`)).json()) as object;
  t.match(listed, { active: false });
  t.equal((await fleet.admin(`/admin/auth-keys/${revoked[1]?.id}`)).status, 404);
});

await test('the snapshot comes back while the control plane is down, and a proxy restarts on it', async (t) => {
  const fleet = onRedis;
  const [proxy] = fleet.proxies as readonly [Gateway, Gateway];
  const { revoked, run } = await prepare(fleet);
  await primary.client().save();
  await run();
  await fleet.controlPlane.kill();
  await proxy.process.kill();
  // It would come with a copy of its own.
  rmSync(join(fleet.home, 'data', 'control-plane', 'last-good-state.json'));
  await primary.restart();
  await proxy.restart();
  for (const key of revoked) t.equal(await statusWith(proxy, key), 401, 'as its copy says');
  await fleet.restartControlPlane();
  await fleet.recovered();
  for (const each of fleet.proxies) for (const key of revoked) t.equal(await statusWith(each, key), 401);
  t.ok((await paths(fleet)).includes('/made'), 'a proxy has written back what the control plane did not know');
});

await test('a replica that lagged is promoted', async (t) => {
  const fleet = onRedis;
  const { revoked, run } = await prepare(fleet);
  const follower = replica.client();
  const slow = await startDetour(suite, primary);
  await follower.replicaof('127.0.0.1', new URL(slow.url).port);
  const revision = await primary.client().hget('{gateway}:state', 'revision');
  await waitFor('the replica', async () => (await follower.hget('{gateway}:state', 'revision')) === revision);
  slow.silence();
  await run();
  const before = await paths(fleet);
  const written = await writeBacks(fleet);
  const statuses = await statusesDuring(fleet, revoked, async () => {
    pair.leadTo(replica);
    await follower.replicaof('NO', 'ONE');
    await primary.kill();
    await waitFor('the write-back', async () => (await writeBacks(fleet)) > written);
    await fleet.recovered();
  });
  t.same([...statuses], [401]);
  t.same(await paths(fleet), before);
});
