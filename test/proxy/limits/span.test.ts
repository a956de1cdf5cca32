// How long the use of one rule lasts, read from a window by itself: only what a cap limits counts, as of the moment that is asked.
import { test } from 'tap';
import { windowEndMs, windowStartMs } from '../../../proxy/limits/span.ts';
import { newUnsaved, Tally } from '../../../proxy/limits/tally.ts';
import { requests, tokens } from '../../../proxy/limits/window.ts';
import { minute, start } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

/** A rule of a minute with these caps, which has counted a request and tokens so many seconds after the start. */
function used(caps: { readonly maxRequests?: number; readonly maxTokens?: number }, [asked, charged] = [0, 10]) {
  const tally = new Tally(ruleOf('user_path', '/', minute, caps), newUnsaved({}));
  const counter = tally.open('');
  const uses = [
    { lane: requests, afterSeconds: asked },
    { lane: tokens, afterSeconds: charged },
  ] as const;
  // The clock never goes back.
  for (const { lane, afterSeconds } of uses.toSorted((one, other) => one.afterSeconds - other.afterSeconds)) {
    counter.window?.add(lane, 1, start + afterSeconds * 1000);
  }
  return { caps: tally.caps, counter };
}

const spanAt = ({ caps, counter }: ReturnType<typeof used>, nowMs: number): number[] =>
  [windowStartMs(caps, counter, nowMs), windowEndMs(caps, counter, nowMs)].map((momentMs) => (momentMs - start) / 1000);

await test('what no cap limits has no part in the span', (t) => {
  const soon = start + 20_000;
  t.same(spanAt(used({ maxRequests: 9, maxTokens: 9 }), soon), [0, 71]);
  t.same(spanAt(used({ maxRequests: 9 }), soon), [0, 61]);
  t.same(spanAt(used({ maxTokens: 9 }), soon), [10, 71]);
  t.same(spanAt(used({ maxRequests: 9 }, [10, 0]), soon), [10, 71]);
  t.same(spanAt(used({ maxTokens: 9 }, [10, 0]), soon), [0, 61]);
  t.end();
});

await test('what has left meanwhile is not counted, whoever asks first', (t) => {
  const { caps, counter } = used({ maxRequests: 9, maxTokens: 9 });
  t.equal(windowStartMs(caps, counter, start + 65_000), start + 10_000);
  const other = used({ maxRequests: 9 });
  t.equal(windowStartMs(other.caps, other.counter, start + 120_000), start + 120_000);
  const last = used({ maxRequests: 9 });
  t.equal(windowEndMs(last.caps, last.counter, start + 120_000), start + 180_000);
  t.end();
});
