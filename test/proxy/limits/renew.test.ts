// A request whose body took its time is counted when it goes on: no trailing period ever sees more than the cap go to a provider.
import * as fc from 'fast-check';
import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { renewLease } from '../../../proxy/limits/renew.ts';
import { runs } from '../../support/extent.ts';
import { ruleOf } from './rule-of.ts';

const start = 1_800_000_000_000;

const limiterWith = (rules: readonly Rule[]): Limiter => {
  const limiter = createLimiter();
  limiter.reconcile(rules);
  return limiter;
};

/** What `/a` has used of each rule, in their order: requests, or slots. */
const usedIn = (limiter: Limiter, atMs: number): number[] =>
  limiter
    .report(limiter.forUserPath('/a'), atMs)
    .map(({ rule, requestsUsed, inFlight }) => (rule.periodSeconds === 0 ? inFlight : requestsUsed));

/** Admits a request of `/a`; `renew` says whether it may go on. */
function admitIn(limiter: Limiter, atMs: number) {
  const matches = limiter.forUserPath('/a');
  const { lease } = limiter.admit(matches, atMs);
  if (lease === undefined) return undefined;
  return { lease, renew: (nowMs: number): boolean => renewLease(lease, matches, nowMs) === undefined };
}

const minute = ruleOf('user_path', '/a', 60, { maxRequests: 1 });
const slots = ruleOf('user_path', '/a', 0, { maxRequests: 5 });

await test('within a slice nothing changes; after it the windows count from now and the slots stay', async (t) => {
  const unchanged = limiterWith([minute, slots]);
  t.ok(admitIn(unchanged, start)?.renew(start + 999));
  t.same(usedIn(unchanged, start + 61_000), [1, 0], 'counted in its first slice');

  const limiter = limiterWith([minute, slots]);
  const request = admitIn(limiter, start);
  t.ok(request?.renew(start + 30_000));
  t.same(usedIn(limiter, start + 61_000), [1, 1], 'counted half a minute later, once');
  const allowed = limiter.decisions().filter(({ outcome }) => outcome === 'allow');
  t.same(
    allowed.map(({ dimension, count }) => `${dimension} ${count}`),
    ['concurrent 1', 'requests 1'],
    'one admission is one decision',
  );
  request?.lease.refund(start + 62_000);
  t.same(usedIn(limiter, start + 62_000), [0, 0]);
});

await test('a request whose place was taken meanwhile is refused, and has given everything back', async (t) => {
  const limiter = limiterWith([minute, slots]);
  const slow = admitIn(limiter, start);
  const quick = admitIn(limiter, start + 61_000);
  t.ok(quick, 'the window had forgotten the slow one');
  t.notOk(slow?.renew(start + 61_500));
  t.same(usedIn(limiter, start + 61_500), [1, 1]);
  slow?.lease.release();
  slow?.lease.refund(start + 61_500);
  t.same(usedIn(limiter, start + 61_500), [1, 1], 'giving back again gives back nothing');
  t.match(
    limiter.decisions().filter(({ outcome }) => outcome === 'reject'),
    [{ dimension: 'requests', count: 1 }],
    'slots it holds itself refuse nothing',
  );
});

await test('a renewed request obeys the rules of that moment', async (t) => {
  const limiter = limiterWith([minute]);
  const [reset, fresh] = [{ ...minute, epoch: 1 }, ruleOf('user_path', '/', 60, { maxRequests: 1 })];
  const slow = admitIn(limiter, start);
  limiter.reconcile([fresh, reset]);
  t.same(usedIn(limiter, start), [0, 0]);
  t.ok(slow?.renew(start + 1));
  t.same(usedIn(limiter, start + 1), [1, 1], 'after a reset it is counted anew');
  limiter.reconcile([]);
  t.ok(slow?.renew(start + 60_000));
});

await test('a shadow rule counts what it would have let through, at both moments', async (t) => {
  const shadow = ruleOf('user_path', '/a', 60, { maxRequests: 1, mode: 'shadow' });
  const limiter = limiterWith([shadow]);
  const [first, second] = [admitIn(limiter, start), admitIn(limiter, start)];
  const shadowed = () => limiter.decisions().find(({ outcome }) => outcome === 'shadow_reject')?.count;
  t.equal(shadowed(), 1);
  t.ok(second?.renew(start + 2_000));
  t.same([usedIn(limiter, start + 2_000), shadowed()], [[1], 1], 'what it would have refused stays out');
  const third = admitIn(limiter, start + 61_000);
  t.ok(first?.renew(start + 61_000));
  t.same([usedIn(limiter, start + 61_000), shadowed()], [[1], 2], 'the place was taken meanwhile');
  third?.lease.refund(start + 61_000);
  first?.lease.refund(start + 61_000);
  t.same(usedIn(limiter, start + 61_000), [0]);
});

