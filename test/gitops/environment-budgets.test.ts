// Budgets of environment variables: every form, what they replace, and every mistake, which never shows a value.
import { test } from 'tap';
import type { Budgets } from '../../schemas/types.ts';
import { lines, load, unpaid, type Variables } from './environment-cases.ts';

function budgetsOf(environment: Variables, yaml?: string): Budgets {
  const { config, problems } = load(environment, yaml);
  if (config === undefined) throw new Error(lines(problems).join('\n'));
  return config.budgets;
}

const enforced = (period: string, amount: number): object => ({ period, amount, mode: 'enforce' });

await test('every form of a value', async (t) => {
  const cases: [value: string, limits: object[]][] = [
    ['daily=10,weekly=50', [enforced('daily', 10), enforced('weekly', 50)]],
    [' Monthly : 0.25 \n hourly=1', [enforced('monthly', 0.25), enforced('hourly', 1)]],
    ['{"daily": 10, "monthly": 200.5}', [enforced('daily', 10), enforced('monthly', 200.5)]],
    [
      '[{"period_seconds":300,"amount":1,"mode":"shadow"},{"period":"daily","amount":2},{"period":"weekly","amount":3,"mode":"hard"}]',
      [
        { period_seconds: 300, amount: 1, mode: 'shadow' },
        enforced('daily', 2),
        { period: 'weekly', amount: 3, mode: 'hard' },
      ],
    ],
  ];
  for (const [value, limits] of cases) {
    const { user_paths: paths } = budgetsOf({ SET_BUDGET_TEAM__APP: value });
    t.same(paths, [{ path: '/team/app', per_child: false, limits }], value);
  }
});

await test('a variable replaces the entry of its path, and a switch that of the files', async (t) => {
  const yaml =
    'budgets: { enabled: false, user_paths: [{ path: /a, limits: [{ period: daily, amount: 1 }] }, { path: /b-c, limits: [{ period: daily, amount: 2 }] }] }';
  const environment = {
    SET_BUDGET_A: 'weekly=3',
    BUDGETS_ENABLED: 'true',
    USAGE_ENABLED: 'false',
    SET_BUDGET_B_C: 'daily=1',
  };
  const { config, warnings } = load(environment, yaml);
  t.equal(config?.budgets.enabled, true);
  t.same(
    config?.budgets.user_paths.map(({ path, limits }) => [path, limits.map(({ amount }) => amount)]),
    [
      ['/b-c', [2]],
      ['/a', [3]],
      ['/b_c', [1]],
    ],
  );
  t.same(config?.places?.budgets, [
    ['user_path 86400 /b-c', 'a.yaml:1'],
    ['user_path 604800 /a', 'SET_BUDGET_A'],
    ['user_path 86400 /b_c', 'SET_BUDGET_B_C'],
  ]);
  const said = lines(warnings).join('\n');
  t.match(said, /is replaced, with all its budgets, by the environment variable SET_BUDGET_A/);
  t.match(said, /is overruled by the environment variable BUDGETS_ENABLED/);
  t.match(said, /SET_BUDGET_B_C.*limits "\/b_c", not "\/b-c"/);
  t.match(said, /USAGE_ENABLED.*no budget is enforced/);
});

await test('a template is two entries, and needs its entitlement', async (t) => {
  const value = '[{"period":"daily","amount":1,"per_child":true},{"period":"weekly","amount":2}]';
  t.same(
    budgetsOf({ SET_BUDGET_A: value }).user_paths.map(({ per_child, limits }) => [per_child, limits.length]),
    [
      [false, 1],
      [true, 1],
    ],
  );
  const { problems } = load({ SET_BUDGET_A: value }, '{}', unpaid);
  t.match(lines(problems).join(), /SET_BUDGET_A:1:\d+ .*needs the entitlement quota_templates/);
});

await test('every mistake names the variable, and shows no value', async (t) => {
  const cases: [variable: string, value: string, said: RegExp][] = [
    ['SET_BUDGET_A', 'daily', /is not a pair of a name and a number; write pairs such as daily=10,monthly=200/],
    ['SET_BUDGET_A', 'yearly=77', /has an unknown period; known are hourly, daily, weekly, monthly/],
    ['SET_BUDGET_A', 'daily=0', /needs US dollars from 0.000000001 to 9000000 for daily/],
    ['SET_BUDGET_A', 'daily=1e77', /needs US dollars/],
    ['SET_BUDGET_A', 'daily=77,daily=7', /gives daily a second time/],
    ['SET_BUDGET_A', '{"daily": "77"}', /needs US dollars/],
    ['SET_BUDGET_A', '{}', /is empty/],
    ['SET_BUDGET_A', '[{"period":"daily","amount":77,"max":1}]', /unknown key/],
    [
      'SET_BUDGET_A',
      '[{"period":"daily","amount":77},{"period_seconds":86400,"amount":7}]',
      /same period as entry \[0\]/,
    ],
    ['SET_BUDGET_A', '[', /a bracket is not closed/],
    ['SET_BUDGET_A___B', 'daily=77', /underscores that name no path.*SET_BUDGET_TEAM__APP/],
    ['BUDGETS_ENABLED', '77', /must be true or false/],
  ];
  for (const [variable, value, said] of cases) {
    const { config, problems } = load({ [variable]: value });
    t.equal(config, undefined, value);
    const text = lines(problems).join('\n');
    t.match(text, said, value);
    t.match(text, new RegExp(`^${variable}`), value);
    t.notMatch(text, /77/, value);
  }
  const twice = load({ SET_BUDGET_A: 'daily=1', SET_BUDGET_a: 'daily=2' });
  t.match(lines(twice.problems).join(), /means the user path "\/a", and so does SET_BUDGET_A/);
  t.match(lines(load({ SET_LABEL_BUDGET_A: 'daily=1' }).warnings).join(), /is not read: SET_BUDGET_<PATH> is/);
});
