// What one proxy says of a rule that the fleet counts: what all have used, set aside and hold, also while the store is lost.
import { test } from 'tap';
import type { OnStoreLoss } from '../../../../domain/rules/on-store-loss.ts';
import { rateLimitHeaders } from '../../../../proxy/limits/headers.ts';
import type { Lease } from '../../../../proxy/limits/lease.ts';
import type { RuleReport } from '../../../../proxy/limits/report.ts';
import { ruleOf } from '../rule-of.ts';
import { type Rules, SharingProxy } from './sharing-proxy.ts';

const path = '/team';
const window = ruleOf('user_path', path, 60, { maxRequests: 10, maxTokens: 1_000 });
const slots = ruleOf('user_path', path, 0, { maxRequests: 4 });

/** Two proxies whose clocks are one. */
function pairOf(rules: Rules, onStoreLoss: OnStoreLoss = 'share') {
  const one = new SharingProxy(rules, { instance: 'one', onStoreLoss });
  const two = new SharingProxy(rules, { instance: 'two', tables: one.tables, onStoreLoss });
  const pass = (ms: number): void => {
    for (const proxy of [one, two]) proxy.pass(ms);
  };
  return { one, two, pass };
}

type Pair = ReturnType<typeof pairOf>;

/** The lease of an admitted request. */
async function admitted({ pass }: Pair, proxy: SharingProxy, wanted = 0): Promise<Lease> {
  const asked = proxy.ask(path, wanted);
  pass(1);
  const { lease } = await asked;
  if (lease === undefined) throw new Error('it was refused');
  return lease;
}

/** What a proxy reports behind a look at the store. */
async function reported({ pass }: Pair, proxy: SharingProxy): Promise<RuleReport[]> {
  const matches = proxy.limiter.forUserPath(path);
  const refreshed = proxy.limiter.refresh([matches], proxy.nowMs);
  pass(1);
  await refreshed;
  return proxy.limiter.report(matches, proxy.nowMs);
}

await test('each proxy reports what all have used, set aside and in flight, and since when', async (t) => {
  const pair = pairOf([window, slots]);
  const { one, two, pass } = pair;
  const begunMs = one.nowMs;
  const first = await admitted(pair, one, 300);
  pass(2_000);
  await admitted(pair, two, 100);
  one.limiter.charge(one.limiter.forUserPath(path), 50, one.nowMs);
  pass(2_000);
  for (const proxy of [one, two]) {
    const [flying, counted] = await reported(pair, proxy);
    t.match(flying, { inFlight: 2, requestsRemaining: 2 });
    t.match(counted, {
      requestsUsed: 2,
      requestsRemaining: 8,
      tokensUsed: 50,
      tokensReserved: 400,
      tokensRemaining: 550,
    });
    t.match(counted?.shared, { exactness: 'exact', onStoreLoss: 'share', replicas: 2, isClosed: false });
    t.equal(counted?.windowStartMs, begunMs);
    t.equal(counted?.windowEndMs, begunMs + 2_000 + 61_000);
  }
  first.release();
  pass(1_000);
  const [flying, counted] = await reported(pair, two);
  t.match(flying, { inFlight: 1, requestsRemaining: 3 });
  t.match(counted, { tokensReserved: 100, tokensRemaining: 850 });
});

await test('what proxies hold in advance is told apart, and remains', async (t) => {
  const pair = pairOf([ruleOf('user_path', path, 60, { maxRequests: 1_000 })]);
  const { one, two, pass } = pair;
  for (let request = 0; request < 20; request += 1) await admitted(pair, one);
  pass(1);
  const [ofOne] = await reported(pair, one);
  const [ofTwo] = await reported(pair, two);
  t.match([ofOne, ofTwo], [{ requestsRemaining: 980 }, { requestsRemaining: 980 }]);
  t.ok((ofOne?.shared?.held ?? 0) > 0);
  t.equal(ofTwo?.shared?.heldByOthers, ofOne?.shared?.held);
  t.match([ofOne?.shared?.heldByOthers, ofTwo?.shared?.held], [0, 0]);
});

await test('headers leave out what requests at other proxies have set aside, and not what the request has itself', async (t) => {
  const pair = pairOf([window]);
  const { one, two, pass } = pair;
  await admitted(pair, one, 300);
  pass(1_000);
  const lease = await admitted(pair, two, 100);
  const told = rateLimitHeaders(undefined, { matches: two.limiter.forUserPath(path), lease }, two.nowMs);
  t.equal(told[told.indexOf('x-ratelimit-remaining-tokens') + 1], '700');
  t.equal(told[told.indexOf('x-ratelimit-remaining-requests') + 1], '8');
});

await test('a refusal says what open requests of all proxies have set aside, and what is left', async (t) => {
  const pair = pairOf([window]);
  const { one, two, pass } = pair;
  await admitted(pair, one, 600);
  const asked = two.ask(path, 500);
  for (let step = 0; step < 10; step += 1) pass(50);
  const { rejection } = await asked;
  t.match(rejection, { dimension: 'tokens', remaining: 400, reserved: 600 });
});

await test('a shadow rule is reported as the fleet counts it', async (t) => {
  const pair = pairOf([ruleOf('user_path', path, 60, { maxRequests: 10, mode: 'shadow' })]);
  await admitted(pair, pair.one);
  pair.pass(1_000);
  t.match(await reported(pair, pair.two), [{ requestsUsed: 1, requestsRemaining: 9 }]);
});

await test('while the store is lost a proxy reports what it admits alone, and reports decide nothing', async (t) => {
  const expected = {
    share: { remaining: 4, exhausted: false, isClosed: false },
    open: { remaining: 9, exhausted: false, isClosed: false },
    closed: { remaining: 0, exhausted: true, isClosed: true },
  } as const;
  for (const [mode, { remaining, exhausted, isClosed }] of Object.entries(expected)) {
    const pair = pairOf([window], mode as keyof typeof expected);
    const { one, two, pass } = pair;
    await admitted(pair, one);
    await admitted(pair, two);
    pass(1_000);
    await reported(pair, one);
    one.loseStore();
    const matches = one.limiter.forUserPath(path);
    await one.limiter.refresh([matches], one.nowMs);
    const [report] = one.limiter.report(matches, one.nowMs);
    t.match(report, { requestsUsed: 2, requestsRemaining: remaining, exhausted }, mode);
    t.match(report?.shared, { exactness: mode, onStoreLoss: mode, isClosed, replicas: 2 }, mode);
    if (isClosed) t.equal(report?.resetsInSeconds, 1, 'as Retry-After says');
    t.equal(one.fleet.counts.withoutStore, 0, mode);
    t.equal((await one.ask(path)).lease === undefined, exhausted, mode);
    t.equal(one.fleet.counts.withoutStore > 0, true, 'a decision is counted');
  }
});

await test('the utilisation of a cap is that of the fleet, and requests in flight are those of the proxy', async (t) => {
  const pair = pairOf([window, slots]);
  const { one, two, pass } = pair;
  for (const proxy of [one, one, two]) await admitted(pair, proxy);
  pass(1_000);
  await reported(pair, two);
  const ids = new Set([window.id, slots.id]);
  const figures = [...two.limiter.utilisationByRule(ids, two.nowMs)].flatMap((step) => step.figures);
  const told = figures.map(({ dimension, ratio, inFlight }) => `${dimension} ${ratio} ${inFlight}`);
  t.same(told.sort(), ['concurrent 0.75 1', 'requests 0.3 0', 'tokens 0 0']);
});
