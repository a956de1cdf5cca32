// Explanations of requests are kept for ten minutes, and take no more than their share of memory.
import { test } from 'tap';
import { KeptExplanations } from '../../proxy/kept/kept-explanations.ts';

const minuteMs = 60_000;

await test('each is kept for ten minutes', async (t) => {
  const kept = new KeptExplanations();
  t.ok(kept.keep('a', 'said', 0));
  t.equal(String(kept.get('a', 10 * minuteMs - 1)), 'said');
  t.equal(kept.get('a', 10 * minuteMs), undefined);
  t.equal(kept.get('b', 0), undefined);
  t.same([kept.size, kept.bytes], [0, 0]);
  kept.keep('old', 'said', 0);
  kept.keep('new', 'said', 11 * minuteMs);
  t.equal(kept.size, 1, 'an old one is gone with the next');
});

await test('the last thousand, and eight megabytes at most', async (t) => {
  const many = new KeptExplanations();
  for (let id = 0; id < 1_500; id += 1) many.keep(String(id), 'said', id);
  t.same([many.size, many.bytes], [1_000, 4_000]);
  t.equal(many.get('499', 1_500), undefined);
  t.equal(String(many.get('500', 1_500)), 'said');
  const large = new KeptExplanations();
  const text = 'ä'.repeat(500_000);
  for (let id = 0; id < 20; id += 1) t.ok(large.keep(String(id), text, 0));
  t.same([large.size, large.bytes], [8, 8_000_000]);
  t.notOk(large.keep('larger', 'x'.repeat(1024 * 1024 + 1), 0));
  t.equal(large.size, 8);
});

await test('a later text for the same id replaces it, and keeps the account right', async (t) => {
  const kept = new KeptExplanations();
  kept.keep('a', 'begun', 0);
  kept.keep('a', 'over', 1);
  t.equal(String(kept.get('a', 1)), 'over');
  t.same([kept.size, kept.bytes], [1, 4]);
});
