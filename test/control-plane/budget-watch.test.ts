// What the watch asks, tells the proxies and says in the log: by a clock of the test, a real state store, and records in memory.
import { type Test, test } from 'tap';
import { type BudgetStanding, verdictsOf } from '../../control-plane/budgets/standing.ts';
import { createThresholdLines } from '../../control-plane/budgets/thresholds.ts';
import { watchBudgets } from '../../control-plane/budgets/watch.ts';
import { beginnings } from '../../control-plane/records/keep-records.ts';
import type { BudgetReset } from '../../domain/budgets/budget-reset.ts';
import { type MergedBudget, mergeBudgets } from '../../domain/budgets/merge-budgets.ts';
import { mostVerdicts, readVerdicts, verdictsBody } from '../../domain/budgets/verdicts.ts';
import { defaultAnchors } from '../../domain/budgets/window.ts';
import { fetchSpends, type PublishedSpends } from '../../store/state/budget-spends.ts';
import { fetchVerdicts, type PublishedVerdicts } from '../../store/state/budget-verdicts.ts';
import { openStateStore } from '../../store/state/open.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { declaredParts, memoryOfSpend } from '../support/budget-parts.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const start = Date.UTC(2026, 2, 1, 12);
const dayEnd = Date.UTC(2026, 2, 2);
const everything = { enabled: true, hasTemplates: true, usageEnabled: true };
const { budgets: declared } = declaredParts({
  user_paths: [
    { path: '/team', per_child: false, limits: [{ period: 'daily', amount: 1, mode: 'enforce' }] },
    { path: '/customers', per_child: true, limits: [{ period: 'monthly', amount: 2, mode: 'enforce' }] },
  ],
  labels: [{ label: 'batch', limits: [{ period: 'weekly', amount: 0.5, mode: 'shadow' }] }],
});

function watching(t: Test) {
  const at = { nowMs: start };
  const resets: BudgetReset[] = [];
  const records = memoryOfSpend();
  const store = openStateStore({ directory: temporaryDirectory(t), pollMs: 20 });
  const said: string[] = [];
  const say = (fields: object | string, text?: string): void =>
    void said.push(text ?? (typeof fields === 'string' ? fields : ''));
  let writes = 0;
  const watch = watchBudgets({
    records,
    store: {
      writeHeartbeat(beat) {
        writes += 1;
        return store.writeHeartbeat(beat);
      },
    },
    budgets: (nowMs) => mergeBudgets({ config: declared, manual: [], resets, nowMs, prerequisites: everything }),
    anchors: () => defaultAnchors,
    nowMs: () => at.nowMs,
    log: { info: say, warn: say, error: say },
  });
  t.teardown(async () => {
    watch.close();
    await store.close();
  });
  /** The verdicts, as soon as they are as `isWanted` says. */
  const told = async (isWanted: (verdicts: PublishedVerdicts) => boolean): Promise<PublishedVerdicts> => {
    let last: PublishedVerdicts | undefined;
    await waitFor('the verdicts', async () => {
      last = (await fetchVerdicts(store, undefined)) ?? last;
      return last !== undefined && isWanted(last);
    });
    if (last === undefined) throw new Error('nothing was told');
    return last;
  };
  /** The spends, as soon as they are as `isWanted` says. */
  const toldSpends = async (isWanted: (spends: PublishedSpends) => boolean): Promise<PublishedSpends> => {
    let last: PublishedSpends | undefined;
    await waitFor('the spends', async () => {
      last = (await fetchSpends(store, undefined)) ?? last;
      return last !== undefined && isWanted(last);
    });
    if (last === undefined) throw new Error('nothing was told');
    return last;
  };
  return { at, resets, records, store, said, watch, told, toldSpends, writes: () => writes };
}

