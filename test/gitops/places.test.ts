// Where the entries of a configuration are declared: kept for the control plane, in this thread and in another, and not for a proxy.
import { test } from 'tap';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { loadOffThread } from '../../gitops/assemble/load-off-thread.ts';
import { entitled, file } from './load-fixtures.ts';

const providers = `# the providers
providers:
  second:
    type: openai
    api_key: key
    models: [a]
  10: # an object puts this name first
    type: openai
    api_key: key
    models: [b]
`.replace('10:', "'10':");

const limits = `aliases:
  - source: fast
    target: second/a
  - { source: slow, target: second/a }
rate_limits:
  user_paths:
    - path: team//
      limits:
        - &minute { period: minute, max_requests: 10 }
        - { period_seconds: 3600, max_requests: 10 }
    - path: /other
      limits:
        - *minute
  models:
    - model: SECOND/a
      limits: [{ period: day, max_tokens: 5 }]
budgets:
  user_paths:
    - { path: team/, limits: [{ period: daily, amount: 5 }] }
  labels:
    - { label: batch, limits: [{ period: weekly, amount: 5 }] }
guardrails:
  - { name: mask, pii: { action: mask } }
`;

const files = [
  file('limits.yaml', limits),
  { ...file('providers.yaml', providers), path: '/etc/gateway/providers.yaml' },
];
const kept = { ...entitled, variables: 'keep' } as const;

await test('every entry has the line where it stands, in a file relative to the directory', async (t) => {
  t.same(loadFiles(files, kept).config?.places, {
    providers: [
      ['second', 'providers.yaml:3'],
      ['10', 'providers.yaml:7'],
    ],
    aliases: [
      ['fast', 'limits.yaml:2'],
      ['slow', 'limits.yaml:4'],
    ],
    rules: [
      ['user_path 60 /team', 'limits.yaml:9'],
      ['user_path 3600 /team', 'limits.yaml:10'],
      ['user_path 60 /other', 'limits.yaml:13'],
      ['model 86400 second/a', 'limits.yaml:16'],
    ],
    budgets: [
      ['user_path 86400 /team', 'limits.yaml:19'],
      ['label 604800 batch', 'limits.yaml:21'],
    ],
    guardrails: [['mask', 'limits.yaml:23']],
    keys: [],
  });
});

await test('a rule of a variable stands there, and what it replaces stands nowhere', async (t) => {
  const environment = { ...entitled.environment, SET_RATE_LIMIT_TEAM: 'rpm=5,concurrent=2' };
  const { config } = loadFiles(files, { ...kept, environment });
  t.same(config?.places?.rules, [
    ['user_path 60 /other', 'limits.yaml:13'],
    ['model 86400 second/a', 'limits.yaml:16'],
    ['user_path 60 /team', 'SET_RATE_LIMIT_TEAM'],
    ['user_path 0 /team', 'SET_RATE_LIMIT_TEAM'],
  ]);
});

await test('they pass between threads, and a proxy holds them too', async (t) => {
  t.same((await loadOffThread(files, kept)).config?.places, loadFiles(files, kept).config?.places);
  t.same(loadFiles(files, entitled).config?.places, loadFiles(files, kept).config?.places);
  t.same(loadFiles([file('a.yaml', '{}')], kept).config?.places, {
    providers: [],
    aliases: [],
    rules: [],
    budgets: [],
    guardrails: [],
    keys: [],
  });
});
