// One proxy and the store: what becomes of requests and of stocks at moments that a random world reaches rarely.
import { test } from 'tap';
import type { LimitNotice } from '../../../../domain/limits/exchange.ts';
import { Fleet } from '../../../../proxy/limits/fleet/fleet.ts';
import { createLimiter, type Limiter } from '../../../../proxy/limits/limiter.ts';
import { renewLease } from '../../../../proxy/limits/renew.ts';
import { attach, exchange, look } from '../../../../store/state/limits/book.ts';
import { MemoryTables } from '../../../support/limit-tables.ts';
import { ruleOf } from '../rule-of.ts';

const startMs = 1_800_000_000_000;
const admitting = { rejectedAs: 'reject', wanted: 0 } as const;

/** A proxy whose clock is that of the store, and whose messages take no time. */
class Alone {
  readonly tables = new MemoryTables();
  readonly limiter: Limiter = createLimiter({ isExported: false });
  readonly fleet: Fleet;
  nowMs = startMs;

  constructor(rules: Parameters<Limiter['reconcile']>[0]) {
    const ownUses = (nowMs: number) => this.limiter.ownUses(nowMs);
    this.fleet = new Fleet({ instance: 'a', boot: 'b', ownUses }, this.nowMs);
    this.limiter.share(this.fleet);
    this.limiter.reconcile(rules, { isShared: true, onStoreLoss: 'share' });
    const message = this.fleet.attachMessage('fresh', 'run');
    this.fleet.attached(attach(this.tables, message, this.nowMs), this.nowMs, this.nowMs);
    this.#exchange();
  }

  #exchange(): void {
    const told: LimitNotice[] = [];
    const answer = exchange(this.tables, this.fleet.message(this.nowMs), this.nowMs, (notice) => told.push(notice));
    this.fleet.answered(answer, this.nowMs);
    for (const notice of told) this.fleet.told(notice, this.nowMs);
  }

  /** Lets time pass, and begins the exchanges that are due. */
  pass(ms: number): void {
    this.nowMs += ms;
    this.fleet.pass(this.nowMs);
    while (this.fleet.isDue(this.nowMs)) this.#exchange();
  }

  ask(path: string): ReturnType<Limiter['admitSoon']> {
    return this.limiter.admitSoon(this.limiter.forUserPath(path), this.nowMs, admitting);
  }
}

await test('a process that was stopped asks the store before it takes it for lost', async (t) => {
  const proxy = new Alone([ruleOf('user_path', '/team', 60, { maxRequests: 10 })]);
  proxy.fleet.message(proxy.nowMs);
  proxy.nowMs += 12_000;
  const asked = proxy.ask('/team');
  t.type(asked, Promise, 'it is not decided by the share of this proxy');
  proxy.fleet.pass(proxy.nowMs);
  t.ok(proxy.fleet.isLost);
  t.ok((await asked).lease, 'behind a turn of the event loop without an answer it is');
});

await test('a request whose body came slowly stays counted once, in the slice in which it goes on', async (t) => {
  const proxy = new Alone([ruleOf('user_path', '/team', 60, { maxRequests: 1 })]);
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
  const proxy = new Alone([ruleOf('user_path', '/team', 60, { maxRequests: 10, perChild: true })]);
  const asked = proxy.ask('/team/a');
  const { items } = proxy.fleet.message(proxy.nowMs);
  t.match(items, [{ cap: 10 }]);
  proxy.fleet.detached(proxy.nowMs);
  proxy.fleet.pass(proxy.nowMs + 250);
  await asked;
});

await test('a small request goes though a large one has no room', async (t) => {
  const proxy = new Alone([ruleOf('user_path', '/team', 60, { maxTokens: 100 })]);
  const ask = (wanted: number): ReturnType<Limiter['admitSoon']> =>
    proxy.limiter.admitSoon(proxy.limiter.forUserPath('/team'), proxy.nowMs, { rejectedAs: 'reject', wanted });
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

await test('a rule that goes tells what was used of it, and gives back what it held', async (t) => {
  const rule = ruleOf('user_path', '/team', 60, { maxRequests: 1_000 });
  const proxy = new Alone([rule]);
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
  const proxy = new Alone([rule]);
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
  const proxy = new Alone([ruleOf('user_path', '/team', 10, { maxRequests: 10, perChild: true })]);
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