await test('what is used up is told to the proxies, until its window ends or it is reset', async (t) => {
  const { at, resets, records, store, said, watch, told, writes } = watching(t);
  const none = await told(({ verdicts }) => verdicts.length === 0);
  t.equal(await fetchVerdicts(store, none.revision), undefined, 'what is known is not read again');
  records.pay(start, 0.8, { userPath: '/team/app' });
  records.pay(start, 2, { userPath: '/customers/alice/x' });
  records.pay(start, 1.9, { userPath: '/customers/bob' });
  records.pay(start, 0.5, { labels: ['batch'] });
  watch.recordsArrived();
  const first = await told(({ verdicts }) => verdicts.length === 2);
  t.match(first.verdicts, [
    {
      subject: '/customers',
      effectiveSubject: '/customers/alice',
      amount: 2e9,
      spent: 2e9,
      endMs: Date.UTC(2026, 3, 1),
      mode: 'enforce',
    },
    { scope: 'label', subject: 'batch', effectiveSubject: 'batch', mode: 'shadow' },
  ]);
  t.same(said.toSorted(), [
    'the budget label batch weekly is spent; it is in shadow, so nothing is refused',
    'the budget user_path /customers monthly of /customers/alice is spent',
    'the budget user_path /team daily is spent to 80 %',
  ]);
  const before = { writes: writes(), asked: records.asked() };
  watch.recordsArrived();
  await waitFor('another question', () => records.asked() > before.asked);
  await watch.refresh();
  t.equal(writes(), before.writes, 'the same is not told again');
  at.nowMs += 5_000;
  await waitFor('a sign of life', () => writes() > before.writes);
  records.pay(at.nowMs, 0.2, { userPath: '/team' });
  watch.recordsArrived();
  const second = await told(({ verdicts }) => verdicts.length === 3);
  t.match(second.verdicts[1], { subject: '/team', spent: 1e9, endMs: dayEnd });
  t.equal(said.at(-1), 'the budget user_path /team daily is spent');
  t.equal(said.length, 4, 'each is said once');
  resets.push({ id: second.verdicts[0] === undefined ? '' : 'user_path 86400 /team', atMs: at.nowMs + 1 });
  watch.changed();
  await told(({ verdicts }) => verdicts.length === 2);
  at.nowMs = Date.UTC(2026, 3, 1);
  await told(({ verdicts }) => verdicts.length === 0);
});

await test('the spend of every subject is told, of budgets in shadow too, and which budgets have none', async (t) => {
  const { at, resets, records, watch, toldSpends } = watching(t);
  const none = await toldSpends(() => true);
  const monthMs = Date.UTC(2026, 2, 1);
  t.same(none.windows, [
    { key: 'user_path 2592000 /customers', perChild: true, fromMs: monthMs, unlisted: 0 },
    { key: 'user_path 86400 /team', perChild: false, fromMs: monthMs, unlisted: 0 },
    { key: 'label 604800 batch', perChild: false, fromMs: Date.UTC(2026, 1, 23), unlisted: 0 },
  ]);
  t.same(none.spends, []);
  records.pay(start, 0.25, { userPath: '/Team/app', labels: ['batch'] });
  records.pay(start, 3, { userPath: '/customers/Alice' });
  at.nowMs += 1_000;
  const first = await toldSpends(({ spends }) => spends.length === 3);
  t.same(
    first.spends.map(({ effectiveSubject, perChild, spent }) => [effectiveSubject, perChild, spent]),
    [
      ['/customers/alice', true, 3e9],
      ['/team', false, 0.25e9],
      ['batch', false, 0.25e9],
    ],
  );
  t.equal(first.computedAtMs, at.nowMs, 'as of the question to the records');
  resets.push({ id: 'user_path 86400 /team', atMs: at.nowMs });
  at.nowMs += 1_000;
  watch.changed();
  const second = await toldSpends(({ revision }) => revision !== first.revision);
  t.match(second.windows[1], { key: 'user_path 86400 /team', fromMs: start + 1_000 });
  t.notOk(
    second.spends.some(({ effectiveSubject }) => effectiveSubject === '/team'),
    'nothing since the reset',
  );
});

await test('while the record store does not answer, the last verdicts stand, and it is said once', async (t) => {
  const { at, records, said, watch, told } = watching(t);
  records.pay(start, 1, { userPath: '/team' });
  watch.recordsArrived();
  await told(({ verdicts }) => verdicts.length === 1);
  records.failWith(new StoreUnavailable('unreachable', 'gone'));
  watch.recordsArrived();
  await waitFor('a line', () => said.some((line) => line.startsWith('what budgets have spent cannot be read')));
  const asked = records.asked();
  const passing = (isDone: () => boolean) => () => {
    at.nowMs += 250;
    return isDone();
  };
  await waitFor(
    'other questions',
    passing(() => records.asked() > asked + 2),
  );
  t.notOk(said.includes('budgets are watched again'), 'a look that asks nothing proves nothing');
  await t.rejects(watch.refresh(), { name: 'StoreUnavailable' });
  t.equal((await told(() => true)).verdicts.length, 1);
  records.failWith(undefined);
  await waitFor(
    'a line',
    passing(() => said.includes('budgets are watched again')),
  );
  t.equal(said.filter((line) => line.startsWith('what budgets')).length, 1);
});