await test('its own slot may be the last one, and caps that fell within its slice refuse nothing', async (t) => {
  const limiter = limiterWith([minute, { ...slots, maxRequests: 1 }]);
  const request = admitIn(limiter, start);
  t.ok(request?.renew(start + 30_000));
  limiter.reconcile([{ ...minute, maxRequests: 0 }, slots]);
  t.ok(request?.renew(start + 30_500));
  t.notOk(request?.renew(start + 31_000), 'after it they do');
});

await test('a shadow rule that would have refused the first admission stays out when it has room again', async (t) => {
  const shadow = ruleOf('user_path', '/a', 3_600, { maxRequests: 1, mode: 'shadow' });
  const limiter = limiterWith([{ ...minute, maxRequests: 9 }, shadow]);
  const [first, second] = [admitIn(limiter, start), admitIn(limiter, start)];
  first?.lease.refund(start + 1_000);
  t.ok(second?.renew(start + 2_000));
  t.same(usedIn(limiter, start + 2_000), [1, 0]);
});

interface Waiting {
  lease: Lease;
  renew(nowMs: number): boolean;
  countedAtMs: number;
}

await test('whenever requests go on, no trailing period holds more than the cap, and none is refused without need', async (t) => {
  const periods = [1, 2, 7];
  const operation = fc.oneof(
    { weight: 4, arbitrary: fc.constant({ do: 'admit' as const, which: 0 }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('go' as const, 'leave' as const), which: fc.nat(9) }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('wait' as const), which: fc.nat(20_000) }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), which: fc.nat(1_500) }) },
  );
  const caps = fc.array(fc.integer({ min: 1, max: 4 }), { minLength: periods.length, maxLength: periods.length });
  let [went, refused] = [0, 0];
  fc.assert(
    fc.property(caps, fc.array(operation, { minLength: 20, maxLength: 120 }), (chosen, operations) => {
      const rules = periods.map((period, index) =>
        ruleOf('user_path', '/a', period, { maxRequests: chosen[index] ?? 1 }),
      );
      const limiter = limiterWith([...rules, ruleOf('user_path', '/a', 0, { maxRequests: 6 })]);
      const gone: number[] = [];
      let waiting: Waiting[] = [];
      let nowMs = start;
      /** Requests counted in the trailing period, or in that and the slice before it. */
      const counted = (period: number, isWide: boolean): number =>
        [...gone, ...waiting.map(({ countedAtMs }) => countedAtMs)].filter((atMs) =>
          isWide ? 60 * (nowMs - atMs) < 61_000 * period : nowMs - atMs <= 1_000 * period,
        ).length;
      const isFull = (): boolean => rules.some((rule) => counted(rule.periodSeconds, true) >= (rule.maxRequests ?? 0));
      for (const { do: what, which } of operations) {
        if (what === 'wait') nowMs += which;
        else if (what === 'admit') {
          const request = admitIn(limiter, nowMs);
          if (request === undefined && waiting.length < 6 && !isFull()) throw new Error('refused without need');
          if (request !== undefined) waiting.push({ ...request, countedAtMs: nowMs });
        } else {
          const [one] = waiting.splice(which % Math.max(1, waiting.length), 1);
          if (one === undefined) continue;
          if (what === 'leave') one.lease.refund(nowMs);
          else if (one.renew(nowMs)) {
            one.lease.release();
            gone.push(nowMs);
            went += 1;
          } else {
            refused += 1;
            if (!isFull()) throw new Error('refused without need after it was admitted');
          }
        }
        for (const rule of rules) {
          const recent = gone.filter((atMs) => nowMs - atMs < 1_000 * rule.periodSeconds).length;
          if (recent > (rule.maxRequests ?? 0)) throw new Error(`${recent} within ${rule.periodSeconds} s`);
        }
        if (usedIn(limiter, nowMs)[0] !== waiting.length) throw new Error('a slot is lost');
      }
      for (const { lease } of waiting) lease.refund(nowMs);
      waiting = [];
      if (usedIn(limiter, nowMs)[0] !== 0) throw new Error('a slot is left');
    }),
    runs(1_000),
  );
  t.comment(`${went} went on, ${refused} were refused then`);
  t.ok(went > 100 && refused > 5);
});
