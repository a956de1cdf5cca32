// Which callers spend from a budget that is enforced: paths and all below, children of templates, labels; in any letter case.
import { test } from 'tap';
import { compileBudgets } from '../../../domain/budgets/budget.ts';
import { mergeBudgets } from '../../../domain/budgets/merge-budgets.ts';
import { BudgetCover } from '../../../proxy/budgets/budget-cover.ts';
import type { Budgets } from '../../../schemas/types.ts';

const limits = [{ period: 'daily' as const, amount: 1, mode: 'enforce' as const }];

function coverOf(declared: Partial<Pick<Budgets, 'user_paths' | 'labels'>>): BudgetCover {
  const config = compileBudgets({ user_paths: [], labels: [], ...declared });
  const prerequisites = { enabled: true, hasTemplates: true, usageEnabled: true };
  return new BudgetCover(mergeBudgets({ config, manual: [], resets: [], nowMs: 0, prerequisites }));
}

await test('a budget covers its path and all below it, a template the children, a label its keys', (t) => {
  const cover = coverOf({
    user_paths: [
      { path: '/Team', per_child: false, limits },
      { path: '/customers', per_child: true, limits },
      { path: '/hard', per_child: false, limits: [{ period: 'daily', amount: 1, mode: 'hard' }] },
      { path: '/shadow', per_child: false, limits: [{ period: 'daily', amount: 1, mode: 'shadow' }] },
    ],
    labels: [{ label: 'batch', limits }],
  });
  for (const [path, subject] of [
    ['/', undefined],
    ['/team', '/team'],
    ['/TEAM/app/x', '/team'],
    ['/team-alpha', undefined],
    ['/customers', undefined],
    ['/customers/a', '/customers/a'],
    ['/customers/a/deep', '/customers/a'],
    ['/hard/x', '/hard'],
    ['/shadow/x', undefined],
  ] as const)
    t.equal(cover.subjectFor(path), subject, path);
  t.equal(cover.subjectFor('/', ['web', 'batch']), 'the label batch');
  t.equal(coverOf({ user_paths: [{ path: '/', per_child: false, limits }] }).subjectFor('/any'), '/');
  t.equal(coverOf({ user_paths: [{ path: '/', per_child: true, limits }] }).subjectFor('/any/x'), '/any');
  t.equal(coverOf({ user_paths: [{ path: '/', per_child: true, limits }] }).subjectFor('/'), undefined);
  t.end();
});
