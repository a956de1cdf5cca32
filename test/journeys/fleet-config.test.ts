// GET /admin/config: from a name to the file and line that declares it or the operator who wrote it, and no secret on the way.
import { t as suite, test } from 'tap';
import { componentProblems } from '../support/api-description.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import type { Gateway } from '../support/gateway.ts';
import { listRules } from '../support/operator.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const canary = 'sk-canary-of-the-config';
const upstream = await startFakeUpstream({ t: suite });
const files = {
  'providers.yaml': `providers:
  fake:
    type: openai
    base_url: ${upstream.url}
    api_key: ${canary}
    models: [fake-small]
    headers: { X-Secret: ${canary} }
    forward_headers: [OpenAI-Organization]
    timeouts: { connect: 3s }
  spare:
    type: openai
    base_url: https://\${SPARE_HOST:-host-of-${canary}}/v1
    api_key: \${SPARE_KEY:-}
    models: [spare-small]
  elsewhere:
    type: openai
    base_url: https://elsewhere.example:8443/${canary}?key=${canary}
    api_keys: [${canary}1, ${canary}2]
    proxy_url: http://user:${canary}@10.1.2.3:3128
    allow_private: true
    models: [other-small]
`,
  'teams.yaml': `# two teams
aliases:
  - { source: chat, target: fake/fake-small }
rate_limits:
  user_paths:
    - path: /a
      limits:
        - { period: minute, max_requests: 10 }
    - path: /b
      limits:
        - { period: hour, max_requests: 20 }
budgets:
  user_paths:
    - path: /a
      limits:
        - { period: daily, amount: 10 }
        - { period: monthly, amount: 100 }
`,
};
const env = { SET_RATE_LIMIT_C: 'rpm=5', SET_RATE_LIMIT_TEAM_B: 'rpm=5' };
const fleet = await startFleet(suite, { store: 'sqlite', upstream, files, env, proxies: 1 });
const [proxy] = fleet.proxies as readonly [Gateway];

interface Shown {
  readonly config_revision: string;
  readonly state_revision: number;
  readonly providers: readonly object[];
  readonly aliases: readonly object[];
  readonly rate_limits: readonly { readonly subject: string; readonly [name: string]: unknown }[];
  readonly budgets: readonly object[];
}

async function shown(t: { same(one: unknown, other: unknown): unknown }): Promise<Shown> {
  const response = await proxy.fetch('/admin/config');
  const text = await response.text();
  if (response.status !== 200 || text.includes(canary) || text.includes(upstream.url)) throw new Error(text);
  t.same(componentProblems('Config', JSON.parse(text)), []);
  return JSON.parse(text) as Shown;
}

