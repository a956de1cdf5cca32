// The contract of shared limits on a real Redis server, and what only a server can do: be killed, be silent, lose an answer, hold garbage.
import { setImmediate } from 'node:timers/promises';
import { type Test, test } from 'tap';
import { counterKey, type Uses } from '../../domain/limits/exchange.ts';
import { patienceMs } from '../../store/state/limits/limit-store.ts';
import { redisKeys } from '../../store/state/redis/keys.ts';
import { openRedisStore, type RedisStore } from '../../store/state/redis/store.ts';
import { attachMessage, exchangeMessage, limitGroup, limitItem } from '../support/limit-messages.ts';
import { countClients, type RedisServer, startDetour, startRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { testLimits } from './limits-cases.ts';
import { Heard, redisLimitEngine } from './limits-engines.ts';
import { rejection } from './state-store-case-tools.ts';

await testLimits(redisLimitEngine);

const keys = redisKeys('gateway');
const name = counterKey({ key: 'team', epoch: 0, periodSeconds: 60 }, 'requests', '');
const counter = keys.limit(name);

function open(t: Test, { url: redisUrl }: Pick<RedisServer, 'url'>): RedisStore {
  const store = openRedisStore({ redisUrl });
  t.teardown(() => store.close());
  return store;
}

/** This process does nothing for so long, as one that is stopped. */
function stop(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

await test('a killed server is lost once, and the next run of it is known as such', async (t) => {
  const server = await startRedis(t, { appendOnly: true });
  const heard = new Heard(open(t, server).limits);
  const line = await heard.line();
  const { session, generation } = await line.attach(attachMessage('a', { server: line.server }));
  const held = { items: [limitItem(name, { held: 5 })] };
  await line.exchange(exchangeMessage(session, held));
  await server.kill();
  await waitFor('the loss', () => heard.lost.length > 0);
  const refused = await rejection(line.exchange(exchangeMessage(session, { sequence: 2 })));
  const message = new RegExp(`127.0.0.1:${server.port} cannot be reached`);
  t.match(refused, { name: 'StoreUnavailable', reason: 'unreachable', message });
  await server.restart();
  const next = await heard.line(2);
  t.match(next.server, /^[0-9a-f]{40}$/);
  t.not(next.server, line.server);
  const knows = { session, generation, live: 1, connection: 2, server: next.server };
  t.match(await next.attach(attachMessage('a', knows)), { former: 'known', session, sequence: 1, recovering: true });
  const told = await next.exchange(exchangeMessage(session, { ...held, connection: 2, sequence: 2, told: true }));
  t.match(told, { status: 'done', recovering: false });
});

await test('a server that is silent is cut, and what it says later is no answer', async (t) => {
  const server = await startRedis(t);
  const heard = new Heard(open(t, server).limits);
  const line = await heard.line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  server.freeze();
  t.teardown(() => server.thaw());
  t.match(await rejection(line.exchange(exchangeMessage(session))), { name: 'StoreUnavailable', reason: 'timeout' });
  t.equal(heard.lost.length, 1);
  server.thaw();
  const next = await heard.line(2);
  t.equal(next.server, line.server, 'it is the same run');
  t.equal(heard.lines.length, 2);
});

await test('a process that was stopped does not take its server for lost', async (t) => {
  const server = await startRedis(t);
  const heard = new Heard(open(t, server).limits);
  const line = await heard.line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  await line.exchange(exchangeMessage(session));
  const asked = line.exchange(exchangeMessage(session, { sequence: 2 }));
  await setImmediate();
  stop(patienceMs + 100);
  t.match(await asked, { status: 'done' });
  t.same(heard.lost, []);
});

await test('an answer that was lost ends the line before the next one is taken for it', async (t) => {
  const server = await startRedis(t);
  const detour = await startDetour(t, server);
  const heard = new Heard(open(t, detour).limits);
  const line = await heard.line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  await line.exchange(exchangeMessage(session));
  let isLost = true;
  detour.swallows = () => isLost;
  const asked = [rejection(line.exchange(exchangeMessage(session, { sequence: 2 })))];
  const client = server.client();
  await waitFor('the exchange', async () => (await client.hget(keys.limitSessions, `${session}`))?.startsWith('1 2 '));
  isLost = false;
  asked.push(rejection(line.exchange(exchangeMessage(session, { sequence: 3 }))));
  for (const error of await Promise.all(asked)) t.match(error, { name: 'StoreUnavailable', reason: 'garbled' });
});

await test('garbage in a counter is removed, and the rest of it counts', async (t) => {
  const server = await startRedis(t);
  const line = await new Heard(open(t, server).limits).line();
  const client = server.client();
  const { session, now } = await line.attach(attachMessage('a', { server: line.server }));
  const slice = Math.floor(now / 1_000);
  const uses = [
    [slice - 2, 3],
    [slice - 1, 4],
  ] as const;
  let sequence = 0;
  const exchange = (later: Uses = []): Promise<unknown> => {
    sequence += 1;
    return line.exchange(exchangeMessage(session, { sequence, items: [limitItem(name, { uses: later, held: 2 })] }));
  };
  await exchange(uses);
  await client.hset(counter, { t: 'many', [String(slice - 2)]: 'x', s99: '-1', nonsense: 'y' });
  t.match(await exchange(), { answers: [{ used: 4, others: 0, free: 94 }] });
  t.match(await client.hgetall(counter), { t: '4', H: '2', [`s${session}`]: '2', [String(slice - 1)]: '4' });
  t.equal(await client.hexists(counter, 's99'), 0);
  await client.set(counter, 'a text');
  t.match(await exchange([[slice, 1]]), { answers: [{ used: 1, free: 97 }] });
});

await test('what a session held that is forgotten counts as used from now on', async (t) => {
  const server = await startRedis(t);
  const line = await new Heard(open(t, server).limits).line();
  const former = await line.attach(attachMessage('a', { server: line.server }));
  await line.exchange(exchangeMessage(former.session, { items: [limitItem(name, { held: 5 })] }));
  const { session } = await line.attach(attachMessage('a', { server: line.server, boot: 'next' }));
  await server.client().del(keys.limitGraves);
  const said = exchangeMessage(session, { items: [limitItem(name)] });
  t.match(await line.exchange(said), { answers: [{ used: 5, others: 0, free: 95 }] });
});

await test('what is no store of ours ends the line with a sentence, and an attach begins it anew', async (t) => {
  const server = await startRedis(t);
  const heard = new Heard(open(t, server).limits);
  const line = await heard.line();
  const { session, generation } = await line.attach(attachMessage('a', { server: line.server }));
  const client = server.client();
  for (const key of [keys.limits, keys.limitSessions, keys.limitGraves, keys.limitGraveTimes])
    await client.set(key, 'x');
  const refused = await rejection(line.exchange(exchangeMessage(session)));
  t.match(refused, { name: 'StoreUnavailable', reason: 'corrupt', message: /holds something that is not ours/ });
  const next = await heard.line(2);
  const again = await next.attach(attachMessage('a', { session, generation, server: next.server, fresh: 'new' }));
  t.match(again, { former: 'unknown', generation: 'new' });
});

await test('a store of a newer version is left alone, and asked less and less often', async (t) => {
  const server = await startRedis(t);
  const heard = new Heard(open(t, server).limits);
  const line = await heard.line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  const client = server.client();
  await client.hset(keys.limits, 'version', 99);
  const before = await client.hgetall(keys.limits);
  const newer = { name: 'StoreUnavailable', reason: 'newer_schema' };
  t.match(await rejection(line.exchange(exchangeMessage(session))), newer);
  for (let attempt = 2; attempt < 5; attempt += 1) {
    const next = await heard.line(attempt);
    t.match(await rejection(next.attach(attachMessage('a', { server: next.server }))), newer);
  }
  t.same(await client.hgetall(keys.limits), before);
});

await test('scripts that the server has forgotten are sent again', async (t) => {
  const server = await startRedis(t);
  const { limits } = open(t, server);
  const line = await new Heard(limits).line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  await server.client().script('FLUSH');
  t.match(await line.exchange(exchangeMessage(session)), { status: 'done' });
  t.match(await limits.look([name]), [{ used: 0 }]);
});

await test('a server without room books nothing of an exchange', async (t) => {
  const server = await startRedis(t);
  const heard = new Heard(open(t, server).limits);
  const line = await heard.line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  const client = server.client();
  await client.config('SET', 'maxmemory', '1');
  const said = exchangeMessage(session, { items: [limitItem(name, { held: 5 })] });
  t.match(await rejection(line.exchange(said)), { name: 'StoreUnavailable', reason: 'full' });
  await client.config('SET', 'maxmemory', '0');
  const next = await heard.line(2);
  t.match(await next.exchange(said), { status: 'done' }, 'its number was not taken');
});

await test('a user without the rights to listen and to read facts shares limits all the same', async (t) => {
  const users = [
    'user default on nopass ~* &* +@all',
    'user gateway on >secret ~{gateway}:* resetchannels +@all -info',
  ];
  const server = await startRedis(t, { users });
  const url = server.url.replace('://', '://gateway:secret@');
  const line = await new Heard(open(t, { url }).limits).line();
  t.equal(line.server, '');
  const { session } = await line.attach(attachMessage('a'));
  const asking = { items: [limitItem(name, { cap: 1 })], groups: [limitGroup(2, [0])] };
  t.match(await line.exchange(exchangeMessage(session, asking)), { admitted: [1] });
});

await test('nothing is connected before the first use, and counters are small and end by themselves', async (t) => {
  const server = await startRedis(t);
  const store = open(t, server);
  await store.revision();
  const client = server.client();
  const before = await countClients(client);
  const line = await new Heard(store.limits).line();
  t.equal(await countClients(client), before + 2);
  const { now } = await line.attach(attachMessage('0', { server: line.server }));
  const newest = Math.floor(now / 1_000);
  const uses = Array.from({ length: 61 }, (_, index) => [newest - index, 1_000_000] as const);
  for (let instance = 1; instance <= 8; instance += 1) {
    const { session } = await line.attach(attachMessage(`${instance}`, { server: line.server }));
    const item = limitItem(name, { cap: 2 ** 40, held: 100, uses });
    await line.exchange(exchangeMessage(session, { items: [item] }));
  }
  t.equal(await client.object('ENCODING', counter), 'listpack');
  const bytes = Number(await client.memory('USAGE', counter));
  t.ok(bytes < 1_200, `${bytes} bytes`);
  const left = await client.pttl(counter);
  t.ok(left > 3_600_000 && left <= 3_681_000, `it ends in ${left} ms`);
});

await test('shared limits follow the store to another address', async (t) => {
  const server = await startRedis(t);
  const detour = await startDetour(t, server);
  const store = open(t, detour);
  const heard = new Heard(store.limits);
  const line = await heard.line();
  const { session } = await line.attach(attachMessage('a', { server: line.server }));
  t.equal(await store.reconnect(server.url, () => undefined), true);
  detour.silence();
  const next = await heard.line(2);
  t.match(heard.lost, [{ message: /the address was renewed/ }]);
  t.match(await next.exchange(exchangeMessage(session)), { status: 'done' });
});
