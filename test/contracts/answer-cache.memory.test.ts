// The contract of the response cache in memory, and what its places for answers are not to change.
import { test } from 'tap';
import { openMemoryCache } from '../../store/cache/memory.ts';
import { testAnswerCache } from './answer-cache-cases.ts';

await testAnswerCache({ name: 'memory', open: (_, mostBytes) => Promise.resolve(openMemoryCache(mostBytes)) });

await test('two keys of one place: the later one has it, and neither gets the answer of the other', async (t) => {
  const cache = openMemoryCache(2 ** 30);
  const facts = { provider: 'p', type: 'openai', model: 'm' };
  // So many that some 20 share a place with another one (birthday paradox).
  const keys = Array.from({ length: 400_000 }, (_, number) => `key ${number}`);
  for (const key of keys) cache.put(key, { storedAtMs: 0, expiresAtMs: 10, facts, body: key }, 0);
  const found = keys.map((key) => ({ key, answer: cache.get(key, 1) }));
  const bodies = found.map(({ answer }) => (answer instanceof Promise ? 'late' : answer?.body.toString()));
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
