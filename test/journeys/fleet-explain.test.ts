// GET /admin/explain on a fleet: what it foretells is what happens then, and it names the file and line, or the author.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { t as suite, test } from 'tap';
import type { Explanation } from '../../proxy/explain/explanation.ts';
import schema from '../../schemas/admin/explanation.schema.json' with { type: 'json' };
import { startFakeUpstream } from '../support/fake-upstream.ts';
import type { Gateway } from '../support/gateway.ts';
import { delaysUntil } from '../support/operator.ts';
import { shareFleet } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

suite.setTimeout(240_000);

const upstreams = await Promise.all([startFakeUpstream({ t: suite }), startFakeUpstream({ t: suite })]);
const [one, two] = upstreams;
const provider = (url: string) => ({ type: 'openai', base_url: url, models: ['m'] });
const limits = `rate_limits:
  user_paths:
    - path: /team
      limits:
        - { name: team per minute, period: minute, max_requests: 2 }
  providers:
    - name: one
      limits:
        - { period: minute, max_requests: 50 }
`;
const fleet = await shareFleet({
  store: 'redis',
  config: {
    providers: { one: provider(one.url), two: provider(two.url) },
    aliases: [{ source: 'chat', targets: [{ model: 'one/m', weight: 2 }, { model: 'two/m' }] }],
  },
  files: { 'limits.yaml': limits },
});
const [proxy] = fleet.proxies as readonly [Gateway];
const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

type Answer = Explanation & { readonly code?: string };

async function explain(query: string, authorization?: string): Promise<{ status: number; body: Answer }> {
  const headers = authorization === undefined ? {} : { authorization };
  const response = await proxy.fetch(`/admin/explain?${query}`, { headers });
  return { status: response.status, body: (await response.json()) as Answer };
}

async function call(userPath: string, model = 'chat') {
  const body = { model, messages: [{ role: 'user', content: 'a' }] };
  const headers = { 'x-gateway-user-path': userPath };
  const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body });
  return { response, body: (await response.json()) as { error?: { message: string } } };
}

async function issue(body: object): Promise<{ id: string; authorization: string }> {
  const response = await proxy.fetch('/admin/auth-keys', { method: 'POST', body });
  const { id, value } = (await response.json()) as { id: string; value: string };
  return { id, authorization: `Bearer ${value}` };
}

await test('each request goes where the explanation before it said', async (t) => {
  for (let request = 0; request < 6; request += 1) {
    const { body } = await explain('model=chat');
    t.ok(validate(body), JSON.stringify(validate.errors));
    const before = upstreams.map(({ ledger }) => ledger.length);
    t.equal((await call('/')).response.status, 200);
    const asked = upstreams.findIndex(({ ledger }, index) => ledger.length > (before[index] ?? 0));
    t.equal(body.targets[0]?.target, ['one/m', 'two/m'][asked], `request ${request}`);
  }
  const { body } = await explain('model=chat');
  const counted = body.targets.find(({ target }) => target === 'one/m')?.rules;
  t.match(counted, [{ scope: 'provider', requests_used: 4, source: 'config', declared_at: 'limits.yaml:9' }]);
  t.match(body.resolution.aliases, [{ name: 'chat', source: 'config', declared_at: /^gateway\.yaml:\d+$/ }]);
});

await test('a refusal is foretold word for word, with its wait and its line', async (t) => {
  for (let request = 0; request < 2; request += 1) t.equal((await call('/team/app')).response.status, 200);
  const { body: told } = await explain('model=chat&user_path=/team/app');
  const { response, body } = await call('/team/app');
  t.equal(response.status, told.refusal?.status);
  t.equal(response.headers.get('x-gateway-rule'), told.refusal?.rule);
  const waits = [Number(response.headers.get('retry-after')), told.refusal?.retry_after_seconds ?? 0];
  t.ok(Math.abs((waits[0] ?? 0) - (waits[1] ?? 0)) <= 1, `${waits.join(' and ')} s`);
  const words = (text = '') => text.replace(/\d+ s/, '');
  t.equal(words(told.refusal?.message), words(body.error?.message));
  t.match(told.rules, [{ declared_at: 'limits.yaml:5', requests_used: 2, requests_remaining: 0, exhausted: true }]);
  const { body: other } = await explain('model=chat&user_path=/team-alpha');
  t.match(other.near_misses, [{ name: 'user_path /team minute', reason: 'other_segment' }]);
});

await test('the override of an operator names its author', async (t) => {
  await fleet.write('PUT', { user_path: '/team', limit_key: { period: 'minute' }, max_requests: 9, reason: 'a rush' });
  const rule = async () => (await explain('model=chat&user_path=/team')).body.rules[0];
  await delaysUntil([proxy], 'the rule to be an override', async () => (await rule())?.source === 'manual');
  t.match(await rule(), { updated_by: 'master_key', reason: 'a rush', max_requests: 9, requests_used: 2 });
});

