// Which verdict refuses a request: by user path, by child and by label, until its window ends.
import { test } from 'tap';
import type { BudgetVerdict } from '../../../domain/budgets/verdicts.ts';
import { Budgets } from '../../../proxy/budgets/budgets.ts';
import { BudgetsInForce } from '../../../proxy/budgets/budgets-in-force.ts';
import type { Spender } from '../../../proxy/budgets/ledgers.ts';
import type { SpentBudget } from '../../../proxy/budgets/spent-budget.ts';
import { budgetRefusal, spentBudget } from '../../../proxy/stages/budget.ts';
import { mostLabelledBudgets } from '../../../schemas/metrics/limit-metrics.ts';

const nowMs = 1_000_000;

function verdict(effectiveSubject: string, more: Partial<BudgetVerdict> = {}): BudgetVerdict {
  return {
    id: `id of ${effectiveSubject}`,
    scope: 'user_path',
    subject: effectiveSubject,
    effectiveSubject,
    perChild: false,
    periodSeconds: 86_400,
    amount: 1_000_000_000,
    spent: 1_250_000_000,
    startMs: 0,
    endMs: nowMs + 60_000,
    mode: 'enforce',
    ...more,
  };
}

function budgetsOf(...verdicts: BudgetVerdict[]): BudgetsInForce {
  const budgets = new BudgetsInForce();
  budgets.put(verdicts);
  return budgets;
}

/** Decides on a request as its admission does. */
function decide(budgets: BudgetsInForce, { userPath, labels }: Spender, atMs = nowMs): SpentBudget | undefined {
  return budgets.note(budgets.covering(userPath, labels, atMs));
}

await test('a verdict refuses its path and everything below it, and those with its label', async (t) => {
  const budgets = budgetsOf(verdict('/team'), verdict('/customers/alice'), verdict('batch', { scope: 'label' }));
  const cases: [userPath: string, labels: readonly string[] | undefined, by: string | undefined][] = [
    ['/', undefined, undefined],
    ['/team', undefined, '/team'],
    ['/team/app/deep', undefined, '/team'],
    ['/team-alpha', undefined, undefined],
    ['/Team/App', undefined, '/team'],
    ['/customers', undefined, undefined],
    ['/customers/alice/x', undefined, '/customers/alice'],
    ['/customers/bob', undefined, undefined],
    ['/other', ['nightly', 'batch'], 'batch'],
    ['/other', ['Batch'], undefined],
    ['/batch', undefined, undefined],
  ];
  for (const [userPath, labels, by] of cases) {
    t.equal(
      decide(budgets, { userPath: userPath, labels })?.effectiveSubject,
      by,
      `${userPath} ${labels?.join() ?? ''}`,
    );
  }
  t.equal(decide(budgetsOf(verdict('/')), { userPath: '/' })?.effectiveSubject, '/');
  t.equal(decide(budgetsOf(verdict('/')), { userPath: '/a/b' })?.effectiveSubject, '/');
});

await test('the one with the longest wait speaks, then the outermost; nothing does after its window', async (t) => {
  const later = verdict('/team/app', { endMs: nowMs + 90_000 });
  const budgets = budgetsOf(verdict('/team'), later, verdict('/'), verdict('batch', { scope: 'label' }));
  t.equal(decide(budgets, { userPath: '/team/app', labels: ['batch'] }), later);
  t.equal(decide(budgets, { userPath: '/team', labels: ['batch'] })?.subject, '/');
  t.equal(decide(budgets, { userPath: '/team/app' }, nowMs + 60_000), later);
  t.equal(decide(budgets, { userPath: '/team/app' }, nowMs + 90_000), undefined);
  budgets.put([]);
  t.equal(budgets.isEmpty, true);
  t.equal(decide(budgets, { userPath: '/team' }), undefined);
});

await test('one in shadow refuses nothing and is counted; so is every refusal, up to so many budgets apart', async (t) => {
  const budgets = budgetsOf(verdict('/team', { mode: 'shadow', id: 's' }), verdict('/team/app', { id: 'e' }));
  t.equal(decide(budgets, { userPath: '/team' }), undefined);
  t.equal(decide(budgets, { userPath: '/team/app' })?.id, 'e');
  t.same(budgets.decisions(), [
    { budget: 's', counts: { reject: 0, shadow_reject: 1 } },
    { budget: 'e', counts: { reject: 1, shadow_reject: 0 } },
  ]);
  t.equal(budgets.covering('/team/app', undefined, nowMs).length, 2, 'looking counts nothing');
  const many = Array.from({ length: mostLabelledBudgets + 5 }, (_, index) => verdict(`/many/${index}`));
  budgets.put(many);
  for (const { effectiveSubject } of many) decide(budgets, { userPath: effectiveSubject });
  t.equal(budgets.decisions().length, mostLabelledBudgets + 1);
  t.same(budgets.decisions().at(-1), { budget: 'other', counts: { reject: 7, shadow_reject: 0 } });
});

await test('the refusal names subject, period, what was spent and the amount, and when to come again', async (t) => {
  const budgets = new Budgets();
  budgets.verdicts.put([verdict('batch', { scope: 'label', periodSeconds: 300, endMs: nowMs + 60_001 })]);
  const gateway = { budgets, nowMs: () => nowMs + 0.5 };
  t.match(spentBudget({ shownPath: '/', labels: ['batch'] }, gateway), {
    code: 'budget_exceeded',
    status: 429,
    type: 'rate_limit_error',
    message: 'Budget exceeded for label batch: 1.250000 of 1.000000 US dollars are spent (300s). Retry in 61 s.',
    headers: { 'retry-after': '61', 'x-gateway-rule': 'id of batch' },
  });
  t.equal(spentBudget({ shownPath: '/', labels: undefined }, gateway), undefined);
  const long = budgetRefusal(verdict('/team', { endMs: nowMs + 86_400_000 }), '/team', nowMs);
  t.same(long.headers, { 'retry-after': '86400', 'x-gateway-rule': 'id of /team', 'x-should-retry': 'false' });
});
