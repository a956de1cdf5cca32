// The spends that proxies are told: which of many, how often, and how they survive being stored.
import { test } from 'tap';
import { type BudgetStanding, spendsOf, verdictsOf } from '../../control-plane/budgets/standing.ts';
import { createTeller, type Standings, tellingSpends } from '../../control-plane/budgets/tell.ts';
import { type MergedBudget, mergeBudgets } from '../../domain/budgets/merge-budgets.ts';
import {
  type BudgetSpends,
  mostSpendCharacters,
  mostSpends,
  readSpends,
  spendsBody,
} from '../../domain/budgets/spends.ts';
import { fetchSpends, publishSpends, revisionOfSpends } from '../../store/state/budget-spends.ts';
import type { Heartbeat } from '../../store/state/state-store.ts';
import { declaredParts } from '../support/budget-parts.ts';

const start = Date.UTC(2026, 2, 1, 12);
const everything = { enabled: true, hasTemplates: true, usageEnabled: true };
const limits = [{ period: 'daily', amount: 1, mode: 'enforce' }] as const;

function budgetsOf(declared: Parameters<typeof declaredParts>[0], prerequisites = everything): MergedBudget[] {
  const { budgets: config } = declaredParts(declared);
  return mergeBudgets({ config, manual: [], resets: [], nowMs: start, prerequisites });
}

function standing(budget: MergedBudget, spend: ReadonlyMap<string, number>): BudgetStanding {
  const { scope, subject, perChild } = budget;
  const window = { startMs: start, endMs: start + 86_400_000 };
  return { budget, spend, window, question: { scope, subject, perChild, fromMs: start } };
}

const [template, batch] = budgetsOf({
  user_paths: [{ path: '/c', per_child: true, limits: [...limits] }],
  labels: [{ label: 'batch', limits: [{ period: 'daily', amount: 1, mode: 'shadow' }] }],
});
if (template === undefined || batch === undefined) throw new Error('there are no budgets');

/** A store of heartbeats in memory. */
function beats() {
  const kept = new Map<string, Heartbeat>();
  let wholes = 0;
  return {
    wholes: () => wholes,
    async writeHeartbeat(beat: Heartbeat) {
      if (beat.instance === 'budgets spends') wholes += 1;
      kept.set(beat.instance, structuredClone(beat));
    },
    async heartbeats(instance?: string) {
      return [...kept.values()].filter((beat) => instance === undefined || beat.instance === instance);
    },
  };
}

const stored = (spends: BudgetSpends): unknown => JSON.parse(JSON.stringify(spendsBody(spends)));

await test('of more subjects than can be told those with the greatest share are told, and those in shadow last', async (t) => {
  const children = new Map(Array.from({ length: mostSpends + 2 }, (_, index) => [`/c/${index}`, index + 1]));
  const whole = spendsOf([standing(batch, new Map([['batch', 5e9]])), standing(template, children)], start);
  t.equal(whole.spends.length, mostSpends);
  t.equal(whole.unlisted, 3);
  t.same(whole.windows, [
    { key: batch.key, perChild: false, fromMs: start, unlisted: 1 },
    { key: template.key, perChild: true, fromMs: start, unlisted: 2 },
  ]);
  const smallest = Math.min(...whole.spends.map(({ spent }) => spent));
  t.equal(smallest, 3, 'the two that have spent least are left out');
  t.same(readSpends(stored(whole)), whole);
  t.ok(JSON.stringify(spendsBody(whole)).length < 500_000, 'half a megabyte');
});

await test('long names and many budgets are bounded as well', async (t) => {
  const long = 'x'.repeat(1_000);
  const named = spendsOf(
    [standing(template, new Map(Array.from({ length: 2_000 }, (_, i) => [`${long}${i}`, i + 1])))],
    0,
  );
  const characters = named.spends.reduce((sum, { effectiveSubject }) => sum + effectiveSubject.length, 0);
  t.ok(characters <= mostSpendCharacters && characters > mostSpendCharacters - 1_010);
  t.equal(named.unlisted, 2_000 - named.spends.length);
  t.equal(named.spends[0]?.spent, 2_000, 'the one that has spent most is among them');
  const many = budgetsOf({
    labels: Array.from({ length: mostSpends + 1 }, (_, i) => ({ label: `l${i}`, limits: [...limits] })),
  });
  const most = spendsOf(
    many.map((budget) => standing(budget, new Map([[budget.subject, budget.subject === 'l7' ? 1 : 2]]))),
    0,
  );
  t.equal(most.windows.length, mostSpends);
  t.notOk(
    most.windows.some(({ key }) => key.endsWith(' l7')),
    'the one that has spent least',
  );
  t.equal(most.unlisted, 1);
  t.ok(readSpends(stored(most)));
});

