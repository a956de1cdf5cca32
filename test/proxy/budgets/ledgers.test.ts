// What one proxy counts under budgets: at once, in the present window, of the right subject, and corrected by records.
import { test } from 'tap';
import { giveBack } from '../../../proxy/limits/set-aside.ts';
import { LedgerStand, pathBudget } from './ledger-stand.ts';

const startMs = Date.UTC(2026, 9, 1);
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

await test('what a call has cost counts at once, for its path and all above it', (t) => {
  const stand = new LedgerStand({ user_paths: [pathBudget('/Team', 1), pathBudget('/', 5)] }, startMs);
  stand.spend('/team/app', 0.75);
  t.equal(stand.refusal('/team/app'), undefined);
  stand.spend('/TEAM', 0.5);
  t.equal(stand.refusal('/team/other'), '/Team 1.25');
  t.same(stand.spent('/team'), [1.25, 1.25]);
  t.equal(stand.refusal('/teams'), undefined);
  stand.spend('/teams', 4);
  t.equal(stand.refusal('/teams'), '/ 5.25');
  t.end();
});

await test('children of a template and labels have ledgers of their own', (t) => {
  const labels = [{ label: 'Batch', limits: [{ period: 'daily' as const, amount: 1, mode: 'enforce' as const }] }];
  const stand = new LedgerStand({ user_paths: [pathBudget('/customers', 1, { perChild: true })], labels }, startMs);
  stand.spend('/customers/Alice/app', 1, { labels: ['Batch'] });
  t.equal(stand.refusal('/customers/alice'), '/customers/Alice 1');
  t.equal(stand.refusal('/customers/bob'), undefined);
  t.equal(stand.refusal('/customers'), undefined);
  t.equal(stand.refusal({ userPath: '/x', labels: ['Batch'] }), 'Batch 1');
  t.equal(stand.refusal({ userPath: '/x', labels: ['batch'] }), undefined, 'the letter case of labels counts');
  t.end();
});

await test('each window begins with nothing spent, and holds all that was spent in it', (t) => {
  const lists = { user_paths: [pathBudget('/month', 1), pathBudget('/hour', 1, { period: 'hourly' })] };
  const stand = new LedgerStand(lists, startMs);
  stand.spend('/month', 1);
  stand.spend('/hour', 1);
  stand.nowMs = startMs + hourMs - 1;
  t.equal(stand.refusal('/hour'), '/hour 1');
  stand.nowMs = startMs + hourMs;
  t.equal(stand.refusal('/hour'), undefined);
  stand.nowMs = startMs + 31 * dayMs - 1;
  t.equal(stand.refusal('/month'), '/month 1', 'on the last of 31 days');
  stand.nowMs = startMs + 31 * dayMs;
  t.equal(stand.refusal('/month'), undefined);
  stand.spend('/month', 1, { atMs: stand.nowMs - 1 });
  t.equal(stand.refusal('/month'), undefined, 'a call that ended in the former month');
  t.end();
});

await test('another amount or mode keeps what is spent; a reset forgets it, and what goes is not enforced', (t) => {
  const stand = new LedgerStand({ user_paths: [pathBudget('/team', 1)] }, startMs);
  stand.spend('/team', 1);
  stand.keep({ user_paths: [pathBudget('/team', 2)] });
  t.equal(stand.refusal('/team'), undefined);
  stand.keep({ user_paths: [pathBudget('/team', 1, { mode: 'hard' })] });
  t.equal(stand.refusal('/team'), '/team 1');
  stand.keep({ user_paths: [pathBudget('/team', 1, { mode: 'shadow' })] });
  t.equal(stand.refusal('/team'), undefined);
  t.match(stand.budgets.verdicts.decisions(), [{ counts: { reject: 1, shadow_reject: 1 } }]);
  stand.nowMs += 10;
  stand.keep({ user_paths: [pathBudget('/team', 1)] }, { resetAtMs: stand.nowMs });
  t.same(stand.spent('/team'), [0]);
  stand.keep({});
  t.ok(stand.budgets.isEmpty);
  t.end();
});

