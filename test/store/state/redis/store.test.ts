// The Redis store when the server is the problem: gone, killed, emptied, frozen, read-only, full, or slow to tell.

import { test } from 'tap';
import { openPlaneStore } from '../../../../store/state/open.ts';
import { mostReplyBytes } from '../../../../store/state/redis/guard.ts';
import { textsOf } from '../../../support/counter-rows.ts';
import { startProcess } from '../../../support/process.ts';
import { startRedis } from '../../../support/redis.ts';
import { watchTime } from '../../../support/slowdown.ts';
import { change, commitAnyhow, ids, refusal } from '../../../support/store-calls.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { counting, graceMs, hasty, keys, open, row, works } from './store-tools.ts';

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
    const tookMs = watchTime();
    const error = await refusal(ask());
    t.ok(tookMs() < hasty.timeoutMs + graceMs);
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
  t.ok(await store.rewrite({ ...before, revision: 2 }, await store.revision()));
  t.match(await store.read(), { storeId: before.storeId, revision: 2, documents: before.documents });
});

await test('a commit that too few replicas have is not accepted, but told', async (t) => {
  const server = await startRedis(t, { args: ['--repl-diskless-sync-delay', '0'] });
  const replica = await startRedis(t, { args: ['--replicaof', '127.0.0.1', `${server.port}`] });
  const admin = server.client();
  await waitFor('the replica', async () => /state=online/.test(await admin.info('replication')));
  const store = open(t, server, { waitReplicas: 1, timeoutMs: 1_000 });
  await change(store, 'a');
  replica.freeze();
  t.teardown(() => replica.thaw());
  const error = await refusal(change(store, 'b'));
  t.match(error, { reason: 'unreplicated', message: /too few replicas .*0 of the 1 replicas had it after 1000 ms/ });
  t.same(await ids(store), ['a', 'b'], 'it is there all the same');
  const { storeId = null } = await store.revision();
  const stale = { storeId, expected: new Map([['rule', 0]]), changes: [] };
  t.match(await store.commit(stale), { conflict: true }, 'what was not written needs no replica');
  replica.thaw();
  await works('a commit', () => change(store, 'c'));
  const tooMany = await refusal(change(open(t, server, { waitReplicas: 2, timeoutMs: 300 }), 'd'));
  t.match(tooMany.message, /1 of the 2 replicas had it after 300 ms/);
  const settings = { dataDirectory: '/nowhere', redisUrl: server.url, redisPrefix: 'gateway', redisWaitReplicas: 2 };
  const plane = openPlaneStore({ ...settings, masterKey: undefined, previousMasterKey: undefined });
  t.teardown(() => plane.close());
  t.match(await refusal(plane.commit({ storeId, expected: new Map(), changes: [] })), { reason: 'unreplicated' });
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
    () => store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: textsOf([row]) }),
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
  t.match(await refusal(store.writeCounters('i', { sequence: 1, nowMs: 0, removed: [], rows: textsOf([row]) })), {
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
  // In all more than an answer may have.
  const count = Math.ceil(mostReplyBytes / reason.length / 100) * 100;
  for (let first = 0; first < count; first += 100) {
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
  t.equal(documents.filter(({ kind }) => kind === 'rule').length, count);
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
  while (performance.now() - started < 1_000) {
    const began = performance.now();
    const rows = Array.from({ length: 1_000 }, (_, index) => ({ ...large, child: `${index}` }));
    attempts += 1;
    const write = store.writeCounters('i', { sequence: attempts, nowMs: 0, removed: [], rows: textsOf(rows) });
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
  const tookMs = watchTime();
  await store.close();
  t.ok(tookMs() < hasty.timeoutMs + graceMs);
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

await test('a server that forgot the scripts is told again', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  await change(store, 'a');
  await server.client().script('FLUSH');
  await change(store, 'b');
  t.same(await ids(store), ['a', 'b']);
});
