// The gateway's own secrets in files, rotated in a running fleet: the master key at the planes one after the other, and the password of Redis.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, type Test, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { type Fleet, startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import type { AdminDoor } from '../support/operator.ts';
import type { RunningProcess } from '../support/process.ts';
import { type RedisServer, startRedis } from '../support/redis.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(100_000);
const upstream = await startFakeUpstream({ t: suite });
const [first, second, third] = ['canary-master-first-01', 'canary-master-second-02', 'canary-master-third-03'];

/** A directory of secret files; an edit replaces the file, as editors do. */
function secretsIn(t: Test, name: string) {
  const folder = temporaryDirectory(t, name);
  mkdirSync(folder, { recursive: true });
  const path = (secret: string): string => join(folder, secret);
  return {
    path,
    write(secret: string, value: string): void {
      writeFileSync(path(`${secret}.new`), value);
      renameSync(path(`${secret}.new`), path(secret));
    },
  };
}

/** The way to a proxy. */
const doorOf =
  (proxy: Gateway): AdminDoor =>
  (path, init) =>
    proxy.fetch(path, init);

/** The status of a request with this master key. */
async function statusWith(door: AdminDoor, path: string, key: string): Promise<number> {
  const response = await door(path, { headers: { authorization: `Bearer ${key}` } });
  await response.text();
  return response.status;
}

const reasonsOf = async (door: AdminDoor): Promise<readonly string[]> =>
  ((await (await door('/health/ready')).json()) as { reasons: string[] }).reasons;

interface Status {
  readonly secret_problems: readonly string[];
  readonly proxies: readonly { readonly secret_problems: readonly string[]; readonly master_key_matches?: boolean }[];
}

async function statusOf(fleet: Fleet, key: string): Promise<Status> {
  const response = await fleet.admin('/admin/status', { headers: { authorization: `Bearer ${key}` } });
  return (await response.json()) as Status;
}

const linesWith = ({ stdout }: RunningProcess, text: RegExp): readonly string[] =>
  stdout.filter((line) => text.test(line));

await test('a master key is rotated under a fleet: the planes take it one after the other, and no key or rule is lost', async (t) => {
  // The secrets of each machine change at another moment, as those of nodes of a cluster do.
  const files = { one: secretsIn(t, 'secrets-1'), two: secretsIn(t, 'secrets-2'), control: secretsIn(t, 'secrets-c') };
  for (const each of Object.values(files)) each.write('key', `${first}\n`);
  const fleet = await startFleet(t, {
    store: 'redis',
    upstream,
    env: { GATEWAY_MASTER_KEY: undefined, GATEWAY_MASTER_KEY_FILE: files.control.path('key') },
  });
  const [one, two] = fleet.proxies as readonly [Gateway, Gateway];
  await Promise.all([
    one.restart({ GATEWAY_MASTER_KEY_FILE: files.one.path('key') }),
    two.restart({ GATEWAY_MASTER_KEY_FILE: files.two.path('key') }),
  ]);
  const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
  const issue = async (key: string): Promise<string> => {
    const response = await fleet.admin('/admin/auth-keys', { method: 'POST', body: { name: 'ann' }, ...as(key) });
    return ((await response.json()) as { value: string }).value;
  };
  const isLetIn = async (value: string): Promise<boolean> =>
    (await Promise.all([one, two].map((proxy) => statusWith(doorOf(proxy), '/v1/models', value)))).every(
      (each) => each === 200,
    );
  const ann = await issue(first);
  await waitFor('the key to be known', () => isLetIn(ann));

  files.control.write('key', second);
  const isRenewed = (): boolean => linesWith(fleet.controlPlane, /the renewed master key is in force/).length === 1;
  await waitFor('the control plane', isRenewed, 2_500);
  t.equal(await statusWith(fleet.admin, '/admin/status', second), 200);
  t.equal(await statusWith(fleet.admin, '/admin/status', first), 401, 'the old key ends there and then');
  await waitFor('what the proxies say', async () => {
    const { proxies } = await statusOf(fleet, second);
    return proxies.length === 2 && proxies.every(({ master_key_matches: matches }) => matches === false);
  });
  const bob = await issue(second);
  await waitFor('a key that was issued meanwhile', () => isLetIn(bob));
  t.ok(await isLetIn(ann), 'documents keep the seal that the proxies know');

  files.one.write('key', second);
  await waitFor('a proxy', async () => (await statusWith(doorOf(one), '/v1/models', second)) === 200, 2_500);
  t.equal(await statusWith(doorOf(one), '/v1/models', first), 401);
  t.ok(await isLetIn(ann), 'one proxy has the new key, the other has not');
  t.same(linesWith(fleet.controlPlane, /were sealed with GATEWAY_MASTER_KEY/), []);

  files.two.write('key', second);
  await waitFor(
    'new seals',
    () => linesWith(fleet.controlPlane, /were sealed with GATEWAY_MASTER_KEY/).length === 1,
    5_000,
  );
  await waitFor('every plane to be well', async () => {
    const reasons = await Promise.all([fleet.admin, doorOf(one), doorOf(two)].map(reasonsOf));
    return reasons.flat().length === 0;
  });
  t.ok((await isLetIn(ann)) && (await isLetIn(bob)));
  await one.restart();
  t.ok((await isLetIn(ann)) && (await isLetIn(bob)), 'the new key alone opens what is stored');
  t.equal(linesWith(fleet.controlPlane, /keep the seal of the previous master key/).length, 1);

  // What cannot be used changes nothing.
  for (const [content, reason] of [
    ['', 'is empty'],
    ['two words', 'holds a blank'],
  ] as const) {
    files.one.write('key', content);
    await waitFor('the reason', async () => (await reasonsOf(doorOf(one))).includes('secret_file_unusable'), 2_500);
    await waitFor('the sentence', async () => {
      const said = (await statusOf(fleet, second)).proxies.flatMap((proxy) => proxy.secret_problems);
      return said.some((sentence) => sentence.startsWith(`GATEWAY_MASTER_KEY_FILE names a file that ${reason}`));
    });
    t.equal(await one.metric('gateway_secret_files_unusable'), 1);
    t.equal(await statusWith(doorOf(one), '/v1/models', second), 200);
    files.one.write('key', second);
    await waitFor('the end of it', async () => (await reasonsOf(doorOf(one))).length === 0, 2_500);
  }
  const errors = one.process.logs().filter(({ level, file }) => level === 'error' && file === files.one.path('key'));
  t.equal(errors.length, 2, 'a line for each');
  files.one.write('key', third);
  await waitFor('the next key', async () => (await statusWith(doorOf(one), '/v1/models', third)) === 200, 2_500);
  const said = [one.process, two.process, fleet.controlPlane].flatMap(({ stdout, stderr }) => [...stdout, ...stderr]);
  t.notMatch([...said, await one.metrics()].join('\n'), /canary-master|two words/);
});

