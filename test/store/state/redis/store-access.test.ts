// The Redis store when the server does not let it in, or holds what the store has not written: poisoned, newer, or of others.

import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import type { Redis } from 'ioredis';
import { test } from 'tap';
import { parseRedisUrl } from '../../../../store/state/redis/address.ts';
import { explainRedisFailure } from '../../../../store/state/redis/failure.ts';
import { openRedisStore } from '../../../../store/state/redis/store.ts';
import { certificate } from '../../../support/certificate.ts';
import { textsOf } from '../../../support/counter-rows.ts';
import { listen } from '../../../support/ports.ts';
import { startRedis } from '../../../support/redis.ts';
import { change, commitAnyhow, ids, refusal } from '../../../support/store-calls.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { counting, hasty, keys, open, row, withUser, works } from './store-tools.ts';

await test('a change is seen without notifications too, and a user needs few rights', async (t) => {
  const rights =
    '~{gateway}:* resetchannels -@all +@read +@write +@connection +evalsha +eval +info +subscribe +publish +type -keys -flushall';
  const server = await startRedis(t, {
    users: ['user default on nopass ~* &* +@all', `user gateway on >secret ${rights}`],
  });
  const redisUrl = withUser(server, 'gateway', 'secret');
  const store = open(t, server, { redisUrl });
  const calls = await counting(store);
  const told = calls();
  await change(open(t, server, { redisUrl }), 'a');
  await waitFor('the watch', () => calls() > told, 1_000);
  t.same(await ids(store), ['a']);
  await store.writeCounters('i', { sequence: 1, nowMs: 0, removed: ['x'], rows: textsOf([row]) });
  t.same((await store.loadCounters('i')).rows, [row]);
  await store.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 });
  await store.removeHeartbeat('i');
  t.same(await store.heartbeats(), []);
  t.match(await refusal(open(t, server, { redisUrl, prefix: 'other' }).read()), { reason: 'denied' });
});

/** A refusal is told at the deadline; by then the server must have said why, on a busy machine too. */
const refused = { timeoutMs: 800 };

await test('wrong credentials are said without being shown, and forgotten when they are right', async (t) => {
  const canary = 'canary/p@ss:word';
  const server = await startRedis(t, { password: 'right' });
  const urls = [server.url, withUser(server, '', canary), withUser(server, 'canary-user', canary)];
  for (const redisUrl of urls) {
    const store = open(t, server, { redisUrl, ...refused });
    for (const ask of [() => store.read(), () => change(store, 'a')]) {
      const error = await refusal(ask());
      t.match(error, { reason: 'denied', message: /was not opened; check user, password, rights/, cause: Error });
      t.notMatch(inspect(error, { depth: 10, showHidden: true }), /canary|p%40ss/);
      t.match(error.message, `127.0.0.1:${server.port}`);
    }
  }
  const store = open(t, server, { redisUrl: withUser(server, '', canary), ...refused });
  await refusal(store.read());
  await server.client().config('SET', 'requirepass', canary);
  await works('an answer', () => change(store, 'a'));
});

await test('what an old server repeats is not shown either', async (t) => {
  const address = parseRedisUrl('redis://someone:canary@host:1');
  if (address === undefined) throw new Error('the address is not understood');
  const thrown = Object.assign(
    new Error("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'someone' 'canary'"),
    { command: { name: 'hello', args: ['3', 'AUTH', 'someone', 'canary'] } },
  );
  const error = explainRedisFailure(address, thrown);
  t.match(error, { reason: 'denied' });
  t.notMatch(inspect(error, { depth: 10, showHidden: true }), /canary|someone/);
  const bug = new TypeError('a mistake in this program');
  t.equal(explainRedisFailure(address, bug), bug, 'a mistake is not dressed up as an outage');
  t.match(explainRedisFailure(address, 'text'), { reason: 'unreachable', message: /text/ });
});

await test('TLS is used, and its certificate checked', async (t) => {
  const server = await startRedis(t, { tls: true, password: 'canary' });
  const redisUrl = withUser(server, '', 'canary');
  const distrustful = await refusal(open(t, server, { redisUrl, ...refused }).read());
  t.match(distrustful, { reason: 'denied', message: /certificate/ });
  const plain = await refusal(open(t, server, { redisUrl: redisUrl.replace('rediss:', 'redis:'), ...hasty }).read());
  t.match(plain, { name: 'StoreUnavailable' });
  t.notMatch(inspect([distrustful, plain], { depth: 10 }), /canary/);

  const trusted = getCACertificates();
  t.teardown(() => setDefaultCACertificates(trusted));
  setDefaultCACertificates([...trusted, server.authority ?? '']);
  const store = open(t, server, { redisUrl });
  await change(store, 'a');
  const calls = await counting(store);
  const told = calls();
  await change(store, 'b');
  await waitFor('the watch', () => calls() > told);
});

await test('what is wrong with a certificate is said with what helps', async (t) => {
  const said = async (from: number, to: number, name: string, trusts: boolean): Promise<string> => {
    const own = certificate(from, to, name);
    const server = createServer({ ...own });
    const port = await listen(server);
    t.teardown(() => server.close());
    const certificates = trusts ? { ca: own.cert } : {};
    const redisUrl = { url: `rediss://:canary@localhost:${port}`, certificates };
    const store = openRedisStore({ redisUrl, ...refused });
    t.teardown(() => store.close());
    const { reason, message } = await refusal(store.read());
    t.notMatch(message, /canary|BEGIN/);
    return `${reason}: ${message}`;
  };
  const [expired, other, selfSigned] = await Promise.all([
    said(2_000, 2_001, 'localhost', true),
    said(2_000, 2_100, 'other.test', true),
    said(2_000, 2_100, 'localhost', false),
  ]);
  t.match(expired, /^denied: .*certificate has expired; renew the certificate of the server/);
  t.match(other, /^denied: .*other\.test; the certificate must have the name/);
  t.match(selfSigned, /^denied: .*self-signed certificate; name the authority of its certificate in REDIS_CA_FILE/);
});

