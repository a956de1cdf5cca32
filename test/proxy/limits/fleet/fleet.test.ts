// One proxy and the store: what becomes of requests and of stocks at moments that a random world reaches rarely.
import { test } from 'tap';
import type { Limiter } from '../../../../proxy/limits/limiter.ts';
import { renewLease } from '../../../../proxy/limits/renew.ts';
import { reserveTokensSoon } from '../../../../proxy/limits/reserve.ts';
import { exchange, look } from '../../../../store/state/limits/book.ts';
import { ruleOf } from '../rule-of.ts';
import { SharingProxy } from './sharing-proxy.ts';

await test('a process that was stopped asks the store before it takes it for lost', async (t) => {
  const proxy = new SharingProxy([ruleOf('user_path', '/team', 60, { maxRequests: 10 })]);
  proxy.fleet.message(proxy.nowMs);
  proxy.nowMs += 12_000;
  const asked = proxy.ask('/team');
  t.type(asked, Promise, 'it is not decided by the share of this proxy');
  proxy.fleet.pass(proxy.nowMs);
  t.ok(proxy.fleet.isLost);
  t.ok((await asked).lease, 'behind a turn of the event loop without an answer it is');
});

for (const onStoreLoss of ['closed', 'share'] as const) {
  await test(`${onStoreLoss}: a store that recovers for long is as good as lost, and no request waits for it`, async (t) => {
    const proxy = new SharingProxy([ruleOf('user_path', '/team', 60, { maxRequests: 10 })], { onStoreLoss });
    const other = new SharingProxy([], { instance: 'silent', tables: proxy.tables });
    t.equal(other.fleet.live, 2);
    proxy.pass(500);
    proxy.attach('another run');
    const asked = proxy.ask('/team');
    for (let ms = 0; ms < 250; ms += 50) proxy.pass(50);
    const { lease, rejection } = await asked;
    if (onStoreLoss === 'closed') t.ok(rejection?.exhausted[0]?.isStoreLost, 'nobody says that its cap is used up');
    else t.ok(lease, 'it goes by the share of this proxy');
    t.notOk(proxy.ask('/team') instanceof Promise);
    for (let ms = 0; ms < 2_000; ms += 50) proxy.pass(50);
    t.notOk(proxy.fleet.isLost, 'the others have been given their time');
    const later = proxy.ask('/team');
    proxy.pass(1);
    t.ok((await later).lease);
  });
}

await test('a request whose body came slowly stays counted once, in the slice in which it goes on', async (t) => {
  const proxy = new SharingProxy([ruleOf('user_path', '/team', 60, { maxRequests: 1 })]);
  const first = proxy.ask('/team');
  proxy.pass(1);
  const { lease } = await first;
  if (lease === undefined) throw new Error('the first request has room');
  const refused = proxy.ask('/team');
  proxy.pass(1);
  t.ok((await refused).rejection, 'the cap is used up');
  proxy.pass(5_000);
  t.equal(await renewLease(lease, proxy.limiter.forUserPath('/team'), proxy.nowMs), undefined);
  proxy.pass(1_000);
  const [report] = proxy.limiter.report(proxy.limiter.forUserPath('/team'), proxy.nowMs);
  t.equal(report?.requestsUsed, 1);
  t.equal(proxy.limiter.decisions().filter(({ outcome }) => outcome === 'shadow_reject').length, 0);
  const later = proxy.ask('/team');
  proxy.pass(1);
  t.ok((await later).rejection);
});

await test('a request of a child that was never counted is asked for with the cap of its rule', async (t) => {
  const proxy = new SharingProxy([ruleOf('user_path', '/team', 60, { maxRequests: 10, perChild: true })]);
  const asked = proxy.ask('/team/a');
  const { items } = proxy.fleet.message(proxy.nowMs);
  t.match(items, [{ cap: 10 }]);
  proxy.fleet.detached(proxy.nowMs);
  proxy.fleet.pass(proxy.nowMs + 250);
  await asked;
});

await test('a small request goes though a large one has no room', async (t) => {
  const proxy = new SharingProxy([ruleOf('user_path', '/team', 60, { maxTokens: 100 })]);
  const ask = (wanted: number): ReturnType<SharingProxy['ask']> => proxy.ask('/team', wanted);
  const first = ask(60);
  proxy.pass(1);
  t.ok((await first).lease);
  const [large, small] = [ask(50), ask(10)];
  proxy.pass(1);
  t.ok((await small).lease);
  proxy.pass(1);
  const next = ask(10);
  proxy.pass(1);
  t.ok((await next).lease, 'also behind the answer that there is none for the large one');
  proxy.pass(300);
  t.ok((await large).rejection);
});

await test('a notice of room that overtakes the answer that there is none is not lost', async (t) => {
  const rules = [ruleOf('user_path', '/team', 86_400, { maxTokens: 100 })];
  const holder = new SharingProxy(rules);
  const take = (proxy: SharingProxy, wanted: number): ReturnType<Limiter['admitSoon']> =>
    proxy.limiter.admitSoon(proxy.limiter.forUserPath('/team'), proxy.nowMs, { rejectedAs: 'reject', wanted });
  const open = take(holder, 100);
  holder.pass(1);
  const { lease } = await open;
  const asker = new SharingProxy(rules, { instance: 'c', tables: holder.tables, nowMs: holder.nowMs });
  const asked = take(asker, 50);
  // The holder is asked to give back first, and has nothing spare.
  asker.pass(1);
  for (const proxy of [holder, asker]) proxy.nowMs += 20;
  asker.fleet.pass(asker.nowMs);
  const answer = exchange(asker.tables, asker.fleet.message(asker.nowMs), asker.nowMs, () => undefined);
  lease?.release();
  holder.pass(1);
  asker.fleet.told({ kind: 'room', key: holder.tables.counterKeys()[0] ?? '' }, asker.nowMs);
  t.match(answer, { answers: [{ recallMs: 0, freeInMs: -1 }] });
  asker.fleet.answered(answer, asker.nowMs);
  asker.pass(1);
  t.ok((await asked).lease, 'it does not wait for a day');
});

