// Tokens are set aside for open requests: parallel requests see each other, one may always go, and all is given back whatever happens.

import { test } from 'tap';
import { rateLimitHeaders } from '../../../proxy/limits/headers.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { explain } from '../../../proxy/limits/rejection.ts';
import { reserveTokens } from '../../../proxy/limits/reserve.ts';
import { lanesOf } from '../../../proxy/limits/room.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { ask, decided, lease, limiterOf, minute, start, used } from './limiter-calls.ts';
import { ruleOf } from './rule-of.ts';

const thousand = ruleOf('user_path', '/', minute, { maxTokens: 1_000 });
const target = ruleOf('model', 'p/m', minute, { maxTokens: 1_000 });

/** What `/` has used, has set aside, and has left. */
function tokensOf(limiter: Limiter, nowMs: number = start): (number | undefined)[] {
  const [report] = limiter.report(limiter.forUserPath('/'), nowMs);
  return [report?.tokensUsed, report?.tokensReserved, report?.tokensRemaining];
}

/** Sets tokens aside for an admitted request of `/`; the seconds to wait where there is no room. */
function reserve(limiter: Limiter, held: Lease, tokens: number, nowMs: number = start): number | undefined {
  return reserveTokens(held, limiter.forUserPath('/'), tokens, nowMs)?.retryAfterSeconds;
}

/** Admits a request of `/` and sets tokens aside for it. */
function open(limiter: Limiter, tokens: number): Lease {
  const held = lease(limiter, '/');
  if (reserve(limiter, held, tokens) !== undefined) throw new Error('there was no room');
  return held;
}

await test('what open requests have set aside is not free for others', async (t) => {
  const limiter = limiterOf(thousand);
  const first = open(limiter, 400);
  open(limiter, 400);
  t.same(tokensOf(limiter), [0, 800, 200]);
  const third = lease(limiter, '/');
  t.equal(reserve(limiter, third, 201), 1, 'the end of a request cannot be foreseen');
  t.same(decided(limiter), { 'tokens allow': 3, 'tokens reject': 1 });
  t.same(tokensOf(limiter), [0, 800, 200], 'who is refused holds nothing');
  t.equal(reserve(limiter, lease(limiter, '/'), 200), undefined, 'an exact fit is room');
  t.notOk(ask(limiter, '/'), 'without any room the next one is refused before its body is read');

  limiter.charge(limiter.forUserPath('/'), 100, start, first);
  first.release();
  t.same(tokensOf(limiter), [100, 600, 300], 'what was not used is free');
});

await test('one may always go, and gets all that is free', async (t) => {
  const limiter = limiterOf(thousand);
  const path = limiter.forUserPath('/');
  limiter.charge(path, 999, start);
  const first = open(limiter, 5_000);
  t.same(tokensOf(limiter), [999, 1, 0]);
  t.notOk(ask(limiter, '/'));
  limiter.charge(path, 5_000, start, first);
  first.release();
  t.same(tokensOf(limiter), [5_999, 0, 0], 'more than was set aside counts, too');
  t.notOk(ask(limiter, '/'), 'nobody goes while the cap is used up');
  t.ok(ask(limiter, '/', start + 61_000));
});

await test('where estimates are bounds, one goes without room only if it is larger than the cap', async (t) => {
  const limiter = createLimiter();
  limiter.reconcile([thousand], { reserveTokens: 'max' });
  const path = limiter.forUserPath('/');
  limiter.charge(path, 500, start);
  const admits = (wanted: number): boolean => {
    const { lease: held } = limiter.admit(path, start, 'reject', wanted);
    held?.release();
    return held !== undefined;
  };
  t.same([1, 500, 501, 1_000, 1_001].map(admits), [true, true, false, false, true]);
  const { rejection } = limiter.admit(path, start, 'reject', 501);
  t.equal(rejection?.retryAfterSeconds, 61, 'use alone is in the way');

  // The state store is asked for the same, where a fleet shares the cap.
  const mayGoAlone = (): (boolean | undefined)[] => {
    const [match] = path.matched();
    return [1, 1_000, 1_001].map((wanted) => match && lanesOf(match.caps, wanted)[0]?.mayGoAlone);
  };
  t.same(mayGoAlone(), [false, false, true]);
  limiter.reconcile([thousand], { reserveTokens: 'p90' });
  t.same(mayGoAlone(), [false, true, true], 'less than one token is no room');
});

await test('a wish is never more than the cap, and without one a request is asked for one token', async (t) => {
  const limiter = limiterOf(thousand);
  const small = open(limiter, 1);
  t.equal(reserve(limiter, lease(limiter, '/'), 5_000), 1, 'all of the cap, which is not free');
  t.equal(reserve(limiter, lease(limiter, '/'), 0), undefined, 'nothing is set aside for what has no estimate');
  t.same(tokensOf(limiter), [0, 1, 999]);
  small.release();
  open(limiter, 5_000);
  t.same(tokensOf(limiter), [0, 1_000, 0]);
});

await test('Retry-After is the first second at which use alone leaves room for the wish', async (t) => {
  const limiter = limiterOf(thousand);
  const path = limiter.forUserPath('/');
  limiter.charge(path, 300, start);
  limiter.charge(path, 300, start + 20_000);
  const later = start + 30_000;
  const wait = (wanted: number): number =>
    explain([], path, later, { wanted, before: { retryAfterSeconds: 0 } as never }).retryAfterSeconds;
  t.equal(wait(5_000), 0, 'one may go');
  const held = lease(limiter, '/', later);
  reserve(limiter, held, 100, later);
  t.equal(wait(300), 0, '600 used, 100 set aside, 300 wanted');
  t.equal(wait(301), 1, 'only what is set aside is in the way');
  t.equal(wait(400), 1);
  t.equal(wait(401), 31, 'the first use must leave');
  t.equal(wait(700), 31);
  t.equal(wait(701), 51, 'all use must leave');
  limiter.charge(path, 400, later);
  t.equal(wait(0), 31, 'used up');
});