await test('a budget that is not enforced is not told, and neither is what was given back', async (t) => {
  const off = budgetsOf({ labels: [{ label: 'batch', limits: [...limits] }] }, { ...everything, enabled: false });
  t.same(
    spendsOf(
      off.map((each) => standing(each, new Map([['batch', 1]]))),
      start,
    ),
    {
      computedAtMs: start,
      windows: [],
      spends: [],
      unlisted: 0,
    },
  );
  t.same(spendsOf([standing(template, new Map([['/c/a', -1]]))], start).spends, []);
});

await test('a verdict on a hard budget is one that proxies of every version read', async (t) => {
  const [hard] = budgetsOf({ labels: [{ label: 'batch', limits: [{ period: 'daily', amount: 1, mode: 'hard' }] }] });
  t.equal(hard?.mode, 'hard');
  t.match(verdictsOf(hard === undefined ? [] : [standing(hard, new Map([['batch', 1e9]]))], start).verdicts, [
    { subject: 'batch', mode: 'enforce' },
  ]);
});

await test('a sum beyond what is exact is told as the largest that is', async (t) => {
  const standings = [standing(template, new Map([['/c/a', 2 ** 60]]))];
  t.match(readSpends(stored(spendsOf(standings, start)))?.spends, [{ spent: Number.MAX_SAFE_INTEGER }]);
  t.match(verdictsOf(standings, start).verdicts, [{ spent: Number.MAX_SAFE_INTEGER }]);
});

await test('a body that is no spends is none', async (t) => {
  const good = { computed_at_ms: 1, unlisted: 0, windows: [['k', false, 5, 0]], spends: [[0, 's', 7]] };
  t.same(readSpends(good), {
    computedAtMs: 1,
    unlisted: 0,
    windows: [{ key: 'k', perChild: false, fromMs: 5, unlisted: 0 }],
    spends: [{ key: 'k', perChild: false, effectiveSubject: 's', fromMs: 5, spent: 7 }],
  });
  const bad: object[] = [
    { computed_at_ms: -1 },
    { unlisted: 0.5 },
    { windows: 'k' },
    { windows: [['k', 0, 5, 0]] },
    { windows: [['k', false, Number.MAX_SAFE_INTEGER, 0]] },
    { windows: [null] },
    { spends: undefined },
    { spends: [[1, 's', 7]] },
    { spends: [[-1, 's', 7]] },
    { spends: [['length', 's', 7]] },
    { spends: [[0, 8, 7]] },
    { spends: [[0, 's', 0]] },
    { spends: Array.from({ length: mostSpends + 1 }, () => [0, 's', 7]) },
  ];
  for (const damage of bad) t.equal(readSpends({ ...good, ...damage }), undefined, JSON.stringify(damage).slice(0, 60));
  for (const body of [undefined, null, 7, [], {}]) t.equal(readSpends(body), undefined);
});

await test('what is known is not read again, and a content has one name whenever it was computed', async (t) => {
  const store = beats();
  const spends = spendsOf([standing(template, new Map([['/c/a', 5]]))], start);
  const revision = revisionOfSpends(spends);
  t.equal(revisionOfSpends({ ...spends, computedAtMs: start + 9 }), revision);
  await publishSpends(store, { ...spends, revision }, start);
  t.same(await fetchSpends(store, undefined), { ...spends, revision });
  t.equal(await fetchSpends(store, revision), undefined);
});

await test('spends are told at most once a second, less often when they are many, and again when nothing has changed', async (t) => {
  const store = beats();
  const tell = createTeller(store, tellingSpends);
  let spent = 0;
  const of = (children: number): Standings => {
    spent += 1;
    const spend = new Map(Array.from({ length: children }, (_, index) => [`/c/${index}`, spent]));
    return { all: [standing(template, spend)], askedAtMs: start };
  };
  /** How many bodies were written by this call. */
  const writes = async (standings: Standings, atMs: number): Promise<number> => {
    const before = store.wholes();
    await tell(standings, start + atMs);
    return store.wholes() - before;
  };
  t.equal(await writes({ all: [], askedAtMs: start }, 0), 0, 'nothing is told of nothing');
  t.equal(await writes(of(1), 0), 1);
  t.equal(await writes(of(1), 999), 0, 'before a second is over');
  const many = of(3_000);
  t.equal(await writes(many, 1_000), 1);
  t.equal(await writes(of(3_000), 3_999), 0, 'a second for each thousand');
  const last = of(3_000);
  t.equal(await writes(last, 4_000), 1);
  t.equal(await writes(last, 8_999), 0, 'the same');
  t.equal(await writes(last, 9_000), 1, 'a sign of life');
  t.equal(await writes({ ...last }, 12_000), 0, 'asked anew, and the same');
  t.equal(await writes(of(3_000), 12_500), 0, 'it was computed half a second ago');
  t.equal(await writes(of(3_000), 0), 1, 'the clock was set back');
});
