// The contract of the semantic cache as cases for any engine: which vector is the nearest, of which partition, until when, and how many there are.
import { type Test, test } from 'tap';
import type { Neighbours, PlacedAnswer } from '../../store/cache/semantic/neighbours.ts';
import { waitFor } from '../support/wait-for.ts';

/** Opens an empty cache for so many entries; closed with the test. */
export interface NeighbourEngine {
  readonly name: string;
  open(t: Test, mostEntries: number): Promise<Neighbours>;
}

const nowMs = 1_700_000_000_000;
const minute = 60_000;

/** At an angle to the first axis. */
const towards = (cosine: number): Float32Array<ArrayBuffer> => Float32Array.of(cosine, Math.sqrt(1 - cosine * cosine));

export const placed = (key: string, more: Partial<PlacedAnswer> = {}): PlacedAnswer => ({
  partition: 'p',
  vector: towards(1),
  key,
  expiresAtMs: nowMs + minute,
  ...more,
});

const keyAt = async (cache: Neighbours, partition = 'p', atMs = nowMs, vector = towards(1)) =>
  (await cache.nearest({ partition, vector }, atMs))?.key;

type NeighbourCase = (t: Test, engine: NeighbourEngine) => Promise<void>;

const cases: Readonly<Record<string, NeighbourCase>> = {
  async 'the nearest vector is found with its similarity, however long the vectors are'(t, engine) {
    const cache = await engine.open(t, 100);
    t.equal(await cache.nearest({ partition: 'p', vector: towards(1) }, nowMs), undefined);
    for (const cosine of [0.5, 0.92, -1]) cache.put(placed(String(cosine), { vector: towards(cosine) }), nowMs);
    await waitFor('all of them', async () => (await keyAt(cache, 'p', nowMs, towards(-1))) === '-1');
    t.same(await cache.nearest({ partition: 'p', vector: towards(1) }, nowMs), { key: '0.92', similarity: 0.92 });
    const long = Float32Array.of(5, 5 * Math.sqrt(3));
    t.same(await cache.nearest({ partition: 'p', vector: long }, nowMs), { key: '0.5', similarity: 1 });
  },

  async 'another partition is never looked at, and may have vectors of another length'(t, engine) {
    const cache = await engine.open(t, 100);
    const vector = Float32Array.from({ length: 1_536 }, (_, index) => Math.sin(index));
    cache.put(placed('a'), nowMs);
    cache.put(placed('b', { partition: 'q', vector }), nowMs);
    await waitFor('the second', async () => (await keyAt(cache, 'q', nowMs, vector)) === 'b');
    t.equal(await keyAt(cache), 'a');
    t.equal(await keyAt(cache, 'r'), undefined);
    t.equal(await keyAt(cache, ''), undefined);
  },

  async 'a vector is there until its end, or until its answer is gone'(t, engine) {
    const cache = await engine.open(t, 100);
    cache.put(placed('a'), nowMs);
    await waitFor('it', () => keyAt(cache));
    t.equal(await keyAt(cache, 'p', nowMs + minute - 1), 'a');
    t.equal(await keyAt(cache, 'p', nowMs + minute), undefined);
    cache.forget('q', 'a');
    t.equal(await keyAt(cache), 'a', 'that of another partition was meant');
    cache.forget('p', 'a');
    await waitFor('it to be forgotten', async () => (await keyAt(cache)) === undefined);
    cache.put(placed('b'), nowMs);
    t.equal(await waitFor('the next', () => keyAt(cache)), 'b');
  },

  async 'an answer has one place in a partition: the last'(t, engine) {
    const cache = await engine.open(t, 100);
    cache.put(placed('a', { vector: towards(0) }), nowMs);
    await waitFor('it', () => keyAt(cache));
    cache.put(placed('a', { vector: towards(0.6), expiresAtMs: nowMs + 2 * minute }), nowMs);
    const nearest = () => cache.nearest({ partition: 'p', vector: towards(1) }, nowMs + minute);
    t.same(await waitFor('its new place', nearest), { key: 'a', similarity: 0.6 });
  },

  async 'a flood takes no more room than there is: those that end first go, and those that have ended'(t, engine) {
    const cache = await engine.open(t, 5);
    for (let index = 0; index < 40; index += 1) {
      const partition = `p${index}`;
      cache.put(placed('a', { partition, expiresAtMs: nowMs + minute + index }), nowMs);
      await waitFor('it', () => keyAt(cache, partition));
    }
    const kept: number[] = [];
    for (let index = 0; index < 40; index += 1) if (await keyAt(cache, `p${index}`)) kept.push(index);
    t.same(kept, [35, 36, 37, 38, 39]);
    await waitFor('them to be counted', () => cache.status().entries === 5);
    cache.resize(2);
    cache.put(placed('b', { expiresAtMs: nowMs + 3 * minute }), nowMs);
    await waitFor('them to be counted', () => cache.status().entries === 2);
    t.equal(await keyAt(cache, 'p39'), 'a');
    cache.put(placed('c', { expiresAtMs: nowMs + 5 * minute }), nowMs + 4 * minute);
    await waitFor('them to be counted', () => cache.status().entries === 1);
    t.equal(cache.status().dropped, 0);
  },

  async 'more puts than can wait are dropped and counted'(t, engine) {
    const cache = await engine.open(t, 1_000);
    await cache.ready();
    for (let index = 0; index < 100; index += 1) cache.put(placed(`k${index}`), nowMs);
    t.equal(cache.status().dropped, 36);
    await waitFor('the others', async () => (await keyAt(cache)) !== undefined);
  },
};

export async function testNeighbours(engine: NeighbourEngine): Promise<void> {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
