// The Redis store when the server is the problem: gone, killed, emptied, frozen, read-only, full, locked, poisoned, or newer.
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inspect } from 'node:util';
import type { Redis } from 'ioredis';
import { type Test, test } from 'tap';
import { parseRedisUrl } from '../../../../store/state/redis/address.ts';
import { explainRedisFailure } from '../../../../store/state/redis/failure.ts';
import { redisKeys } from '../../../../store/state/redis/keys.ts';
import { openRedisStore, type RedisStoreOptions } from '../../../../store/state/redis/store.ts';
import type { StateStore } from '../../../../store/state/state-store.ts';
import { startProcess } from '../../../support/process.ts';
import { type RedisServer, startRedis } from '../../../support/redis.ts';
import { change, commitAnyhow, ids, refusal } from '../../../support/store-calls.ts';
import { waitFor } from '../../../support/wait-for.ts';

/** For tests of deadlines; the others have time. */
const hasty = { timeoutMs: 250 };
/** What a machine with other work may add to a deadline. */
const graceMs = 500;
const keys = redisKeys('gateway');

function open(t: Test, { url }: RedisServer, more: Partial<RedisStoreOptions> = {}): StateStore {
  const store = openRedisStore({ redisUrl: url, timeoutMs: 10_000, pollMs: 20, ...more });
  t.teardown(() => store.close());
  return store;
}

/** The server's address with credentials. */
function withUser({ url }: RedisServer, user: string, password: string): string {
  return url.replace('://', `://${encodeURIComponent(user)}:${encodeURIComponent(password)}@`);
}

/** Waits until the operation no longer rejects. */
async function works<Result>(what: string, ask: () => Promise<Result>, deadlineMs = 10_000): Promise<Result> {
  let result: { readonly value: Result } | undefined;
  await waitFor(
    what,
    async () => {
      result = await ask().then(
        (value) => ({ value }),
        () => undefined,
      );
      return result !== undefined;
    },
    deadlineMs,
  );
  if (result === undefined) throw new Error(`${what} gave nothing`);
  return result.value;
}

function counting(store: StateStore): Promise<() => number> {
  let calls = 0;
  store.watch(() => {
    calls += 1;
  });
  return waitFor('the watch', () => calls > 0).then(() => () => calls);
}

const row = { key: 'k', epoch: 0, child: '', periodSeconds: 60, requests: [[100, 1]], tokens: [] } as const;

await test('a server that is not there yet is waited for, one deadline at a time', async (t) => {
  const server = await startRedis(t);
  await server.kill();
  const store = open(t, server, hasty);
  let calls = 0;
  store.watch(() => {
    calls += 1;
  });
  await refusal(store.read());
  for (const ask of [() => store.read(), () => change(store, 'a'), () => store.heartbeats()]) {
    const started = performance.now();
    const error = await refusal(ask());
    t.ok(performance.now() - started < hasty.timeoutMs + graceMs);
    t.match(error, {
      reason: 'unreachable',
      message: /cannot be reached; check that it runs/,
      cause: { code: 'ECONNREFUSED' },
    });
  }
  t.ok(calls <= 1, 'the watch has begun, and has nothing more to tell');
  const before = calls;
  await server.restart();
  await works('an answer', () => change(store, 'a'));
  t.same(await ids(open(t, server)), ['a']);
  await waitFor('the watch', () => calls > before);
});

await test('no acknowledged commit is lost or doubled when the server is killed and comes back', async (t) => {
  const server = await startRedis(t, { appendOnly: true });
  const store = open(t, server, hasty);
  let acked = 0;
  let tried = 0;
  const stop = new AbortController();
  const writing = (async () => {
    while (!stop.signal.aborted) {
      tried += 1;
      const id = String(tried);
      await change(store, id).then(
        () => {
          acked += 1;
        },
        () => undefined,
      );
    }
  })();
  for (let round = 0; round < 3; round += 1) {
    const before = acked;
    await waitFor('commits', () => acked >= before + 50);
    await server.kill();
    await server.restart();
    await works('an answer', () => store.revision());
  }
  stop.abort();
  await writing;
  const { revision, documents } = await open(t, server).read();
  t.equal(revision, documents.length, 'every commit raised the revision once');
  t.ok(documents.length >= acked && documents.length <= tried, `${acked} acknowledged, ${documents.length} there`);
});

await test('a watch tells that the store was lost and is back, though nothing changed', async (t) => {
  const server = await startRedis(t, { appendOnly: true });
  const patient = open(t, server);
  const store = open(t, server, hasty);
  await change(patient, 'a');
  const before = await patient.revision();
  const calls = await counting(store);
  const told = calls();
  await server.kill();
  const error = await refusal(store.read());
  t.match(error, { reason: 'unreachable' });
  t.notMatch(error.message, /Stream|offline/i);
  await waitFor('the watch to tell of the loss', () => calls() > told);
  const lost = calls();
  for (let attempt = 0; attempt < 3; attempt += 1) await refusal(store.read());
  t.equal(calls(), lost, 'once');
  await server.restart();
  await waitFor('the watch', () => calls() > lost);
  t.same(await patient.revision(), before);
});