await test('keys of another type cost no more than they must', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  const client = server.client();
  for (const key of [keys.counters('i'), keys.counterExpiry('i'), keys.heartbeats, keys.heartbeatTimes]) {
    await client.set(key, 'poison');
  }
  t.same(await store.loadCounters('i'), { sequence: 0, rows: [], skipped: 1 });
  t.same(await store.heartbeats(), []);
  await store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: textsOf([row]) });
  await store.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 });
  t.same((await store.loadCounters('i')).rows, [row], 'who alone writes a key puts it right');
  t.equal((await store.heartbeats()).length, 1);

  await change(store, 'a');
  await client.rename(keys.state, 'aside');
  await client.set(keys.state, 'poison');
  for (const ask of [() => store.read(), () => store.revision(), () => change(store, 'b'), () => store.initialise()]) {
    t.match(await refusal(ask()), { reason: 'corrupt', message: /holds something that is not ours/ });
  }
  await client.rename('aside', keys.state);
  t.same(await ids(store), ['a']);
});

await test('garbage in the fields beside the documents', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  const client: Redis = server.client();
  await change(store, 'a');
  for (const garbage of ['', 'x', '-1', '1.5', '1e3', 'NaN', '99999999999999999999']) {
    await client.hset(keys.state, 'revision', garbage);
    for (const asked of [change(store, 'b'), store.read(), store.revision()]) {
      t.match(await refusal(asked), { reason: 'corrupt' }, `revision ${garbage}`);
    }
  }
  await client.hset(keys.state, 'revision', '7');
  for (const garbage of ['', 'x', '-1', '1.5', 'NaN', 'nan', 'inf', '1e999', '99999999999999999999']) {
    await client.hset(keys.state, 'kind:rule', garbage);
    const state = await store.read();
    t.equal(state.kinds.get('rule') ?? 0, 0, `kind ${garbage}`);
    const result = await commitAnyhow(store, {
      expected: new Map([['rule', 0]]),
      changes: [{ kind: 'rule', id: 'a', body: 1 }],
    });
    t.ok('revision' in result, `a commit puts kind ${garbage} right`);
  }
  await client.hset(keys.state, 'unknown', 'x', 'document:garbage', '{"revision":1,"body":1}', 'document:[1,2]', '{}');
  t.match(await store.read(), {
    documents: [{ id: 'a' }],
    skipped: [
      { kind: '', id: '[1,2]' },
      { kind: '', id: 'garbage' },
    ],
  });
});

await test('what a newer version wrote is left alone', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  await change(store, 'a');
  const state = await store.read();
  const client = server.client();
  await client.hset(keys.state, 'version', '2');
  for (const ask of [
    () => store.read(),
    () => store.revision(),
    () => change(store, 'b'),
    () => store.initialise(),
    () => store.rewrite(state, state),
  ]) {
    t.match(await refusal(ask()), { reason: 'newer_schema', message: /newer version of the gateway/ });
  }
  await client.hset(keys.state, 'version', '1');
  t.same(await store.read(), state);
});

await test('gateways with different prefixes share a server, not their state', async (t) => {
  const server = await startRedis(t);
  const [one, two] = [open(t, server, { prefix: 'one' }), open(t, server, { prefix: 'two' })];
  const calls = await counting(two);
  const told = calls();
  await change(one, 'a');
  await one.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 });
  t.same(await two.heartbeats(), []);
  t.match(await two.read(), { storeId: undefined, documents: [] });
  await change(two, 'b');
  await waitFor('the watch', () => calls() > told);
  t.same(await ids(one), ['a']);
  t.same((await server.client().keys('*')).sort(), [
    '{one}:heartbeat-times',
    '{one}:heartbeats',
    '{one}:state',
    '{two}:state',
  ]);
});

await test('counters of an instance that is gone are forgotten a day after they are worth anything', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  const client = server.client();
  const day = 86_400_000;
  // In the ring until 161,000 ms.
  await store.writeCounters('i', { sequence: 1, nowMs: 101_000, removed: [], rows: textsOf([row]) });
  for (const key of [keys.counters('i'), keys.counterExpiry('i')]) {
    const left = await client.pttl(key);
    t.ok(left > day + 50_000 && left <= day + 60_000, `${key}: ${left}`);
  }
  await store.writeCounters('i', { sequence: 2, nowMs: 200_000, removed: [], rows: [] });
  t.ok((await client.pttl(keys.counters('i'))) <= day);
  t.same(await client.hkeys(keys.counters('i')), ['sequence']);
});

await test('options that make no sense are refused at once, without showing a password', async (t) => {
  for (const redisUrl of ['', 'http://:canary@host', 'redis://canary@host']) {
    t.throws(() => openRedisStore({ redisUrl }), TypeError);
    t.throws(() => openRedisStore({ redisUrl }), { message: /^(?!.*canary)/ });
  }
  t.throws(() => openRedisStore({ redisUrl: 'redis://host', prefix: '{x}' }), TypeError);
});