await test('everything in force is shown with its place or its author, and nothing secret', async (t) => {
  const body = { user_path: '/a', period: 'minute', max_requests: 2, reason: 'runaway', expires_in: '8h' };
  await fleet.write('PUT', body);
  await fleet.write('PUT', { user_path: '/d', period: 'minute', max_requests: 2 });
  const budget = { user_path: '/a', budget_key: { period: 'daily' }, amount: 25, reason: 'launch', expires_in: '8h' };
  t.equal((await proxy.fetch('/admin/budgets', { method: 'PUT', body: budget })).status, 200);
  const config = await shown(t);
  t.match(config.providers, [
    {
      name: 'fake',
      type: 'openai',
      origin: new URL(upstream.url).origin,
      models: ['fake-small'],
      forward_headers: ['OpenAI-Organization'],
      stream_usage: true,
      allow_routing_members: false,
      allow_private: false,
      keys: 1,
      timeouts: { connect: '3s', first_byte: '600s' },
      left_out_by: [],
      declared_at: 'providers.yaml:2',
    },
    { name: 'spare', left_out_by: ['proxy-1'] },
    {
      name: 'elsewhere',
      origin: 'https://elsewhere.example:8443',
      keys: 2,
      proxy_origin: 'http://10.1.2.3:3128',
      allow_private: true,
      left_out_by: [],
    },
  ]);
  t.notOk('origin' in (config.providers[1] ?? {}), 'a variable fills it in');
  t.same(config.aliases, [
    {
      source: 'chat',
      target: 'fake/fake-small',
      targets: [{ model: 'fake/fake-small', weight: 1 }],
      strategy: 'round_robin',
      enabled: true,
      hedge: false,
      managed_by: 'config',
      overrides_config: false,
      declared_at: 'teams.yaml:3',
      enforced: true,
    },
  ]);
  const rows = Object.fromEntries(config.rate_limits.map((row) => [row.subject, row]));
  t.match(rows['/a'], {
    source: 'manual',
    overrides_config: true,
    declared_at: 'teams.yaml:8',
    updated_by: 'master_key',
    reason: 'runaway',
    expires_at: String,
  });
  t.match(rows['/b'], { source: 'config', declared_at: 'teams.yaml:11', max_requests: 20 });
  t.match(rows['/c'], { source: 'config', declared_at: 'SET_RATE_LIMIT_C' });
  t.match(rows['/d'], { source: 'manual', updated_by: 'master_key' });
  t.notOk('declared_at' in (rows['/d'] ?? {}));
  t.notOk(
    config.rate_limits.some((row) => 'requests_used' in row),
    'usage is in the listing',
  );
  t.match(config, { budgets_enabled: true });
  t.match(config.budgets, [
    { subject: '/a', period_label: 'monthly', source: 'config', amount: 100, declared_at: 'teams.yaml:17' },
    {
      subject: '/a',
      source: 'manual',
      overrides_config: true,
      amount: 25,
      declared_at: 'teams.yaml:16',
      reason: 'launch',
    },
  ]);
  t.notOk(
    config.budgets.some((row) => 'spent' in row),
    'what was spent is in their listing',
  );
  const status = await (await proxy.fetch('/admin/status')).json();
  const { config_revision, state_revision } = config;
  t.match(status, { desired: { config_revision, state_revision } });
  const listed = (await listRules(fleet)) as readonly { readonly subject: string; readonly declared_at?: string }[];
  t.same(
    listed.map(({ subject, declared_at: place }) => [subject, place]),
    config.rate_limits.map((row) => [row.subject, row['declared_at']]),
    'the listing names the same places',
  );
});

await test('an edit moves the places with it', async (t) => {
  const before = (await shown(t)).config_revision;
  await proxy.applyConfig({ 'teams.yaml': files['teams.yaml'].replace('# two teams', '#\n#\n#') });
  // The control plane reads the directory by itself.
  await waitFor('the control plane to read it', async () => (await shown(t)).config_revision !== before);
  const after = await shown(t);
  t.not(after.config_revision, before);
  t.match(after.aliases, [{ declared_at: 'teams.yaml:5' }]);
  t.equal(after.rate_limits.find(({ subject }) => subject === '/b')?.['declared_at'], 'teams.yaml:13');
});

await test('only operators of the whole gateway may ask, and without a query', async (t) => {
  const issued = await proxy.fetch('/admin/auth-keys', {
    method: 'POST',
    body: { name: 'lead', user_path: '/a', dashboard_access: true },
  });
  const { value } = (await issued.json()) as { value: string };
  const denied = await proxy.fetch('/admin/config', { headers: { authorization: `Bearer ${value}` } });
  t.match(await denied.json(), { status_code: 403, code: 'admin_scope_denied' });
  t.match(await (await proxy.fetch('/admin/config?path=/a')).json(), { status_code: 400, code: 'invalid_query' });
});

await test('a query names the lists of the answer', async (t) => {
  const asked = async (lists: string) => (await proxy.fetch(`/admin/config?lists=${lists}`)).json();
  const some = (await asked('aliases,budgets')) as object;
  t.same(componentProblems('Config', some), []);
  const lists = ['providers', 'aliases', 'rate_limits', 'budgets'];
  t.same(
    lists.filter((name) => name in some),
    ['aliases', 'budgets'],
  );
  for (const wrong of ['keys', 'aliases,keys', ''])
    t.match(await asked(wrong), { status_code: 400, code: 'invalid_query', param: 'lists' }, wrong);
});

await test('a variable for /team_b beside a key of /team-b is a warning in the log of both planes', async (t) => {
  const body = { name: 'ann', user_path: '/team-b/ann' };
  const { id } = (await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).json()) as { id: string };
  const sentence = `SET_RATE_LIMIT_TEAM_B limits "/team_b", not "/team-b" of the key ${id}`;
  for (const plane of [proxy.process, fleet.controlPlane]) {
    const isSaid = () => plane.logs().some(({ level, msg }) => level === 'warn' && String(msg).startsWith(sentence));
    await waitFor('the warning', isSaid);
  }
  t.pass('both say so');
});
