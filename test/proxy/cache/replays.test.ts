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
  const tell = (kept: CachedAnswer, more: object = {}): string =>
    replays.stream(kept, { ...wish, ...more }, 1)?.toString('utf8') ?? '';
  return { told, tell };
}

await test('a stream is made once', (t) => {
  const { tell } = openReplays();
  const stream = tell(answer('höhö \u{1f600}'));
  t.match(stream, /"content":"höhö \u{1f600}".*data: \[DONE\]\n\n$/su);
  t.equal(tell(answer('of the same moment')), stream, 'the answer is not read again');
  t.end();
});

await test('it is another one with the usage, for another key, and for a newer answer', (t) => {
  const { tell } = openReplays();
  t.notMatch(tell(answer('old')), 'usage');
  t.match(tell(answer('old'), { wantsUsage: true }), 'usage');
  t.match(tell(answer('other'), { key: 'l' }), 'other');
  t.match(tell(answer('new', 2)), 'new');
  t.end();
});

await test('a stream of more than 64 KiB is told, and not remembered', (t) => {
  const { told, tell } = openReplays();
  t.match(tell(answer('x'.repeat(65 * 1024))), /x{66560}/);
  t.equal(told.status().entries, 0);
  t.end();
});