await test('more verdicts than can be told leave out those in shadow first, and survive being stored', async (t) => {
  const children = new Map(Array.from({ length: mostVerdicts }, (_, index) => [`/customers/${index}`, 2e9]));
  const merged = mergeBudgets({ config: declared, manual: [], resets: [], nowMs: start, prerequisites: everything });
  const standing = (budget: MergedBudget, spend: Map<string, number>): BudgetStanding => ({
    budget,
    spend,
    window: { startMs: start, endMs: dayEnd },
    question: { scope: budget.scope, subject: budget.subject, perChild: budget.perChild, fromMs: start },
  });
  const standings = merged.toReversed().map((budget) => {
    return standing(budget, budget.perChild ? children : new Map([[budget.subject, 5e9]]));
  });
  const whole = verdictsOf(standings, start);
  t.equal(whole.verdicts.length, mostVerdicts);
  t.equal(whole.unlisted, 2);
  t.notOk(whole.verdicts.some(({ mode }) => mode === 'shadow'));
  t.same(readVerdicts(JSON.parse(JSON.stringify(verdictsBody(whole)))), whole);
  t.ok(JSON.stringify(verdictsBody(whole)).length < 2_000_000);
  const [one] = whole.verdicts;
  if (one === undefined) throw new Error('there is none');
  for (const damage of [
    { fromMs: 0.5 },
    { amount: -1 },
    { scope: 'model' as never },
    { endMs: Number.NaN },
    { mode: 'off' as never },
  ]) {
    const damaged = verdictsBody({ ...whole, verdicts: [{ ...one, ...damage }] });
    t.equal(readVerdicts(JSON.parse(JSON.stringify(damaged))), undefined, JSON.stringify(damage));
  }
  for (const body of [undefined, null, 7, {}, { computed_at_ms: 1, unlisted: 0, verdicts: [[]] }]) {
    t.equal(readVerdicts(body), undefined);
  }
  const off = mergeBudgets({
    config: declared,
    manual: [],
    resets: [],
    nowMs: start,
    prerequisites: { ...everything, enabled: false },
  });
  t.same(
    verdictsOf(
      off.map((budget) => standing(budget, children)),
      start,
    ).verdicts,
    [],
    'switched off',
  );
  const lines: string[] = [];
  const say = (fields: object | string, text?: string): void =>
    void lines.push(text ?? (typeof fields === 'string' ? fields : ''));
  createThresholdLines({ info: say, warn: say })(off.map((budget) => standing(budget, children)));
  t.same(lines, []);
});

await test('of a hard budget the log says that calls are refused before all of it is spent', (t) => {
  const { budgets: config } = declaredParts({
    labels: [{ label: 'batch', limits: [{ period: 'daily', amount: 1, mode: 'hard' }] }],
  });
  const merged = mergeBudgets({ config, manual: [], resets: [], nowMs: start, prerequisites: everything });
  const lines: string[] = [];
  const say = (fields: object | string, text?: string): void =>
    void lines.push(`${text} ${typeof fields === 'string' ? '' : JSON.stringify(fields)}`);
  const tell = createThresholdLines({ info: say, warn: say });
  const spent = (dollars: number): void =>
    tell(
      merged.map((budget) => ({
        budget,
        spend: new Map([['batch', dollars * 1e9]]),
        window: { startMs: start, endMs: dayEnd },
        question: { scope: budget.scope, subject: budget.subject, perChild: false, fromMs: start },
      })),
    );
  spent(0.85);
  spent(1);
  t.match(lines[0], /batch daily is spent to 85 %; it is hard, so calls that may cost more than the rest are refused/);
  t.match(lines[0], /"mode":"hard"/);
  t.match(lines[1], /batch daily is spent \{/);
  t.equal(lines.length, 2);
  t.end();
});

await test('usage that a budget counts is kept until its window ends, however short its retention', async (t) => {
  const { at, watch } = watching(t);
  const retention = { audit: { retention: '1d' }, usage: { retention: '7d' } };
  const kept = () => beginnings(retention, at.nowMs, watch.countedSinceMs());
  at.nowMs = Date.UTC(2026, 2, 20, 12);
  t.same(
    kept(),
    {
      minutesBeforeMs: Date.UTC(2026, 2, 20, 5),
      auditBeforeMs: Date.UTC(2026, 2, 19, 12),
      usageBeforeMs: Date.UTC(2026, 2, 1),
    },
    'the month',
  );
  at.nowMs = Date.UTC(2026, 3, 3);
  t.equal(kept().usageBeforeMs, Date.UTC(2026, 2, 27), 'the last month is over');
  t.same(beginnings(retention, start, Number.POSITIVE_INFINITY).usageBeforeMs, start - 7 * 86_400_000, 'no budget');
});
