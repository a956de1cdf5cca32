// Budgets of operators over those of the configuration: which one counts, and what a stored document may hold.
import { test } from 'tap';
import { compileBudgets } from '../../../domain/budgets/budget.ts';
import { readBudgetReset } from '../../../domain/budgets/budget-reset.ts';
import { readManualAnchors } from '../../../domain/budgets/budget-settings.ts';
import { type ManualBudget, manualBudgetBody, readManualBudget } from '../../../domain/budgets/manual-budget.ts';
import { explainUnenforcedBudget, mergeBudgets } from '../../../domain/budgets/merge-budgets.ts';
import { manualBudgets } from '../../../domain/documents/kinds.ts';

const nowMs = Date.UTC(2026, 2, 1);
const everything = { enabled: true, hasTemplates: true, usageEnabled: true };
const key = 'user_path 86400 /team';
const body = {
  scope: 'user_path',
  subject: '/team',
  per_child: false,
  period_seconds: 86_400,
  amount_nano_dollars: 3_000_000_000,
  mode: 'enforce',
  created_at: '2026-03-01T00:00:00Z',
  updated_at: '2026-03-01T00:00:00Z',
  updated_by: 'master_key',
};

function manual(more: object = {}): ManualBudget {
  const read = readManualBudget(key, { ...body, ...more });
  if (read === undefined) throw new Error('the document cannot be read');
  return read;
}

const config = compileBudgets({
  user_paths: [{ path: 'team/', per_child: false, limits: [{ period: 'daily', amount: 10.5, mode: 'enforce' }] }],
  labels: [{ label: 'Batch', limits: [{ period_seconds: 60, amount: 1e-9, mode: 'shadow' }] }],
});

await test('the budgets of a configuration', async (t) => {
  t.match(config, [
    { key, subject: '/team', amount: 10_500_000_000, periodSeconds: 86_400, source: 'config' },
    { key: 'label 60 Batch', subject: 'Batch', amount: 1, mode: 'shadow' },
  ]);
});

await test('a budget of an operator replaces the declared one until it ends', async (t) => {
  const sources = { config, resets: [], nowMs, prerequisites: everything };
  const shown = (given: ManualBudget[], more: Partial<typeof sources> = {}) =>
    mergeBudgets({ ...sources, ...more, manual: given })
      .filter((budget) => budget.key === key)
      .map(({ source, amount, mode, overridesConfig, enforced }) => [source, amount, mode, overridesConfig, enforced]);
  t.same(shown([]), [['config', 10_500_000_000, 'enforce', false, true]]);
  t.same(shown([manual()]), [['manual', 3_000_000_000, 'enforce', true, true]]);
  t.same(shown([manual({ expires_at: '2026-03-01T00:00:00Z' })]), [['config', 10_500_000_000, 'enforce', false, true]]);
  t.same(
    shown([manual({ amount_nano_dollars: 99e9, mode: 'shadow', tightens: true })]),
    [['manual', 10_500_000_000, 'enforce', true, true]],
    'one that may only tighten does not loosen',
  );
  const hard = { config: config.map((each) => ({ ...each, mode: 'hard' as const })) };
  t.match(shown([manual({ tightens: true })], hard), [['manual', 3_000_000_000, 'hard']], 'the stricter mode stays');
  t.match(shown([manual({ tightens: true, mode: 'hard' })]), [['manual', 3_000_000_000, 'hard']]);
  t.match(shown([manual()], hard), [['manual', 3_000_000_000, 'enforce']], 'one with more rights may loosen');
  const unentitled = { prerequisites: { ...everything, hasTemplates: false } };
  t.same(
    shown([manual({ per_child: true })], unentitled),
    [
      ['config', 10_500_000_000, 'enforce', false, true],
      ['manual', 3_000_000_000, 'enforce', false, false],
    ],
    'one that cannot be enforced hides nothing',
  );
  const [unused] = mergeBudgets({ ...sources, manual: [], prerequisites: { ...everything, usageEnabled: false } });
  t.match(unused && explainUnenforcedBudget(unused), /USAGE_ENABLED is false/);
  const [off] = mergeBudgets({ ...sources, manual: [], prerequisites: { ...everything, enabled: false } });
  t.equal(off && explainUnenforcedBudget(off), 'budgets are switched off');
});

await test('the later one of two resets counts', async (t) => {
  const resets = [readBudgetReset(key, { reset_at: '2026-02-28T00:00:00Z' })].flatMap((each) => each ?? []);
  const merged = (more: typeof resets) =>
    mergeBudgets({ config, manual: [], resets: [...resets, ...more], nowMs, prerequisites: everything }).map(
      ({ lastResetMs }) => lastResetMs,
    );
  t.same(merged([]), [Date.UTC(2026, 1, 28), undefined]);
  t.same(merged([{ id: '', atMs: 5 }]), [Date.UTC(2026, 1, 28), 5]);
  t.equal(readBudgetReset(key, { reset_at: 'yesterday' }), undefined);
});

await test('a document is read as it was written, and a damaged one is none', async (t) => {
  const whole = manual({ reason: 'r', expires_at: '2027-01-01T00:00:00Z', tightens: true, mode: 'shadow' });
  for (const mode of ['enforce', 'hard', 'shadow'] as const)
    t.same(manualBudgets.read(key, manualBudgets.write({ ...whole, mode })), { ...whole, mode });
  const damages: object[] = [
    { scope: 'model' },
    { subject: '/other' },
    { subject: '/a/../b' },
    { per_child: 'no' },
    { period_seconds: 0 },
    { amount_nano_dollars: 0 },
    { amount_nano_dollars: 0.5 },
    { mode: 'off' },
    { expires_at: 'soon' },
    { reason: 1 },
    { tightens: false },
    { updated_by: null },
  ];
  for (const damage of damages) {
    t.equal(readManualBudget(key, { ...manualBudgetBody(whole), ...damage }), undefined, JSON.stringify(damage));
  }
  for (const stored of [undefined, null, 7, 'x', [], {}]) t.equal(readManualBudget(key, stored), undefined);
  t.same(readManualAnchors('settings', { monthly_reset_day: 31, other: 1 }), { anchors: { monthly_reset_day: 31 } });
  for (const wrong of [{ monthly_reset_day: 0 }, { daily_reset_hour: 24 }, { weekly_reset_weekday: 1.5 }, null]) {
    t.equal(readManualAnchors('settings', wrong), undefined, JSON.stringify(wrong));
  }
});
