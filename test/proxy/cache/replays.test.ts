// The stream of a kept answer is made once, told to each as it is wanted, and never outlives its answer.
import { test } from 'tap';
import { Replays } from '../../../proxy/cache/replays.ts';
import type { CachedAnswer } from '../../../store/cache/answer-cache.ts';

const answer = (content: string, storedAtMs = 1): CachedAnswer => ({
  storedAtMs,
  expiresAtMs: 9,
  facts: { provider: 'p', type: 'openai', model: 'm' },
  body: Buffer.from(
    JSON.stringify({ choices: [{ message: { content }, finish_reason: 'stop' }], usage: { prompt_tokens: 1 } }),
  ),
});
const wish = { key: 'k', operation: 'chat', wantsUsage: false } as const;

await test('a stream is made once', async (t) => {
  const replays = new Replays();
  const stream = replays.stream(answer('höhö \u{1f600}'), wish);
  t.match(stream?.toString('utf8'), /"content":"höhö \u{1f600}".*data: \[DONE\]\n\n$/su);
  t.equal(replays.stream(answer('höhö \u{1f600}'), wish), stream);
});

await test('it is another one with the usage, for another key, and for a newer answer', async (t) => {
  const replays = new Replays();
  t.notMatch(replays.stream(answer('old'), wish)?.toString(), 'usage');
  t.match(replays.stream(answer('old'), { ...wish, wantsUsage: true })?.toString(), 'usage');
  t.match(replays.stream(answer('other'), { ...wish, key: 'l' })?.toString(), 'other');
  t.match(replays.stream(answer('new', 2), wish)?.toString(), 'new');
});

await test('long streams and more than 8 MiB of short ones are not remembered', async (t) => {
  const replays = new Replays();
  const long = answer('x'.repeat(65 * 1024));
  t.not(replays.stream(long, wish), replays.stream(long, wish));
  const first = replays.stream(answer('x'), wish);
  const large = answer('x'.repeat(60 * 1024));
  for (let number = 0; number < 150; number += 1) replays.stream(large, { ...wish, key: String(number) });
  t.not(replays.stream(answer('x'), wish), first);
});
