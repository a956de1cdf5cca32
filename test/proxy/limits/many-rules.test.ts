// What goes on beside requests does not grow with the number of rules: the sweep looks at templates alone, and figures are read in portions.
import { test } from 'tap';
import { createLimiter } from '../../../proxy/limits/limiter.ts';
import { ruleOf } from './rule-of.ts';

const rules = Array.from({ length: 1_000 }, (_, index) =>
  ruleOf('user_path', `/team/app-${index}`, 60, { maxRequests: 9 }),
);
const start = Date.UTC(2026, 0, 5, 12);

await test('the figures of a thousand rules are read with pauses in between', async (t) => {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  for (const { subject } of rules) limiter.admit(limiter.forUserPath(subject), start).lease?.release();
  const reading = limiter.live(start);
  let pauses = 0;
  for (;;) {
    const { done, value } = reading.next();
    if (done) {
      t.equal(value.counters.length, rules.length);
      t.equal(value.windows.length, rules.length);
      break;
    }
    pauses += 1;
  }
  t.ok(pauses >= 5, `${pauses} pauses`);
});

await test('a sweep and a look for overflows pass over rules that are no templates', async (t) => {
  const template = ruleOf('user_path', '/c', 60, { maxRequests: 9, perChild: true });
  const limiter = createLimiter({ isExported: false });
  let looks = 0;
  const watched = rules.map((rule) => ({
    ...rule,
    get perChild() {
      looks += 1;
      return false;
    },
  }));
  limiter.reconcile([...watched, template]);
  limiter.admit(limiter.forUserPath('/c/a'), start).lease?.release();
  looks = 0;
  t.equal(limiter.sweep(start + 200_000), 1, 'the idle child is evicted');
  limiter.sweep(start + 200_000);
  t.same(limiter.overflows(), []);
  t.equal(looks, 0);
  limiter.reconcile(rules);
  limiter.reconcile([template]);
  limiter.admit(limiter.forUserPath('/c/b'), start + 200_000).lease?.release();
  t.equal(limiter.sweep(start + 400_000), 1, 'also of a template that was gone for a while');
});