await test('the password of Redis is rotated under a fleet: rules, keys, counters and their following survive', async (t) => {
  const redis = await startRedis(t, { users: ['user gateway on >canary-old ~* &* +@all'] });
  const secrets = secretsIn(t, 'secrets-redis');
  const urlWith = (password: string, { port }: Pick<RedisServer, 'port'> = redis): string =>
    `redis://gateway:${password}@127.0.0.1:${port}/0`;
  secrets.write('url', urlWith('canary-old'));
  const fleet = await startFleet(t, {
    store: 'redis',
    redis,
    upstream,
    proxies: 1,
    env: { REDIS_URL: undefined, REDIS_URL_FILE: secrets.path('url') },
  });
  const [proxy] = fleet.proxies as readonly [Gateway];
  const planes = [proxy.process, fleet.controlPlane];
  const rule = (max: number) => ({ user_path: '/team', period: 'day', max_requests: max });
  const left = async (): Promise<string | null> => {
    const body = { model: 'fake/fake-small', messages: [{ role: 'user', content: 'hello' }] };
    const headers = { 'x-gateway-user-path': '/team' };
    const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', body, headers });
    await response.text();
    return response.headers.get('x-ratelimit-remaining-requests');
  };
  await fleet.write('PUT', rule(100));
  await fleet.settle();
  t.equal(await left(), '99');

  // A password that Redis does not have yet: what is connected stays in use, and it is said once.
  const admin = redis.client();
  secrets.write('url', urlWith('canary-new'));
  await waitFor('every plane to say so', async () => {
    const reasons = await Promise.all([doorOf(proxy), fleet.admin].map(reasonsOf));
    return reasons.every((each) => each.includes('secret_file_unusable'));
  });
  await fleet.write('PUT', rule(90));
  await fleet.settle();
  t.equal(await left(), '88', 'writes and their following go on');
  for (const plane of planes) t.equal(linesWith(plane, /REDIS_URL_FILE .* does not work yet/).length, 1);

  await admin.call('ACL', 'SETUSER', 'gateway', 'resetpass', '>canary-new');
  await waitFor('the new connection', () =>
    planes.every((plane) => linesWith(plane, /the renewed address of Redis is in use/).length === 1),
  );
  // From now on nothing but the new connections can serve.
  const connections = async (): Promise<number> =>
    String(await admin.call('CLIENT', 'LIST'))
      .split('\n')
      .filter((line) => line.includes('user=gateway')).length;
  // Of each plane two for the state and one for its journal, and one that reads all journals. Subscriptions open last.
  await waitFor('the connections of both planes, the former ones closed', async () => (await connections()) === 7);
  await fleet.write('PUT', rule(80));
  await fleet.settle();
  t.equal(await left(), '77');
  await proxy.restart();
  t.equal(await left(), '76', 'the counter was written, and read with the new password');
  await fleet.recovered();

  secrets.write('url', 'no-address-canary');
  await waitFor(
    'the error',
    () => linesWith(proxy.process, /REDIS_URL_FILE names a file that holds no address/).length === 1,
    2_500,
  );
  t.equal(await left(), '75');
  const said = planes.flatMap(({ stdout, stderr }) => [...stdout, ...stderr]);
  t.notMatch([...said, await proxy.metrics()].join('\n'), /canary/);
});
