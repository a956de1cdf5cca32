// Money that a fleet shares: what one proxy spends binds the others, also while the store is lost, when it has lost all, and behind records.
import { test } from 'tap';
import type { LimitNotice } from '../../../domain/limits/exchange.ts';
import type { OnStoreLoss } from '../../../domain/rules/on-store-loss.ts';
import { Ledgers } from '../../../proxy/budgets/ledgers.ts';
import { Fleet } from '../../../proxy/limits/fleet/fleet.ts';
import { giveBack } from '../../../proxy/limits/set-aside.ts';
import { attach, exchange } from '../../../store/state/limits/book.ts';
import { MemoryTables } from '../../support/limit-tables.ts';
import { LedgerStand, type Lists, pathBudget } from './ledger-stand.ts';

const startMs = Date.UTC(2026, 9, 1);
const lists = { user_paths: [pathBudget('/team', 10)] };

/** Proxies on one store, whose clock is theirs and whose messages take no time. */
class Proxies {
  readonly all: { readonly stand: LedgerStand; readonly fleet: Fleet }[] = [];
  tables = new MemoryTables();
  nowMs = startMs;
  isAway = false;

  constructor(count: number, budgets: Lists = lists, onStoreLoss: OnStoreLoss = 'share') {
    for (let index = 0; index < count; index += 1) {
      const ledgers = new Ledgers();
      const ownUses = (atMs: number) => ledgers.ownUses(atMs);
      const fleet = new Fleet({ instance: `proxy-${index}`, boot: 'b', ownUses }, this.nowMs);
      ledgers.share(fleet);
      const stand = new LedgerStand(budgets, this.nowMs, { ledgers, enforcement: { isShared: true, onStoreLoss } });
      this.all.push({ stand, fleet });
    }
    this.attach();
    this.pass(0);
  }

  get stands(): readonly LedgerStand[] {
    return this.all.map(({ stand }) => stand);
  }

  /** All proxies connect to the store as it is now. */
  attach(): void {
    for (const { fleet } of this.all) {
      const message = fleet.attachMessage('fresh', 'run');
      fleet.attached(attach(this.tables, message, this.nowMs), this.nowMs, this.nowMs);
    }
  }

  /** Lets time pass, and does what is due in it. */
  pass(ms: number): void {
    this.nowMs += ms;
    for (const { stand, fleet } of this.all) {
      stand.nowMs = this.nowMs;
      fleet.pass(this.nowMs);
    }
    // A store that is away gets the next message, and gives no answer.
    if (this.isAway) for (const { fleet } of this.all) if (fleet.isDue(this.nowMs)) fleet.message(this.nowMs);
    if (this.isAway) return;
    while (this.all.some(({ fleet }) => this.#exchanged(fleet)));
  }

  #exchanged(fleet: Fleet): boolean {
    if (!fleet.isDue(this.nowMs)) return false;
    const told: LimitNotice[] = [];
    const answer = exchange(this.tables, fleet.message(this.nowMs), this.nowMs, (notice) => told.push(notice));
    fleet.answered(answer, this.nowMs);
    for (const notice of told) for (const each of this.all) each.fleet.told(notice, this.nowMs);
    return true;
  }

  /** As long as a request waits for the store, and a little more. */
  #passWait(): void {
    for (let ms = 0; ms <= 260; ms += 20) this.pass(20);
  }

  /** What a proxy says to a request of the team; it waits as long as it may. */
  async refusal(index: number) {
    const asked = this.all[index]?.stand.budgets.refusing({ userPath: '/team/app' }, this.nowMs);
    if (asked instanceof Promise) this.#passWait();
    return asked;
  }

  /** Sets dollars aside at a proxy. */
  async take(index: number, dollars: number) {
    const taken = this.all[index]?.stand.take('/team/app', () => dollars);
    if (taken instanceof Promise) this.#passWait();
    return await taken;
  }
}

