// What a proxy may take in all is divided among its workers: bodies, connections, answers in memory.
import { createServer } from 'node:http';
import { test } from 'tap';
import { BodyBudget } from '../../../proxy/http/body-budget.ts';
import { watchConnections } from '../../../proxy/http/connections.ts';
import { memoryLimits } from '../../../proxy/http/overload.ts';
import { openMemoryCache } from '../../../store/cache/memory.ts';

await test('each of four workers has a quarter of what is configured for bodies', async (t) => {
  const limits = { bodyLimitBytes: 10, bodyBudgetBytes: 400 };
  const budget = new BodyBudget(2 ** 30, 4);
  for (const consumer of ['/a', '/b']) budget.open(consumer, limits).grow(50);
  t.throws(() => budget.open('/c', limits).grow(1));
});

await test('each of three workers takes a third of the connections, and refuses what is too many itself', async (t) => {
  const server = createServer();
  const connections = watchConnections(server, 3, { most: 1_000, default: 500 });
  connections.limit({ most: 100, mostPerAddress: undefined });
  t.equal(server.maxConnections, 34);
  t.match(server, { dropMaxConnection: true }, 'another worker, as full as this one, is not asked');
  connections.limit({ most: undefined, mostPerAddress: undefined });
  t.equal(server.maxConnections, 500, 'by default as many as the process has room for');
});

await test('answers in the memory of a worker take its part of it, also when that changes', async (t) => {
  const facts = { provider: 'p', type: 'openai', model: 'm' };
  const answer = { storedAtMs: 0, expiresAtMs: 10, facts, body: Buffer.alloc(100 * 1024) };
  const cache = openMemoryCache(4 * 2 ** 20, 4);
  const kept = (): number => cache.status().bytes;
  for (let at = 0; at < 60; at += 1) cache.put(`key ${at}`, answer);
  t.ok(kept() > 2 ** 19 && kept() <= 2 ** 20, `${kept()} bytes of 1 MiB`);
  cache.resize(2 * 2 ** 20);
  t.ok(kept() <= 2 ** 19, `${kept()} bytes of 512 KiB`);
});

await test('each worker has its part of the memory of the machine', async (t) => {
  t.equal(memoryLimits([], 4).processBytes * 4, memoryLimits([]).processBytes);
});
