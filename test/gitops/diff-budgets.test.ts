// What changed between the budgets of two configurations.
import { test } from 'tap';
import { diffConfigs } from '../../gitops/diff/diff.ts';
import { one } from './load-fixtures.ts';

function words(before: string, after: string): string[] {
  const [from, to] = [before, after].map((budgets) => {
    const { config } = one(`budgets: { ${budgets} }\n`);
    if (config === undefined) throw new Error(budgets);
    return config;
  });
  return from === undefined || to === undefined ? [] : diffConfigs(from, to).map(({ words: said }) => said);
}

const team = (limit: string, entry = 'path: /team'): string => `user_paths: [{ ${entry}, limits: [{ ${limit} }] }]`;

await test('a budget is loosened or tightened, added, removed, or written in another way', async (t) => {
  const cases: [from: string, to: string, said: string[]][] = [
    [
      team('period: daily, amount: 5'),
      team('period: daily, amount: 6'),
      ['loosened: budget user_path /team daily: amount 5 → amount 6'],
    ],
    [
      team('period: daily, amount: 5'),
      team('period: daily, amount: 4, mode: shadow'),
      ['loosened: budget user_path /team daily: amount 5 → amount 4, shadow'],
    ],
    [
      team('period: daily, amount: 5'),
      team('period: daily, amount: 4', 'path: /team, per_child: true'),
      ['changed: budget user_path /team daily: amount 5 → amount 4, per_child'],
    ],
    [
      team('period: daily, amount: 5'),
      team('period: daily, amount: 5, mode: hard'),
      ['tightened: budget user_path /team daily: amount 5 → amount 5, hard'],
    ],
    [
      team('period: daily, amount: 5, mode: hard'),
      team('period: daily, amount: 5'),
      ['loosened: budget user_path /team daily: amount 5, hard → amount 5'],
    ],
    [
      team('period: daily, amount: 5'),
      team('period: daily, amount: 6, mode: hard'),
      ['changed: budget user_path /team daily: amount 5 → amount 6, hard'],
    ],
    [
      team('period: daily, amount: 5, mode: shadow'),
      team('period: daily, amount: 6, mode: hard'),
      ['tightened: budget user_path /team daily: amount 5, shadow → amount 6, hard'],
    ],
    ['', team('period: daily, amount: 5'), ['added (tightened): budget user_path /team daily: amount 5']],
    [
      'labels: [{ label: batch, limits: [{ period: weekly, amount: 5 }] }]',
      '',
      ['removed (loosened): budget label batch weekly: amount 5'],
    ],
    ['', team('period: daily, amount: 5, mode: shadow'), ['added: budget user_path /team daily: amount 5, shadow']],
    [team('period: daily, amount: 5'), team('period_seconds: 86400, amount: 5', 'path: team/'), []],
    ['enabled: true', 'enabled: false', ['loosened: setting budgets.enabled: true → false']],
    ['', 'settings: { monthly_reset_day: 15 }', ['changed: setting budgets.settings.monthly_reset_day: 1 → 15']],
  ];
  for (const [from, to, said] of cases) t.same(words(from, to), said, `${from} → ${to}`);
});
