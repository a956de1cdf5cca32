// The operations of /admin/budgets, one row each.
import { type Operation, storedRefusals, writeHeaders } from './operation.ts';

const listing = {
  status: 200,
  says: 'The budgets after it.',
  schema: 'budgets',
  headers: ['ETag', ...writeHeaders],
} as const;
const budgets = { tag: 'Budgets', access: 'operator' } as const;
const write = { 409: ['write_conflict'], 412: ['precondition_failed'], 503: storedRefusals } as const;

export const budgetOperations: readonly Operation[] = [
  {
    ...budgets,
    id: 'listBudgets',
    method: 'get',
    path: '/admin/budgets',
    summary: 'Every budget with what was spent.',
    description:
      'Spend is summed up from usage records. Several filters must all hold. While a store does not answer, what is not known is left out, marked `stale`.',
    parameters: ['BudgetUserPath', 'BudgetCovers', 'BudgetScope', 'BudgetSubject'],
    success: { ...listing, says: 'The budgets.', headers: ['ETag', 'x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    ...budgets,
    id: 'putBudget',
    method: 'put',
    path: '/admin/budgets',
    summary: 'Sets a budget, or changes its amount.',
    description:
      'A budget is named by scope, subject and period. It overrides a budget of the configuration with the same name until it is deleted or expires. Spend is kept.',
    parameters: ['IfMatch'],
    body: 'budget-write',
    success: listing,
    refusals: {
      ...write,
      403: ['quota_templates_not_entitled', 'admin_scope_denied'],
      409: ['too_many_budgets', 'write_conflict'],
    },
  },
  {
    ...budgets,
    id: 'deleteBudget',
    method: 'delete',
    path: '/admin/budgets',
    summary: 'Removes a budget that an operator has set.',
    description: 'A budget of the configuration that it overrode is in force again.',
    parameters: ['IfMatch'],
    body: 'budget-delete',
    success: listing,
    refusals: {
      ...write,
      403: ['admin_scope_denied'],
      404: ['budget_not_found'],
      409: ['budget_config_owned', 'write_conflict'],
    },
  },
  {
    ...budgets,
    id: 'resetBudget',
    method: 'post',
    path: '/admin/budgets/reset-one',
    summary: 'Lets the spend of one budget count from now on.',
    parameters: ['IfMatch'],
    body: 'budget-reset-one',
    success: listing,
    refusals: { ...write, 403: ['admin_scope_denied'], 404: ['budget_not_found'] },
  },
  {
    ...budgets,
    access: 'admin',
    id: 'resetBudgets',
    method: 'post',
    path: '/admin/budgets/reset',
    summary: 'Lets the spend of every budget count from now on.',
    parameters: ['IfMatch'],
    body: 'budget-reset',
    success: { status: 200, says: 'It is done.', schema: 'reset-done', headers: ['ETag', ...writeHeaders] },
    refusals: { ...write, 400: ['reset_not_confirmed'] },
  },
  {
    ...budgets,
    id: 'getBudgetSettings',
    method: 'get',
    path: '/admin/budgets/settings',
    summary: 'When the windows of daily, weekly and monthly budgets begin.',
    success: { status: 200, says: 'The settings.', schema: 'budget-settings', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    ...budgets,
    access: 'admin',
    id: 'putBudgetSettings',
    method: 'put',
    path: '/admin/budgets/settings',
    summary: 'Changes when windows begin; absent members stay as they are.',
    body: 'budget-settings-write',
    success: { status: 200, says: 'The settings after it.', schema: 'budget-settings', headers: writeHeaders },
    refusals: { 409: ['write_conflict'], 503: storedRefusals },
  },
];
