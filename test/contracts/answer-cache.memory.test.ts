// The contract of the response cache in memory, and what its places for answers are not to change.
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { test } from 'tap';
import type { CachedAnswer } from '../../store/cache/answer-cache.ts';
import { openMemoryCache } from '../../store/cache/memory.ts';
import { createRandom } from '../support/random.ts';
import { answerOf, testAnswerCache } from './answer-cache-cases.ts';

await testAnswerCache({ name: 'memory', open: (_, mostBytes) => Promise.resolve(openMemoryCache(mostBytes)) });

await test('two keys of one place: the later one has it, and neither gets the answer of the other', async (t) => {
  const cache = openMemoryCache(2 ** 30);
  const facts = { provider: 'p', type: 'openai', model: 'm' };
  // So many that some 20 share a place with another one (birthday paradox).
  const keys = Array.from({ length: 400_000 }, (_, number) => `key ${number}`);
  for (const key of keys) cache.put(key, { storedAtMs: 0, expiresAtMs: 10, facts, body: Buffer.from(key) });
  const found = keys.map((key) => ({ key, answer: cache.get(key, 1) }));
  const bodies = found.map(({ answer }) => answer?.body.toString());
  t.same(
    found.filter(({ key }, at) => bodies[at] !== key && bodies[at] !== undefined),
    [],
    'answers of another key',
  );
  const { entries } = cache.status();
  t.ok(entries < keys.length, 'some share a place');
  t.equal(bodies.filter((body) => body !== undefined).length, entries, 'each answer that is held is found');
  await cache.close();
});

const mebibyte = 2 ** 20;

await test('after any puts and gets, each answer is whole, and the latest one of its key', async (t) => {
  const random = createRandom(16);
  const mostBytes = 4 * mebibyte;
  const cache = openMemoryCache(mostBytes);
  const latest = new Map<string, CachedAnswer>();
  const wrong: string[] = [];
  let [nowMs, found] = [0, 0];
  for (let step = 0; step < 30_000; step += 1) {
    nowMs += 1;
    const key = `key ${Math.floor(random() * 3_000)}`;
    const got = cache.get(key, nowMs);
    if (got !== undefined) found += 1;
    if (got !== undefined && (got.expiresAtMs <= nowMs || !isSame(got, latest.get(key)))) wrong.push(key);
    if (got !== undefined && random() < 0.5) continue;
    // One of a hundred may be so long that it has memory of its own.
    const length = Math.floor(random() < 0.01 ? 100_000 * random() : 4_000 * random());
    const answer = answerOf(`${key} ${step}`.padEnd(length, '.'), nowMs);
    cache.put(key, answer);
    latest.set(key, answer);
  }
  t.same(wrong, []);
  t.ok(found > 5_000, `${found} were found`);
  const { bytes } = cache.status();
  t.ok(bytes <= mostBytes && bytes > mostBytes * 0.9, `${bytes} bytes`);
  for (const key of latest.keys()) cache.get(key, nowMs * 100);
  const { bytes: rest, entries: left } = cache.status();
  t.same({ rest, left }, { rest: 0, left: 0 }, 'all that has ended is gone when it was asked for');
});

await test('an answer that is asked for outlives those that are not', async (t) => {
  const cache = openMemoryCache(2 * mebibyte);
  const asked = { short: answerOf('s'.repeat(1_000)), long: answerOf('l'.repeat(20_000)) };
  for (const [key, answer] of Object.entries(asked)) cache.put(key, answer);
  for (let index = 0; index < 20_000; index += 1) {
    cache.put(`k${index}`, answerOf('x'.repeat(1_000)));
    if (index % 100 !== 0) continue;
    for (const [key, answer] of Object.entries(asked))
      if (!isSame(cache.get(key, answer.storedAtMs), answer)) t.fail(`${key} at ${index}`);
  }
  t.equal(cache.get('k0', 0), undefined);
});

await test('answers take no more memory than they may, whatever their lengths, and their bytes none of the heap', async (t) => {
  const mostBytes = 16 * mebibyte;
  const floods = {
    'no body': { keys: 200_000, bytes: 0, puts: 400_000 },
    'short bodies': { keys: 200_000, bytes: 700, puts: 100_000 },
    'long bodies': { keys: 10_000, bytes: 9_000, puts: 10_000 },
    'the same key': { keys: 1, bytes: 700, puts: 100_000 },
  };
  for (const [name, { keys, bytes, puts }] of Object.entries(floods)) {
    const cache = openMemoryCache(mostBytes);
    const before = await memoryTaken();
    const answer = answerOf(Buffer.alloc(bytes));
    for (let index = 0; index < puts; index += 1) cache.put(`key ${index % keys}`, answer);
    const after = await memoryTaken();
    t.ok(cache.status().entries > 0);
    t.ok(
      after.buffers - before.buffers < mostBytes + mebibyte,
      `${name}: ${after.buffers - before.buffers} bytes of buffers`,
    );
    t.ok(after.heap - before.heap < 2 * mebibyte, `${name}: ${after.heap - before.heap} bytes of heap`);
    cache.resize(mebibyte);
    t.ok((await memoryTaken()).buffers - before.buffers < 3 * mebibyte, `${name}: less after it has shrunk`);
    await cache.close();
  }
});

/** After all garbage is gone. Bytes. */
async function memoryTaken(): Promise<{ readonly heap: number; readonly buffers: number }> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // A second one waits for the memory of buffers that the first one lets go.
  for (let round = 0; round < 2; round += 1) {
    collect();
    await setImmediate();
  }
  const { heapUsed: heap, arrayBuffers: buffers } = process.memoryUsage();
  return { heap, buffers };
}

function isSame(one: CachedAnswer | undefined, other: CachedAnswer | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  return one.storedAtMs === other.storedAtMs && one.body.equals(other.body);
}
