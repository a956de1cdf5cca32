// The contract of the response cache as cases for any engine: what comes back, when it ends, and how much room it takes.
import { type Test, test } from 'tap';
import { type AnswerCache, answerOverheadBytes, type CachedAnswer } from '../../store/cache/answer-cache.ts';
import { waitFor } from '../support/wait-for.ts';

/** Opens a cache for at most so many bytes; ready when this resolves. */
export interface CacheEngine {
  readonly name: string;
  open(t: Test, mostBytes: number): Promise<AnswerCache>;
}

const facts = { provider: 'fake', type: 'openai', model: 'm' };
const nowMs = 1_700_000_000_000;
const minute = 60_000;
const answerBytes = 1_000;
const room = (answers: number): number => answers * (answerBytes + answerOverheadBytes);

export const answerOf = (body: string | Buffer, storedAtMs = nowMs): CachedAnswer => ({
  storedAtMs,
  expiresAtMs: storedAtMs + minute,
  facts,
  body: Buffer.from(body),
});

/** Until the engine has it. */
async function put(cache: AnswerCache, key: string, answer: CachedAnswer): Promise<void> {
  cache.put(key, answer, answer.storedAtMs);
  await waitFor(`the answer ${key}`, async () => (await cache.get(key, answer.storedAtMs))?.body.equals(answer.body));
}

type CacheCase = (t: Test, engine: CacheEngine) => Promise<void>;

const cases: Readonly<Record<string, CacheCase>> = {
  async 'an answer comes back byte for byte with what is told of it, under its key alone'(t, engine) {
    const cache = await engine.open(t, room(100));
    const usage = { input_tokens: 3, output_tokens: 4, total_tokens: 7, source: 'reported', cost: null } as const;
    const bytes = Buffer.from([0x7b, 0, 10, 255, 0xc3, 0x28, 0x7d]);
    const answer = { ...answerOf(bytes), facts: { ...facts, usage } };
    await put(cache, 'a', answer);
    t.same(await cache.get('a', nowMs), answer);
    for (const other of ['', 'b', 'A', 'aa']) t.equal(await cache.get(other, nowMs), undefined, other);
    bytes.fill(0);
    t.same((await cache.get('a', nowMs))?.body, answer.body, 'it is a copy');
    await put(cache, 'a', answerOf('newer'));
    t.equal((await cache.get('a', nowMs))?.body.toString(), 'newer');
  },

  async 'an answer is there until its end'(t, engine) {
    const cache = await engine.open(t, room(100));
    await put(cache, 'a', answerOf('a'));
    t.ok(await cache.get('a', nowMs + minute - 1));
    t.equal(await cache.get('a', nowMs + minute), undefined);
  },

  async 'a flood of answers takes no more room than there is, and is counted'(t, engine) {
    const cache = await engine.open(t, room(5));
    for (let index = 0; index < 40; index += 1)
      await put(cache, `k${index}`, answerOf(Buffer.alloc(answerBytes), nowMs + index));
    await waitFor('all to be counted', () => cache.status().evicted === 35);
    const { bytes, entries, evicted, dropped } = cache.status();
    t.same({ bytes, entries, evicted, dropped }, { bytes: room(5), entries: 5, evicted: 35, dropped: 0 });
    const there: number[] = [];
    for (let index = 0; index < 40; index += 1) if (await cache.get(`k${index}`, nowMs + 40)) there.push(index);
    t.same(there, [35, 36, 37, 38, 39]);
  },

  async 'one that is longer than all the room is not kept'(t, engine) {
    const cache = await engine.open(t, room(1));
    cache.put('long', answerOf(Buffer.alloc(room(1))), nowMs);
    await put(cache, 'a', answerOf('a'));
    t.equal(await cache.get('long', nowMs), undefined);
  },

  async 'less room is obeyed by the next put, and the answers that fit stay'(t, engine) {
    const cache = await engine.open(t, room(10));
    for (let index = 0; index < 10; index += 1)
      await put(cache, `k${index}`, answerOf(Buffer.alloc(answerBytes), nowMs + index));
    cache.resize(room(3));
    await put(cache, 'last', answerOf(Buffer.alloc(answerBytes), nowMs + 11));
    await waitFor('all to be counted', () => cache.status().entries === 3);
    t.equal(cache.status().bytes, room(3));
    t.ok(await cache.get('k9', nowMs + 11));
    t.equal(await cache.get('k7', nowMs + 11), undefined);
  },
};

export async function testAnswerCache(engine: CacheEngine): Promise<void> {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
