// The store lost everything while no process that remembers its documents ran: that is never read as "there are none".
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { scenarioStores } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { listRules } from '../support/operator.ts';
import { freePort } from '../support/process.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const rule = { user_path: '/team', limit_key: { period: 'day' }, max_requests: 1_000 };

interface Issued {
  readonly id: string;
  readonly value: string;
}

/** A fleet of one proxy. */
interface Stand {
  readonly fleet: Fleet;
  readonly proxy: Gateway;
}

async function startStand(t: Teardown, store: 'sqlite' | 'redis'): Promise<Stand> {
  const fleet = await startFleet(t, { store, upstream, proxies: 1 });
  const [proxy] = fleet.proxies;
  if (proxy === undefined) throw new Error('no proxy');
  return { fleet, proxy };
}

/** Makes one rule and one key that every process knows. */
async function makeKnown({ fleet, proxy }: Stand): Promise<Issued> {
  await fleet.write('PUT', rule);
  const answer = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann', user_path: '/team' } });
  const key = (await answer.json()) as Issued;
  await fleet.settle();
  const status = await statusWith(proxy, key);
  if (status !== 200) throw new Error(`the key got ${status}`);
  return key;
}

async function statusWith(proxy: Gateway, { value }: Issued): Promise<number> {
  return (await ask(proxy, '/', {}, { headers: { authorization: `Bearer ${value}` } })).status;
}

async function reasons(fleet: Fleet): Promise<readonly string[]> {
  return ((await (await fleet.admin('/health/ready')).json()) as { reasons: string[] }).reasons;
}

/** For all tests on Redis: each makes what it loses. */
const onRedis = await startStand(suite, 'redis');

const subjects = async (fleet: Fleet): Promise<string[]> => (await listRules(fleet)).map(({ subject }) => subject);

await test('a control plane that remembers nothing leaves the documents that proxies remember alone', async (t) => {
  const { fleet, proxy } = onRedis;
  await fleet.recovered();
  t.same(await subjects(fleet), [], 'a store that is new to every process is not taken for a lost one');
  const key = await makeKnown(onRedis);
  const own = join(fleet.home, 'data', 'control-plane');
  await waitFor('a copy of the proxy', () =>
    readdirSync(join(fleet.home, 'data', 'proxy-1')).includes('last-good-state.json'),
  );
  const lose = async (): Promise<void> => {
    await fleet.controlPlane.kill();
    await fleet.redis?.client().flushall();
    rmSync(own, { recursive: true });
    await fleet.restartControlPlane();
    await waitFor('it to say so', async () => (await reasons(fleet)).includes('state_store_emptied'));
  };
  await lose();
  const complaint = fleet.controlPlane.logs().find(({ msg }) => String(msg).startsWith('the state store is empty'));
  t.match(complaint, {
    level: 'error',
    msg: /copy a proxy's last-good-state\.json into .*control-plane .* remove that file/,
  });
  const status = (await (await fleet.admin('/admin/status')).json()) as { store: object };
  t.match(status.store, { status: 'emptied' });
  for (const [method, path, body] of [
    ['GET', '/admin/rate-limits', undefined],
    ['PUT', '/admin/rate-limits', rule],
    ['POST', '/admin/auth-keys', { name: 'eve' }],
  ] as const) {
    const refused = await fleet.admin(path, { method, ...(body === undefined ? {} : { body }) });
    t.match(await refused.json(), { status_code: 503, code: 'store_unavailable' }, `${method} ${path}`);
  }
  t.equal(await statusWith(proxy, key), 200, 'the key goes on');

  // What the complaint says to do: bring them back,
  await fleet.controlPlane.kill();
  mkdirSync(own, { recursive: true });
  copyFileSync(join(fleet.home, 'data', 'proxy-1', 'last-good-state.json'), join(own, 'last-good-state.json'));
  await fleet.restartControlPlane();
  await fleet.recovered();
  t.same(await subjects(fleet), ['/settled', '/team']);
  t.equal(await statusWith(proxy, key), 200);
  t.equal((await fleet.admin(`/admin/auth-keys/${key.id}`)).status, 200);

  // or begin with none.
  await lose();
  await proxy.process.kill();
  rmSync(join(fleet.home, 'data', 'proxy-1', 'last-good-state.json'));
  await proxy.restart();
  await fleet.recovered();
  t.same(await subjects(fleet), []);
  t.equal(await statusWith(proxy, key), 401);
});

/** Removes everything that lies in the store. */
async function empty({ home, redis }: Fleet): Promise<void> {
  await redis?.client().flushall();
  const data = join(home, 'data');
  for (const name of readdirSync(data))
    if (name.startsWith('state.sqlite')) renameSync(join(data, name), join(home, name));
}

for (const store of scenarioStores) {
  await test(`everything in ${store} was deleted while nothing ran: rules and keys are written back`, async (t) => {
    const stand = store === 'redis' ? onRedis : await startStand(t, store);
    const { fleet, proxy } = stand;
    const key = await makeKnown(stand);
    const data = join(fleet.home, 'data');
    await waitFor('every copy', () =>
      ['control-plane', 'proxy-1'].every((part) => readdirSync(join(data, part)).includes('last-good-state.json')),
    );
    await Promise.all([fleet.controlPlane.stop(), proxy.process.stop()]);
    await empty(fleet);
    // The proxy first: it finds an empty store, and must not take that for an order.
    await proxy.restart();
    t.equal(await statusWith(proxy, key), 200);
    await fleet.restartControlPlane();
    await fleet.recovered();
    t.same(await subjects(fleet), ['/settled', '/team']);
    t.equal(await statusWith(proxy, key), 200);
    t.notOk(fleet.controlPlane.logs().some(({ msg }) => String(msg).startsWith('another state store')));
  });
}

await test('a proxy that could not read the keys yet refuses no request for it', async (t) => {
  const { fleet } = onRedis;
  const key = await makeKnown(onRedis);
  const redisPort = await freePort();
  const home = temporaryDirectory(t);
  const proxy = await startGateway(t, {
    upstream,
    env: {
      GATEWAY_DATA: home,
      GATEWAY_INSTANCE: 'late',
      GATEWAY_CONTROL_PLANE_URL: fleet.controlPlane.address,
      REDIS_URL: `redis://127.0.0.1:${redisPort}`,
    },
  });
  const answers: unknown[] = [];
  for (let count = 0; count < 10; count += 1) {
    const { status, headers, text } = await ask(proxy, '/', {}, { headers: { authorization: `Bearer ${key.value}` } });
    const { error } = JSON.parse(text) as { error: { code: string; type: string } };
    answers.push([status, headers.get('retry-after'), error.code, error.type]);
  }
  t.same(
    answers,
    answers.map(() => [503, '1', 'store_unavailable', 'provider_error']),
    'told to come back, never refused',
  );
  t.equal((await ask(proxy, '/')).status, 200, 'the master key needs no store');
  const toRedis = createServer((socket) => {
    const server = connect(Number(new URL(fleet.redis?.url ?? '').port), '127.0.0.1');
    for (const end of [socket, server]) end.on('error', () => undefined);
    socket.pipe(server).pipe(socket);
    t.teardown(() => [socket.destroy(), server.destroy()]);
  });
  t.teardown(() => toRedis.close());
  await new Promise<void>((listening) => toRedis.listen(redisPort, '127.0.0.1', listening));
  await waitFor('the keys to be known', async () => (await statusWith(proxy, key)) === 200);
});
