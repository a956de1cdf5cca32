// Redis behind sentinels: everything that lies there goes on at the promoted replica, and what is wrong is said by its name.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { t as suite, test } from 'tap';
import type { RedisUrl } from '../../store/state/redis/address.ts';
import { createCertificates, type RedisServer, startRedis } from '../support/redis.ts';
import { openAll, openStore } from '../support/redis-data.ts';
import { startSentinels } from '../support/redis-fleet.ts';
import { asDocumentedUser, documentedSentinelUser, documentedUsers, userPassword } from '../support/redis-user.ts';
import { change, ids, refusal, worked } from '../support/store-calls.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(60_000);

const offset = async (server: RedisServer, client = server.client()): Promise<string> =>
  String(/master_repl_offset:(\d+)/.exec(await client.info('replication'))?.[1]);

/** From the moment that the sentinels name the promoted server until everything works there. Milliseconds. */
const goesOnMs = 1_500;

await test('a promoted replica is used within a second and a half, by everything that lies in Redis', async (t) => {
  const fleet = await startSentinels(t);
  const [primary, replica] = fleet.servers;
  const { url: redisUrl } = fleet;
  const all = openAll(t, redisUrl);
  const { store } = all;
  await change(store, 'a');
  await all.keep();
  await waitFor('the replication', async () => (await offset(primary)) === (await offset(replica)));

  await primary.kill();
  await fleet.isPrimary(replica);
  const startedMs = performance.now();
  await waitFor('a write', () => worked(() => change(store, 'b')), goesOnMs);
  t.comment(`a write after ${Math.round(performance.now() - startedMs)} ms`);
  t.same(await ids(store), ['a', 'b'], 'nothing that was replicated is lost');
  await all.goesOn(replica, 'c');

  // The former primary comes back, and an operator makes it the primary again.
  await primary.restart();
  await primary.client().call('REPLICAOF', '127.0.0.1', replica.port);
  await waitFor('it to follow', async () => (await offset(primary)) === (await offset(replica)));
  await waitFor('the sentinels to take it', () => worked(() => fleet.failOver()));
  await fleet.isPrimary(primary);
  await waitFor('a write', () => worked(() => change(store, 'd')), goesOnMs);
  t.match(await primary.client().info('replication'), /role:master/);
  t.same((await ids(store)).sort(), ['a', 'b', 'c', 'd']);
});

await test('sentinels and servers with TLS, client certificates and logins of their own', async (t) => {
  const certificates = createCertificates(temporaryDirectory(t, 'gateway-tls'));
  const { ca, cert, key } = certificates;
  const fleet = await startSentinels(t, {
    server: { tls: certificates, password: 'canary-server', args: ['--masterauth', 'canary-server'] },
    lines: [
      'user default off',
      'user watcher on >canary-sentinel allchannels +@all',
      documentedSentinelUser,
      'sentinel sentinel-user watcher',
      'sentinel sentinel-pass canary-sentinel',
    ],
    sentinelLogin: ['watcher', 'canary-sentinel'],
  });
  const url = fleet.url.replace('redis-sentinel://', 'rediss-sentinel://:canary-server@');
  const access = {
    url,
    sentinelUsername: 'gateway',
    sentinelPassword: userPassword,
    certificates: { ca, cert, key },
  };
  const store = openStore(t, access);
  await change(store, 'a');
  const [first] = fleet.sentinels;
  const said = async (given: RedisUrl): Promise<string> => {
    const error = await refusal(openStore(t, given, { timeoutMs: 800 }).read());
    t.notMatch(inspect(error, { depth: 10, showHidden: true }), /canary/);
    return `${error.reason}: ${error.message}`;
  };
  const wrongPassword = url.replace('canary-server', 'canary-wrong');
  const [sentinel, server, name, shown, authority] = await Promise.all([
    said({ ...access, sentinelPassword: 'canary-wrong' }),
    said({ ...access, url: wrongPassword }),
    said({ ...access, url: url.replace('/main', '/mian') }),
    said({ ...access, certificates: { ca } }),
    said({ ...access, certificates: { cert, key } }),
  ]);
  t.match(sentinel, /^denied: .*sentinel 127\.0\.0\.1:\d+: WRONGPASS.*REDIS_SENTINEL_PASSWORD/);
  t.match(server, `denied: the state store on the master main of the sentinels 127.0.0.1:${first?.port}, `);
  t.match(server, `(127.0.0.1:${fleet.servers[0].port}: WRONGPASS`);
  t.match(name, /sentinel .* knows no master with the name mian/);
  t.match(shown, /^denied: .*alert certificate required.*check REDIS_CERT_FILE and REDIS_KEY_FILE/);
  t.match(authority, /^denied: .*REDIS_CA_FILE/);
  await first?.kill();
  const other = openStore(t, access);
  await change(other, 'b');
  t.same(await ids(store), ['a', 'b'], 'one sentinel less is no loss');
});

await test('a primary that only the gateway still reaches is left once it has no replica', async (t) => {
  const users = [...documentedUsers, 'user operator on nopass ~* &* +@all'];
  const fleet = await startSentinels(t, { server: { users } });
  const [primary, replica] = fleet.servers;
  const store = openStore(t, asDocumentedUser(fleet));
  await change(store, 'a');
  const operator = primary.client('operator', 'any');
  await operator.config('SET', 'min-replicas-to-write', '1');
  await change(store, 'b');
  await waitFor('the replication', async () => (await offset(primary, operator)) === (await offset(replica)));
  // Neither sentinels nor the replica get in any more.
  await operator.call('ACL', 'SETUSER', 'default', 'off');
  await operator.call('CLIENT', 'KILL', 'USER', 'default');
  const cutOff = await refusal(change(store, 'c'));
  t.match(cutOff, { reason: 'read_only', message: /NOREPLICAS.*too few replicas follow it/ });
  await fleet.isPrimary(replica);
  await waitFor('a write', () => worked(() => change(store, 'd')), goesOnMs);
  t.same(await ids(store), ['a', 'b', 'd']);
  t.match(await operator.info('replication'), /role:master/, 'the former one believes to be the primary');
});

await test('sentinels that cannot be used are named', async (t) => {
  const server = await startRedis(t);
  const file = join(temporaryDirectory(t, 'gateway-sentinels'), 'sentinel.conf');
  writeFileSync(file, `sentinel monitor main 127.0.0.1 ${server.port} 1\n`);
  const sentinel = await startRedis(t, { sentinel: file });
  const dead = `redis-sentinel://127.0.0.1:1,127.0.0.1:${server.port}/main`;
  const error = await refusal(openStore(t, dead, { timeoutMs: 800 }).read());
  t.match(error.message, 'sentinel 127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1; ');
  t.match(error.message, new RegExp(`sentinel 127\\.0\\.0\\.1:${server.port}: .*; it is no sentinel`));
  const store = openStore(t, `redis-sentinel://127.0.0.1:1,127.0.0.1:${sentinel.port}/main`);
  await change(store, 'a');
  t.same(await ids(store), ['a']);
});