await test('operators see their own user path, clients nothing', async (t) => {
  const lead = await issue({ name: 'lead', user_path: '/team', dashboard_access: true });
  const client = await issue({ name: 'app', user_path: '/team/app', allowed_models: ['two/m'] });
  const { body, status } = await explain(`model=chat&key_id=${client.id}`, lead.authorization);
  t.equal(status, 200);
  t.match(body, { request: { user_path: '/team/app', key: { name: 'app', state: 'active' } } });
  t.same(
    body.targets.map(({ target, would }) => `${target} ${would}`),
    ['two/m ask', 'one/m skip'],
  );
  const refused: [query: string, authorization: string, status: number, code: string][] = [
    ['model=chat&user_path=/team-alpha', lead.authorization, 403, 'admin_scope_denied'],
    ['model=chat', client.authorization, 403, 'dashboard_access_denied'],
    ['model=chat', 'Bearer sk-none', 401, 'invalid_api_key'],
    ['', lead.authorization, 400, 'invalid_query'],
  ];
  for (const [query, authorization, expected, code] of refused) {
    const answer = await explain(query, authorization);
    t.same([answer.status, answer.body.code], [expected, code], `${query} ${code}`);
  }
});

await test('what the proxy answers itself goes by the same roles', async (t) => {
  const ask = async (path: string, headers: Record<string, string>, body?: object) => {
    const response = await proxy.fetch(path, { ...(body && { method: 'POST', body }), headers });
    const { code = response.status } = (await response.json()) as { code?: string };
    return { code, id: response.headers.get('x-gateway-explain-id') };
  };
  const chat = { model: 'chat', messages: [{ role: 'user', content: 'a' }] };
  const rows: [draft: object, isExplained: boolean, kept: string, trial: string | number][] = [
    [{ user_path: '/team' }, false, 'admin_scope_denied', 'admin_scope_denied'],
    [{ role: 'viewer' }, false, 'role_denied', 'role_denied'],
    [{ role: 'operator' }, true, 'explanation_not_found', 200],
    [{ role: 'operator', user_path: '/team' }, false, 'admin_scope_denied', 'admin_scope_denied'],
  ];
  for (const [draft, isExplained, kept, trial] of rows) {
    const { authorization } = await issue({ name: 'lead', dashboard_access: true, ...draft });
    const asked = await ask('/v1/chat/completions', { authorization, 'x-gateway-explain': '1' }, chat);
    const said = [
      asked.id !== null,
      (await ask('/admin/explain/00000000-0000-4000-8000-000000000000', { authorization })).code,
      (await ask('/admin/guardrails/test', { authorization }, { text: 'a' })).code,
      (await ask('/admin/explain?model=chat', { authorization })).code,
    ];
    t.strictSame(said, [isExplained, kept, trial, 200], JSON.stringify(draft));
    if (asked.id !== null) t.equal((await ask(`/admin/explain/${asked.id}`, { authorization })).code, 200);
  }
});

await test('a provider that refuses the key says so in explanations, status and metrics, until it takes it again', async (t) => {
  const asked = { model: 'one/m', messages: [{ role: 'user', content: 'a' }] };
  const ask = async () => {
    const response = await proxy.fetch('/v1/chat/completions', { method: 'POST', body: asked });
    await response.text();
    return response.status;
  };
  const target = async () => (await explain('model=one/m')).body.targets[0];
  await one.behave({ kind: 'error', status: 401, message: 'Incorrect API key provided' });
  t.equal(await ask(), 502);
  const said = await target();
  t.match(said, {
    would: 'last_resort',
    reason: 'key_refused',
    says: /^its provider refuses the key of the gateway, since 2\d{3}-.*Z$/,
  });
  type Shown = { proxies: { refused_keys: object[] }[]; degraded: { where: string; reason: string; cause: string }[] };
  const status = async () => (await (await fleet.admin('/admin/status')).json()) as Shown;
  const shown = await waitFor('the status to say so', async () => {
    const found = await status();
    return found.degraded.some(({ reason }) => reason === 'provider_key_refused') && found;
  });
  t.match(shown.proxies[0]?.refused_keys, [
    { provider: 'one', key: 1, keys: 1, reason: 'key_refused', since: said?.since },
  ]);
  const found = shown.degraded.find(({ reason }) => reason === 'provider_key_refused');
  t.match(found, { where: 'proxy-1', cause: `one refuses the key, since ${said?.since}` });
  const refused = () => proxy.metric('gateway_provider_key_refused', { provider: 'one', key: '1' });
  t.equal(await refused(), 1);
  await one.behave({ kind: 'openai' });
  t.equal(await ask(), 200);
  t.match(await target(), { would: 'ask', reason: undefined });
  t.equal(await refused(), 0);
  await waitFor('the status to be clear', async () => (await status()).proxies[0]?.refused_keys.length === 0);
});

await test('the control plane itself says who answers, and no other method is served', async (t) => {
  const hint = await fleet.admin('/admin/explain?model=chat');
  t.equal(hint.status, 404);
  t.match(await hint.json(), { code: 'answered_by_proxies' });
  const posted = await proxy.fetch('/admin/explain?model=chat', { method: 'POST' });
  t.equal(posted.status, 405);
  await posted.body?.cancel();
});
