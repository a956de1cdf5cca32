// The stream of a kept answer is made once, told to each as it is wanted, and never outlives its answer.
import { test } from 'tap';
import { Replays, replayBytes } from '../../../proxy/cache/replays.ts';
import type { CachedAnswer } from '../../../store/cache/answer-cache.ts';
import { openMemoryCache } from '../../../store/cache/memory.ts';

const answer = (content: string, storedAtMs = 1): CachedAnswer => ({
  storedAtMs,
  expiresAtMs: 9,
  facts: { provider: 'p', type: 'openai', model: 'm' },
  body: Buffer.from(
    JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }], usage: { prompt_tokens: 1 } }),
  ),
});
const wish = { key: 'k', operation: 'chat', wantsUsage: false } as const;

/** Tells streams, as texts. */
function openReplays() {
  const told = openMemoryCache(replayBytes);
  const replays = new Replays(told);
  const tell = async (kept: CachedAnswer, more: object = {}): Promise<string> =>
    (await replays.stream(kept, { ...wish, ...more }, 1))?.toString('utf8') ?? '';
  return { told, tell };
}

await test('a stream is made once', async (t) => {
  const { tell } = openReplays();
  const stream = await tell(answer('höhö \u{1f600}'));
  t.match(stream, /"content":"höhö \u{1f600}".*data: \[DONE\]\n\n$/su);
  t.equal(await tell(answer('of the same moment')), stream, 'the answer is not read again');
});

await test('it is another one with the usage, for another key, and for a newer answer', async (t) => {
  const { tell } = openReplays();
  t.notMatch(await tell(answer('old')), 'usage');
  t.match(await tell(answer('old'), { wantsUsage: true }), 'usage');
  t.match(await tell(answer('other'), { key: 'l' }), 'other');
  t.match(await tell(answer('new', 2)), 'new');
});

await test('a stream of more than 64 KiB is told, and not remembered', async (t) => {
  const { told, tell } = openReplays();
  t.match(await tell(answer('x'.repeat(65 * 1024))), /x{66560}/);
  t.equal(told.status().entries, 0);
});

await test('many choices behind a long head are not told as a stream, whose every event would repeat it', async (t) => {
  const choices = Array.from({ length: 400 }, (_, index) => ({ index, message: {}, finish_reason: 'stop' }));
  const told = (length: number): CachedAnswer => ({
    ...answer(''),
    body: Buffer.from(JSON.stringify({ model: 'm'.repeat(length), choices })),
  });
  const { tell } = openReplays();
  t.match(await tell(told(100)), 'data: [DONE]');
  for (const length of [30_000, 300_000]) t.equal(await tell(told(length), { key: `of ${length}` }), '');
});