await test('a verdict of before a reset, or before a higher amount, is none', (t) => {
  const lists = { user_paths: [pathBudget('/team', 1)] };
  const stand = new LedgerStand(lists, startMs + dayMs);
  stand.tell('/team', 1, startMs);
  t.equal(stand.refusal('/team/app'), '/team 1');
  stand.keep(lists, { resetAtMs: stand.nowMs });
  t.equal(stand.refusal('/team/app'), undefined, 'the reset came before the next verdict');
  t.same(stand.budgets.covering('/team', undefined, stand.nowMs), [], 'nor is it shown');
  stand.tell('/team', 1, startMs);
  t.equal(stand.refusal('/team/app'), undefined, 'a verdict was under way');
  stand.tell('/team', 2, stand.nowMs);
  t.equal(stand.refusal('/team/app'), '/team 2', 'spent since');
  stand.tell('/team', 2);
  t.equal(stand.refusal('/team/app'), '/team 2', 'of a control plane that does not say since when');
  stand.keep({ user_paths: [pathBudget('/team', 3)] });
  t.equal(stand.refusal('/team/app'), undefined, 'a raise');
  t.end();
});

await test('an enforced budget sets aside what is known of a call, a hard one all that it may cost', async (t) => {
  for (const mode of ['enforce', 'hard'] as const) {
    const stand = new LedgerStand({ user_paths: [pathBudget('/team', 1, { mode })] }, startMs);
    const take = () => stand.take('/team/app', (of) => (of === 'hard' ? 0.4 : 0.01));
    const open = await Promise.all([take(), take(), take()]);
    t.same(
      open.map(({ spent }) => spent !== undefined),
      [false, false, mode === 'hard'],
      mode,
    );
    t.equal(open[2]?.spent?.againAtMs, mode === 'hard' ? startMs + 1_000 : undefined, 'others may cost less');
    for (const { aside } of open.flatMap((taken) => (taken.spent === undefined ? [taken] : []))) {
      stand.spend('/team/app', 0.3);
      for (const each of aside) giveBack(each);
    }
    t.equal((await take()).spent, undefined, 'what was not spent is left');
  }
});

await test('one call at a time may exceed an enforced budget; no call a hard one', async (t) => {
  const known = (): number => 0.2;
  const enforced = new LedgerStand({ user_paths: [pathBudget('/team', 1)] }, startMs);
  enforced.spend('/team', 0.9);
  t.equal((await enforced.take('/team', known)).spent, undefined);
  t.match((await enforced.take('/team', known)).spent, { wanted: 2e8 }, 'not beside another one');
  const hard = new LedgerStand({ user_paths: [pathBudget('/team', 1, { mode: 'hard' })] }, startMs);
  hard.spend('/team', 0.9);
  const { spent } = await hard.take('/team', known);
  t.match(spent, { wanted: 2e8, spent: 9e8 });
  t.equal(spent?.againAtMs, undefined, 'only the end of the window lets it go');
});

await test('a proxy that starts anew knows what records say', (t) => {
  const stand = new LedgerStand({ user_paths: [pathBudget('/Team', 1)] }, startMs);
  stand.record([{ effectiveSubject: '/team', dollars: 0.9 }], startMs);
  t.equal(stand.refusal('/team'), undefined);
  stand.spend('/team', 0.2);
  t.equal(stand.refusal('/team'), '/Team 1.1');
  stand.record([{ effectiveSubject: '/team', dollars: 0.9 }], startMs + 1);
  t.same(stand.spent('/team'), [1.1], 'figures of another window say nothing');
  t.end();
});

await test('children beyond the bound are not counted here, and others as before', (t) => {
  const lists = { user_paths: [pathBudget('/customers', 1, { perChild: true })] };
  const stand = new LedgerStand(lists, startMs, { enforcement: { maxChildren: 1 } });
  for (const child of ['a', 'b']) stand.spend(`/customers/${child}`, 2);
  t.equal(stand.refusal('/customers/a'), '/customers/a 2');
  t.equal(stand.refusal('/customers/b'), undefined);
  t.equal(stand.budgets.ledgers.overflowed, 1, 'looking counts nothing');
  t.end();
});

await test('children that are only named leave their room to those that spend', (t) => {
  const lists = { user_paths: [pathBudget('/customers', 1, { perChild: true })] };
  const stand = new LedgerStand(lists, startMs, { enforcement: { maxChildren: 3 } });
  stand.spend('/customers/spent', 2);
  for (let child = 0; child < 5; child += 1) stand.refusal(`/customers/named-${child}`);
  t.equal(stand.budgets.ledgers.sweep(startMs, 100), 2);
  stand.spend('/customers/b', 2);
  t.equal(stand.refusal('/customers/b'), '/customers/b 2');
  t.equal(stand.refusal('/customers/spent'), '/customers/spent 2', 'what was spent stays');
  t.end();
});
