// The store lost everything while no process that remembers its documents ran: that is never read as "there are none".
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { ask } from '../support/consumer.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import { type Gateway, startGateway } from '../support/gateway.ts';
import { listRules } from '../support/operator.ts';
import { freePort } from '../support/process.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const rule = { user_path: '/team', limit_key: { period: 'day' }, max_requests: 1_000 };

interface Issued {
  readonly id: string;
  readonly value: string;
}

/** A fleet with one rule and one key, both known to every process. */
async function startKnown(t: Test, store: 'sqlite' | 'redis'): Promise<{ fleet: Fleet; key: Issued; proxy: Gateway }> {
  const fleet = await startFleet(t, { store, upstream });
  await fleet.write('PUT', rule);
  const answer = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann', user_path: '/team' } });
  const key = (await answer.json()) as Issued;
  await fleet.settle();
  const [proxy] = fleet.proxies;
  if (proxy === undefined) throw new Error('no proxy');
  t.equal(await statusWith(proxy, key), 200);
  return { fleet, key, proxy };
}

async function statusWith(proxy: Gateway, { value }: Issued): Promise<number> {
  return (await ask(proxy, '/', {}, { headers: { authorization: `Bearer ${value}` } })).status;
}

async function reasons(fleet: Fleet): Promise<readonly string[]> {
  return ((await (await fleet.admin('/health/ready')).json()) as { reasons: string[] }).reasons;
}

const subjects = async (fleet: Fleet): Promise<string[]> => (await listRules(fleet)).map(({ subject }) => subject);

await test('a control plane that remembers nothing leaves the documents that proxies remember alone', async (t) => {
  const { fleet, key, proxy } = await startKnown(t, 'redis');
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
    level: 50,
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
  for (const one of fleet.proxies) {
    await one.process.kill();
    rmSync(join(fleet.home, 'data', one === proxy ? 'proxy-1' : 'proxy-2', 'last-good-state.json'));
    await one.restart();
  }
  await fleet.recovered();
  t.same(await subjects(fleet), []);
  t.equal(await statusWith(proxy, key), 401);
});

await test('the file of the store was deleted while nothing ran: rules and keys are written back', async (t) => {
  const { fleet, key, proxy } = await startKnown(t, 'sqlite');
  const data = join(fleet.home, 'data');
  await waitFor('every copy', () =>
    ['control-plane', 'proxy-1', 'proxy-2'].every((part) =>
      readdirSync(join(data, part)).includes('last-good-state.json'),
    ),
  );
  await Promise.all([fleet.controlPlane.stop(), ...fleet.proxies.map(({ process }) => process.stop())]);
  for (const name of readdirSync(data))
    if (name.startsWith('state.sqlite')) renameSync(join(data, name), join(fleet.home, name));
  // The proxies first: they find an empty store, and must not take that for an order.
  for (const one of fleet.proxies) await one.restart();
  t.equal(await statusWith(proxy, key), 200);
  await fleet.restartControlPlane();
  await fleet.recovered();
  t.same(await subjects(fleet), ['/settled', '/team']);
  for (const one of fleet.proxies) t.equal(await statusWith(one, key), 200);
  t.notOk(fleet.controlPlane.logs().some(({ msg }) => String(msg).startsWith('another state store')));
});

await test('a store that is new to every process gets its id, and is not taken for a lost one', async (t) => {
  const { fleet, key, proxy } = await startKnown(t, 'redis');
  const data = join(fleet.home, 'data');
  await Promise.all([fleet.controlPlane.kill(), ...fleet.proxies.map(({ process }) => process.kill())]);
  await fleet.redis?.client().flushall();
  rmSync(data, { recursive: true });
  for (const one of fleet.proxies) await one.restart();
  await fleet.restartControlPlane();
  await fleet.recovered();
  t.same(await subjects(fleet), []);
  t.equal(await statusWith(proxy, key), 401);
  await fleet.write('PUT', rule);
  await fleet.settle();
  t.same(await subjects(fleet), ['/settled', '/team']);
});

await test('a proxy that could not read the keys yet refuses no request for it', async (t) => {
  const { fleet, key } = await startKnown(t, 'redis');
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
  for (let count = 0; count < 30; count += 1) {
    const answer = await ask(proxy, '/', {}, { headers: { authorization: `Bearer ${key.value}` } });
    t.same([answer.status, answer.headers.get('retry-after')], [503, '1']);
    t.match(JSON.parse(answer.text), { error: { code: 'store_unavailable', type: 'provider_error' } });
  }
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