await test('a watch takes nothing for granted behind another connection', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server, { pollMs: 60_000 });
  await change(store, 'a');
  const calls = await counting(store);
  const client = server.client();
  await waitFor('the subscription', async () => Number((await client.pubsub('NUMSUB', keys.changed))[1]) > 0);
  const told = calls();
  await client.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
  await waitFor('the watch', () => calls() > told);
});

await test('a server that lost everything is recognised', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  await change(store, 'a');
  const before = await store.read();
  const calls = await counting(store);
  const told = calls();
  await server.restart();
  await waitFor('the watch', () => calls() > told);
  t.match(await works('an answer', () => store.read()), { storeId: undefined, revision: 0, documents: [] });
  t.ok(await store.reseed(before));
  t.match(await store.read(), { storeId: before.storeId, revision: 2, documents: before.documents });
});

await test('a replica takes no writes, but can be read; as a primary it is whole again', async (t) => {
  const server = await startRedis(t, { args: ['--replica-serve-stale-data', 'yes'] });
  const store = open(t, server);
  await change(store, 'a');
  const client = server.client();
  await client.call('REPLICAOF', '127.0.0.1', '1');
  for (const ask of [
    () => change(store, 'b'),
    () => store.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 }),
    () => store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: [row] }),
  ]) {
    t.match(await refusal(ask()), { reason: 'read_only', message: /takes no writes; let REDIS_URL name a primary/ });
    t.same(await works('a read', () => ids(store)), ['a']);
  }
  const connections = async (): Promise<number> =>
    Number(/total_connections_received:(\d+)/.exec(await client.info('stats'))?.[1]);
  const before = await connections();
  await refusal(change(store, 'b'));
  await works('a read', () => ids(store));
  t.ok((await connections()) > before, 'the name may lead to another primary by now');
  await client.call('REPLICAOF', 'NO', 'ONE');
  await works('a write', () => change(store, 'b'));
  t.same(await ids(store), ['a', 'b']);
});

await test('a full server can still be read and emptied', async (t) => {
  const server = await startRedis(t, { args: ['--maxmemory-policy', 'noeviction'] });
  const store = open(t, server);
  await change(store, 'a');
  await change(store, 'b');
  const client = server.client();
  await client.config('SET', 'maxmemory', '1');
  t.match(await refusal(change(store, 'c')), { reason: 'full', message: /is full; give it more memory/ });
  t.match(await refusal(store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: [row] })), {
    reason: 'full',
  });
  t.same(await ids(store), ['a', 'b'], 'nothing was half done');
  t.equal((await store.revision()).revision, 2);
  await commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'rule', id: 'a', body: undefined }] });
  t.same(await ids(store), ['b']);
  await client.config('SET', 'maxmemory', '0');
  await change(store, 'c');
  t.same(await ids(store), ['b', 'c']);
});

await test('a state that is larger than one answer may be is read as of one moment, while others write', async (t) => {
  const server = await startRedis(t);
  const [store, writer] = [open(t, server), open(t, server)];
  const reason = 'x'.repeat(15_000);
  for (let first = 0; first < 1_600; first += 100) {
    const changes = Array.from({ length: 100 }, (_, index) => ({
      kind: 'rule',
      id: `${first + index}`,
      body: { reason },
    }));
    await commitAnyhow(store, { expected: new Map(), changes });
  }
  const stop = new AbortController();
  let number = 0;
  const writing = (async () => {
    while (!stop.signal.aborted) {
      number += 1;
      const changes = ['left', 'right'].map((id) => ({ kind: 'pair', id, body: number }));
      await commitAnyhow(writer, { expected: new Map(), changes });
    }
  })();
  const { documents } = await works('a reading', () => store.read());
  stop.abort();
  await writing;
  t.equal(documents.filter(({ kind }) => kind === 'rule').length, 1_600);
  const pair = documents.filter(({ kind }) => kind === 'pair').map(({ body }) => body);
  t.equal(pair[0], pair[1], 'both of one commit');
});

await test('a frozen server costs one deadline each time, piles up nothing, and is used again', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server, hasty);
  await works('an answer', () => change(store, 'a'));
  const calls = await counting(store);
  server.freeze();
  const started = performance.now();
  let slowest = 0;
  let attempts = 0;
  const large = {
    key: 'k'.repeat(1_000),
    epoch: 0,
    child: '',
    periodSeconds: 60,
    requests: [[1, 1]],
    tokens: [],
  } as const;
  while (performance.now() - started < 2_000) {
    const began = performance.now();
    const rows = Array.from({ length: 1_000 }, (_, index) => ({ ...large, child: `${index}` }));
    attempts += 1;
    const write = store.writeCounters('i', { sequence: attempts, nowMs: 0, removed: [], rows });
    t.match(await refusal(write), { name: 'StoreUnavailable' });
    slowest = Math.max(slowest, performance.now() - began);
  }
  t.ok(slowest < hasty.timeoutMs + graceMs, `the slowest took ${Math.round(slowest)} ms`);
  server.thaw();
  await works('an answer', () => store.revision());
  const told = calls();
  await change(open(t, server), 'b');
  await waitFor('the watch', () => calls() > told);
  const clients = await server.client().client('LIST');
  t.ok(String(clients).trim().split('\n').length <= 6, 'no connection is left behind');
  t.ok((await open(t, server).loadCounters('i')).sequence <= 3, 'what was given up long ago is not sent later');
});

