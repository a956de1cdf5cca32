// What operators have set, as YAML that the gateway would take.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { parse } from 'yaml';
import { checkConfig } from '../../gitops/cli/check.ts';
import { type Managed, managedYaml } from '../../gitops/cli/managed-yaml.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const counted = {
  per_child: false,
  mode: 'enforce',
  source: 'manual',
  period_label: 'minute',
  period_seconds: 60,
} as const;
const managed: Managed = {
  rate_limits: [
    { ...counted, scope: 'user_path', subject: '/team-a', max_requests: 5, reason: 'launch day', updated_by: 'ann' },
    { ...counted, scope: 'user_path', subject: '/team-a', period_label: '300s', period_seconds: 300, max_tokens: 900 },
    { ...counted, scope: 'provider', subject: 'demo', max_requests: 50, mode: 'shadow', name: 'demo capacity' },
    { ...counted, scope: 'user_path', subject: '/team-b', max_requests: 0, expires_at: '2026-03-02T05:00:00.000Z' },
    { ...counted, scope: 'user_path', subject: '/of-git', max_requests: 7, source: 'config' },
  ],
  budgets: [
    { ...counted, scope: 'label', subject: 'batch', period_label: 'daily', period_seconds: 86_400, amount: 2.5 },
  ],
  aliases: [
    {
      source: 'fast',
      targets: [{ model: 'demo/small', weight: 3 }],
      strategy: 'round_robin',
      hedge: false,
      enabled: true,
      managed_by: 'manual',
      enforced: true,
    },
  ],
  guardrails: [
    {
      name: 'no-cards',
      kind: 'pii',
      mode: 'enforce',
      order: 0,
      on: ['input'],
      settings: { kinds: ['card'], action: 'block' },
      source: 'manual',
      verdicts: [],
    },
  ],
};

await test('each entry has the form of the configuration, with its author, reason and end', async (t) => {
  const text = managedYaml(managed);
  t.same(parse(text), {
    rate_limits: {
      user_paths: [
        {
          path: '/team-a',
          limits: [
            { period: 'minute', max_requests: 5 },
            { period_seconds: 300, max_tokens: 900 },
          ],
        },
      ],
      providers: [
        { name: 'demo', limits: [{ period: 'minute', max_requests: 50, name: 'demo capacity', mode: 'shadow' }] },
      ],
    },
    budgets: { labels: [{ label: 'batch', limits: [{ period: 'daily', amount: 2.5 }] }] },
    aliases: [{ source: 'fast', targets: [{ model: 'demo/small', weight: 3 }], strategy: 'round_robin' }],
    guardrails: [
      { name: 'no-cards', on: ['input'], mode: 'enforce', order: 0, pii: { kinds: ['card'], action: 'block' } },
    ],
  });
  t.match(text, /# set by ann\n +# launch day\n +- period: minute/);
  t.match(text, /# \/team-b is blocked: ends on 2026-03-02T05:00:00.000Z/);

  const folder = join(temporaryDirectory(t, 'managed'), 'config');
  mkdirSync(folder);
  writeFileSync(join(folder, 'manual.yaml'), text);
  writeFileSync(
    join(folder, 'providers.yaml'),
    'providers:\n  demo: { type: openai, base_url: "https://demo.test/v1", models: [small] }\n',
  );
  t.match(await checkConfig([folder], {}), { code: 0 });
});

await test('operators who have set nothing leave a file that is none', (t) => {
  t.same(parse(managedYaml({ rate_limits: [], budgets: [], aliases: [], guardrails: [] })), {});
  t.end();
});