await test('the headers of a request say what remains beside the others, not beside itself', async (t) => {
  const limiter = limiterOf(thousand, target);
  const path = limiter.forUserPath('/');
  const model = limiter.forTarget('p', 'm');
  const remaining = (own?: Lease): string | undefined =>
    rateLimitHeaders(undefined, { matches: path, lease: own }, start)[3];
  const first = open(limiter, 300);
  t.equal(remaining(first), '1000');
  const second = open(limiter, 200);
  t.equal(remaining(first), '800');
  t.equal(remaining(second), '700');
  t.equal(remaining(), '500');
  const asked = limiter.admit(model, start, 'skip_target', 900).lease;
  limiter.admit(model, start, 'skip_target', 40);
  const told = rateLimitHeaders({ matches: model, lease: asked }, { matches: path, lease: first }, start);
  t.equal(told[3], '800', 'that of the consumer is the least');
  first.release();
  second.release();
  t.equal(rateLimitHeaders({ matches: model, lease: asked }, { matches: path }, start)[3], '960');
});

await test('a target is asked only where its rules have room for the estimate, and gives it back with its lease', async (t) => {
  const limiter = limiterOf(target);
  const model = limiter.forTarget('p', 'm');
  const first = limiter.admit(model, start, 'skip_target', 700).lease;
  const refused = limiter.admit(model, start, 'skip_target', 301);
  t.match(refused.rejection, { dimension: 'tokens', cap: 1_000, retryAfterSeconds: 1 });
  t.same(decided(limiter), { 'tokens allow': 1, 'tokens skip_target': 1 });
  t.ok(limiter.admit(model, start, 'skip_target', 300).lease);
  first?.refund(start);
  first?.release();
  t.equal(limiter.report(model, start)[0]?.tokensReserved, 300, 'once');
});

await test('a shadow rule without room counts a shadow_reject, and nothing of the request', async (t) => {
  const shadow = ruleOf('user_path', '/', minute, { maxTokens: 1_000, maxRequests: 10, mode: 'shadow' });
  const limiter = limiterOf(shadow);
  const path = limiter.forUserPath('/');
  const first = open(limiter, 600);
  const second = lease(limiter, '/');
  t.equal(reserve(limiter, second, 500), undefined);
  t.same(tokensOf(limiter), [0, 600, 400]);
  t.same(used(limiter, '/'), [1]);
  t.same(decided(limiter), { 'requests allow': 2, 'tokens allow': 2, 'tokens shadow_reject': 1 });
  limiter.charge(path, 500, start, second);
  t.same(tokensOf(limiter), [0, 600, 400], 'its tokens count as little as those of a refused request');
  second.refund(start);
  t.same(used(limiter, '/'), [1]);
  first.release();
  t.same(tokensOf(limiter), [0, 0, 1_000]);

  const model = limiterOf({ ...target, mode: 'shadow' });
  model.admit(model.forTarget('p', 'm'), start, 'skip_target', 900);
  t.ok(model.admit(model.forTarget('p', 'm'), start, 'skip_target', 200).lease);
  t.equal(model.report(model.forTarget('p', 'm'), start)[0]?.tokensReserved, 900);
});

await test('after a reset, a deletion or an edit, giving back changes no new counter', async (t) => {
  const limiter = limiterOf(thousand);
  const before = open(limiter, 700);
  limiter.reconcile([{ ...thousand, epoch: 1 }]);
  t.same(tokensOf(limiter), [0, 0, 1_000]);
  const after = open(limiter, 400);
  before.release();
  t.same(tokensOf(limiter), [0, 400, 600]);
  limiter.reconcile([{ ...thousand, epoch: 1, maxTokens: 300 }]);
  t.same(tokensOf(limiter), [0, 400, 0], 'a lower cap');
  t.notOk(ask(limiter, '/'));
  limiter.reconcile([]);
  limiter.reconcile([thousand]);
  after.refund(start);
  t.same(tokensOf(limiter), [0, 0, 1_000]);
});

await test('a request reserves under the rules it was admitted under, and never after its end', async (t) => {
  const limiter = createLimiter();
  const early = lease(limiter, '/');
  limiter.reconcile([thousand]);
  t.equal(reserve(limiter, early, 100), undefined);
  t.same(tokensOf(limiter), [0, 0, 1_000], 'it was not counted under the new rule');
  const over = lease(limiter, '/');
  over.release();
  t.equal(reserve(limiter, over, 100), undefined);
  t.same(tokensOf(limiter), [0, 0, 1_000]);
});

await test('a child whose request is open is not evicted, and proxies tell what is set aside', async (t) => {
  const limiter = createLimiter({ isExported: false });
  limiter.reconcile([ruleOf('user_path', '/c', minute, { maxTokens: 1_000, perChild: true }), thousand]);
  const path = limiter.forUserPath('/c/a');
  const held = limiter.admit(path, start, 'reject', 250).lease;
  t.equal(limiter.sweep(start + 120_000), 0);
  t.match(atOnce(limiter.live(start)).counters, [[thousand.key, 0, 0, 0, 0, 250]]);
  const ids = new Set(limiter.rules().map(({ id }) => id));
  const figures = [...limiter.utilisationByRule(ids, start)].flatMap((step) => step.figures);
  t.same(
    figures.map(({ reserved }) => reserved),
    [250, 250],
  );
  held?.release();
  t.equal(limiter.sweep(start + 120_000), 1);
  t.same(atOnce(limiter.live(start)).counters, []);
});