await test('closing does not wait for a frozen server, nor does the process', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server, hasty);
  await works('an answer', () => change(store, 'a'));
  await counting(store);
  server.freeze();
  const pending = refusal(store.read());
  const started = performance.now();
  await store.close();
  t.ok(performance.now() - started < hasty.timeoutMs + graceMs);
  t.match(await pending, { reason: 'timeout' });
  const args = [
    JSON.stringify({ options: { directory: '/nonexistent', redisUrl: server.url, ...hasty }, work: 'visit' }),
  ];
  const visitor = await startProcess({ t, entry: 'test/contracts/state-store-writer.ts', args, ready: 'spawned' });
  t.same(await visitor.exited, { code: 0, signal: null }, visitor.lastLines());
  t.ok(visitor.logs().some(({ failed }) => /did not answer in time/.test(String(failed))));
});

await test('a notification arrives long before the next look', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server, { pollMs: 60_000 });
  const calls = await counting(store);
  const client = server.client();
  await waitFor('the subscription', async () => {
    const [, subscribers] = (await client.pubsub('NUMSUB', keys.changed)) as [string, number];
    return subscribers > 0;
  });
  const told = calls();
  await change(open(t, server), 'a');
  await waitFor('the watch', () => calls() > told, 2_000);
  await server.restart();
  await waitFor('the subscription of the next connection', async () => {
    const found = await client.pubsub('NUMSUB', keys.changed).catch(() => []);
    return Number(found[1]) > 0;
  });
  const before = calls();
  await works('a change', () => change(open(t, server), 'b'));
  await waitFor('the watch after a restart', () => calls() > before, 2_000);
});

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
  await store.writeCounters('i', { sequence: 1, nowMs: 0, removed: ['x'], rows: [row] });
  t.same((await store.loadCounters('i')).rows, [row]);
  await store.writeHeartbeat({ instance: 'i', atMs: 1, body: 1 });
  await store.removeHeartbeat('i');
  t.same(await store.heartbeats(), []);
  t.match(await refusal(open(t, server, { redisUrl, prefix: 'other' }).read()), { reason: 'denied' });
});

await test('wrong credentials are said without being shown, and forgotten when they are right', async (t) => {
  const canary = 'canary/p@ss:word';
  const server = await startRedis(t, { password: 'right' });
  const urls = [server.url, withUser(server, '', canary), withUser(server, 'canary-user', canary)];
  for (const redisUrl of urls) {
    const store = open(t, server, { redisUrl, ...hasty });
    for (const ask of [() => store.read(), () => change(store, 'a')]) {
      const error = await refusal(ask());
      t.match(error, { reason: 'denied', message: /was not opened; check user, password, rights/, cause: Error });
      t.notMatch(inspect(error, { depth: 10, showHidden: true }), /canary|p%40ss/);
      t.match(error.message, `127.0.0.1:${server.port}`);
    }
  }
  const store = open(t, server, { redisUrl: withUser(server, '', canary), ...hasty });
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
  const distrustful = await refusal(open(t, server, { redisUrl, ...hasty }).read());
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

await test('keys of another type cost no more than they must', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  const client = server.client();
  for (const key of [keys.counters('i'), keys.counterExpiry('i'), keys.heartbeats, keys.heartbeatTimes]) {
    await client.set(key, 'poison');
  }
  t.same(await store.loadCounters('i'), { sequence: 0, rows: [], skipped: 1 });
  t.same(await store.heartbeats(), []);
  await store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: [row] });
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
    () => store.reseed(state),
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
  await store.writeCounters('i', { sequence: 1, nowMs: 101_000, removed: [], rows: [row] });
  for (const key of [keys.counters('i'), keys.counterExpiry('i')]) {
    const left = await client.pttl(key);
    t.ok(left > day + 50_000 && left <= day + 60_000, `${key}: ${left}`);
  }
  await store.writeCounters('i', { sequence: 2, nowMs: 200_000, removed: [], rows: [] });
  t.ok((await client.pttl(keys.counters('i'))) <= day);
  t.same(await client.hkeys(keys.counters('i')), ['sequence']);
});

await test('a server that forgot the scripts is told again', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  await change(store, 'a');
  await server.client().script('FLUSH');
  await change(store, 'b');
  t.same(await ids(store), ['a', 'b']);
});

await test('options that make no sense are refused at once, without showing a password', async (t) => {
  for (const redisUrl of ['', 'http://:canary@host', 'redis://canary@host']) {
    t.throws(() => openRedisStore({ redisUrl }), TypeError);
    t.throws(() => openRedisStore({ redisUrl }), { message: /^(?!.*canary)/ });
  }
  t.throws(() => openRedisStore({ redisUrl: 'redis://host', prefix: '{x}' }), TypeError);
});