await test('a request whose tokens are not known yet lets no larger one go alone', async (t) => {
  const rules = [ruleOf('user_path', '/team', 60, { maxTokens: 100 })];
  const holder = new SharingProxy(rules);
  const open = holder.limiter.admitSoon(holder.limiter.forUserPath('/team'), holder.nowMs, {
    rejectedAs: 'reject',
    wanted: 90,
  });
  holder.pass(1);
  t.ok((await open).lease);
  const asker = new SharingProxy(rules, { instance: 'c', tables: holder.tables, nowMs: holder.nowMs });
  const admitted = asker.ask('/team');
  asker.pass(1);
  const { lease } = await admitted;
  if (lease === undefined) throw new Error('some tokens are left');
  const reserved = reserveTokensSoon(lease, asker.limiter.forUserPath('/team'), 50, asker.nowMs);
  asker.pass(1);
  asker.pass(300);
  t.ok(await reserved, 'another one is open');
});

/** Lets a proxy ask twice, so that it holds units in advance. */
async function hold(proxy: SharingProxy): Promise<{ readonly key: string; readonly spare: number }> {
  for (const asked of [proxy.ask('/team'), proxy.ask('/team')]) {
    proxy.pass(1);
    await asked;
  }
  proxy.pass(1);
  const again = proxy.ask('/team');
  proxy.pass(1);
  await again;
  const [key = ''] = proxy.tables.counterKeys();
  proxy.pass(500);
  return { key, spare: look(proxy.tables, key, proxy.nowMs).held };
}

await test('a request waits for spare units of a proxy that answers late, and not for those that are used up', async (t) => {
  const rules = [ruleOf('user_path', '/team', 60, { maxRequests: 16 })];
  const holder = new SharingProxy(rules);
  const { key, spare } = await hold(holder);
  const asker = new SharingProxy(rules, { instance: 'c', tables: holder.tables, nowMs: holder.nowMs });
  const outcomes: boolean[] = [];
  const asked = Array.from({ length: 13 }, async () => outcomes.push((await asker.ask('/team')).lease !== undefined));
  for (let ms = 0; ms < 200; ms += 20) asker.pass(20);
  await Promise.resolve();
  t.ok(spare >= 2, `${spare} are spare`);
  t.same(outcomes, Array(13 - spare).fill(true), 'the others wait');
  holder.nowMs = asker.nowMs;
  await holder.ask('/team');
  holder.fleet.told({ kind: 'return', key }, holder.nowMs);
  holder.pass(1);
  asker.fleet.told({ kind: 'room', key }, asker.nowMs);
  asker.pass(1);
  await Promise.all(asked);
  t.equal(outcomes.filter((isAdmitted) => isAdmitted).length, 12, 'all but the one that the holder has used');
  t.equal(outcomes.length, 13, 'which is known at once');
});

await test('a proxy that has used up what it held tells so when it is asked to give back', async (t) => {
  const proxy = new SharingProxy([ruleOf('user_path', '/team', 60, { maxRequests: 16 })]);
  const { key, spare } = await hold(proxy);
  const before = look(proxy.tables, key, proxy.nowMs).used;
  for (let count = 0; count < spare; count += 1) await proxy.ask('/team');
  proxy.fleet.told({ kind: 'return', key }, proxy.nowMs);
  proxy.pass(0);
  t.match(look(proxy.tables, key, proxy.nowMs), { used: before + spare, held: 0 });
});

await test('a rule that goes tells what was used of it, and gives back what it held', async (t) => {
  const rule = ruleOf('user_path', '/team', 60, { maxRequests: 1_000 });
  const proxy = new SharingProxy([rule]);
  const asked = proxy.ask('/team');
  proxy.pass(1);
  await asked;
  proxy.limiter.reconcile([], { isShared: true });
  proxy.pass(600);
  const [key = ''] = proxy.tables.counterKeys();
  t.match(look(proxy.tables, key, proxy.nowMs), { used: 1, held: 0 });
});

await test('slots that are held when the scope changes are released all the same', async (t) => {
  const rule = ruleOf('user_path', '/team', 0, { maxRequests: 10 });
  const proxy = new SharingProxy([rule]);
  const asked = proxy.ask('/team');
  proxy.pass(1);
  const { lease } = await asked;
  proxy.limiter.reconcile([rule], { isShared: false });
  lease?.release();
  proxy.pass(10_000);
  const [key = ''] = proxy.tables.counterKeys();
  t.equal(look(proxy.tables, key, proxy.nowMs).held, 0);
});

await test('children that come and go leave nothing behind', async (t) => {
  const proxy = new SharingProxy([ruleOf('user_path', '/team', 10, { maxRequests: 10, perChild: true })]);
  const children = 5_000;
  const asked: unknown[] = [];
  for (let child = 0; child < children; child += 1) {
    asked.push(proxy.ask(`/team/${child}`));
    if (child % 50 === 0) proxy.pass(1);
  }
  proxy.pass(1);
  await Promise.all(asked);
  t.equal(proxy.fleet.status.stocks, children);
  for (let step = 0; step < 200; step += 1) {
    proxy.pass(500);
    proxy.limiter.sweep(proxy.nowMs);
  }
  t.match(proxy.fleet.status, { waiting: 0, stocks: 0 });
  t.equal(proxy.limiter.size, 0);
});