await test('what one proxy has spent and set aside binds the others', async (t) => {
  const proxies = new Proxies(3);
  proxies.stands[0]?.spend('/team', 6);
  proxies.pass(500);
  const open = await proxies.take(1, 3.5);
  t.equal(open?.spent, undefined);
  t.match((await proxies.take(2, 1))?.spent, { spent: 6e9, againAtMs: Number }, 'another one is open');
  if (open?.spent === undefined) for (const each of open?.aside ?? []) giveBack(each);
  proxies.stands[1]?.spend('/team', 4);
  proxies.pass(500);
  for (const index of [0, 1, 2]) t.match(await proxies.refusal(index), { spent: 10e9 }, `proxy ${index}`);
});

await test('a store that has lost all is told what was spent', async (t) => {
  const proxies = new Proxies(2);
  proxies.stands[0]?.spend('/team', 6);
  proxies.stands[1]?.spend('/team', 4);
  proxies.pass(500);
  proxies.tables = new MemoryTables();
  proxies.attach();
  proxies.pass(500);
  proxies.pass(3_000);
  for (const index of [0, 1]) t.match(await proxies.refusal(index), { spent: 10e9 }, `proxy ${index}`);
});

await test('while the store is lost, a proxy spends its part, nothing, or all, as on_store_loss says', async (t) => {
  const cases = { share: 5, closed: 0, open: 10 } as const;
  for (const onStoreLoss of Object.keys(cases) as OnStoreLoss[]) {
    const proxies = new Proxies(2, lists, onStoreLoss);
    t.equal(await proxies.refusal(0), undefined);
    proxies.isAway = true;
    for (let ms = 0; ms < 4_000; ms += 500) proxies.pass(500);
    const [stand] = proxies.stands;
    let spent = 0;
    for (; spent < 20 && (await proxies.refusal(0)) === undefined; spent += 1) stand?.spend('/team', 1);
    t.equal(spent, cases[onStoreLoss], onStoreLoss);
    t.equal((await proxies.refusal(0))?.isStoreLost, onStoreLoss === 'closed' ? true : undefined);
  }
});

await test('while the store is lost, proxies spend together no more than was left, whoever had spent it', async (t) => {
  const proxies = new Proxies(2);
  proxies.stands[0]?.spend('/team', 7);
  proxies.pass(500);
  for (const index of [0, 1]) t.equal(await proxies.refusal(index), undefined);
  proxies.isAway = true;
  for (let ms = 0; ms < 1_000; ms += 500) proxies.pass(500);
  for (const [index, stand] of proxies.stands.entries()) {
    let spent = 0;
    for (; spent < 20 && (await proxies.refusal(index)) === undefined; spent += 1) stand.spend('/team', 0.5);
    t.equal(spent, 3, `1.5 dollars at proxy ${index}`);
  }
});

await test('records correct the store once all proxies have told what they say', async (t) => {
  const proxies = new Proxies(2);
  const tell = (dollars: number): void => {
    for (const stand of proxies.stands) stand.record([{ effectiveSubject: '/team', dollars }], startMs);
  };
  t.equal(await proxies.refusal(0), undefined);
  tell(8);
  t.same(proxies.stands[0]?.spent('/team'), [0], 'another proxy may be about to tell the same');
  for (let ms = 0; ms < 4_000; ms += 500) {
    await proxies.refusal(0);
    proxies.pass(500);
  }
  t.same(proxies.stands[0]?.spent('/team'), [8], 'nobody did: the store did not know it');
  proxies.stands[0]?.spend('/team', 2);
  proxies.pass(500);
  t.match(await proxies.refusal(0), { spent: 10e9 });
});

await test('records of what the store knows change nothing', async (t) => {
  const proxies = new Proxies(2);
  for (let second = 0; second < 20; second += 1) {
    await proxies.refusal(second % 2);
    proxies.stands[second % 2]?.spend('/team', 0.1);
    for (const stand of proxies.stands) stand.record([{ effectiveSubject: '/team', dollars: second * 0.1 }], startMs);
    proxies.pass(1_000);
  }
  const ledgers = proxies.stands.flatMap(({ budgets }) => budgets.ledgers.of({ userPath: '/team' }, proxies.nowMs));
  t.same(
    ledgers.map(({ counter }) => counter.uncounted),
    [0, 0],
  );
});
