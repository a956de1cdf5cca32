// Examples of the bodies about budgets, by the names of their schemas.

const settings = {
  daily_reset_hour: 0,
  daily_reset_minute: 0,
  weekly_reset_weekday: 1,
  weekly_reset_hour: 0,
  weekly_reset_minute: 0,
  monthly_reset_day: 15,
  monthly_reset_hour: 0,
  monthly_reset_minute: 0,
} as const;

/** As the configuration in force shows it. */
export const declaredBudget = {
  id: 'k3v2qh7a',
  scope: 'user_path',
  subject: '/team-a',
  effective_subject: '/team-a',
  user_path: '/team-a',
  per_child: false,
  source: 'config',
  overrides_config: false,
  declared_at: 'budgets.yaml:4',
  enforced: true,
  mode: 'enforce',
  period_label: 'daily',
  period_seconds: 86_400,
  amount: 10,
  period_start: '2026-03-01T00:00:00.000Z',
  period_end: '2026-03-02T00:00:00.000Z',
  period_ratio: 0.878,
  created_at: '2026-02-01T09:00:00.000Z',
  updated_at: '2026-02-01T09:00:00.000Z',
} as const;

const budgetOfTeamA = {
  ...declaredBudget,
  source: 'manual',
  overrides_config: true,
  amount: 25,
  spent: 12.5,
  has_usage: true,
  remaining: 12.5,
  usage_ratio: 0.5,
  exceeded: false,
  reason: 'launch day',
  expires_at: '2026-03-02T05:00:00.000Z',
  created_at: '2026-03-01T21:03:58.120Z',
  updated_at: '2026-03-01T21:03:58.120Z',
  updated_by: 'master_key',
} as const;

export const budgetExamples = {
  'budget-delete': { user_path: '/team-a', budget_key: { period: 'daily' } },
  'budget-reset': { confirmation: 'reset' },
  'budget-reset-one': { user_path: '/team-a', period: 'daily' },
  'budget-settings': settings,
  'budget-settings-write': { monthly_reset_day: 15 },
  'budget-write': {
    user_path: '/team-a',
    budget_key: { period: 'daily' },
    amount: 25,
    reason: 'launch day',
    expires_in: '8h',
  },
  budgets: { budgets: [budgetOfTeamA], server_time: '2026-03-01T21:04:20.512Z' },
} as const;
