// What operators look for by a name: a session as its client calls it, and what became of a change of the configuration.
import { readFileSync } from 'node:fs';
import { t as suite, type Test, test } from 'tap';
import { testOf } from '../../deploy/cli/test-of.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const [model = ''] = upstream.models;
const fleet = await shareFleet({ store: 'sqlite', upstream });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();
const open = (t: Test, path: string) => browser.open(t, { origin: proxy.url, path });

await test('a session is found by the name that its client gives it, and by nobody whose path it is not in', async (t) => {
  const named = { 'x-session-id': 'case-4711' };
  const askIn = async (path: string): Promise<void> => {
    const headers = { 'x-gateway-user-path': path, ...named };
    const body = { model: `fake/${model}`, messages: [{ role: 'user', content: 'Hello' }] };
    await (await proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body })).body?.cancel();
  };
  const total = async (query: string, key = proxy.masterKey): Promise<readonly [total: number, isForeign: boolean]> => {
    const headers = { authorization: `Bearer ${key}` };
    const text = await (await proxy.fetch(`/admin/audit/log?${query}`, { headers })).text();
    return [(JSON.parse(text) as { total: number }).total, text.includes('/case-d')];
  };
  for (const path of ['/case-d', '/case-d', '/case-e']) await askIn(path);
  await waitFor('them to be recorded', async () => (await total('session_id=case-4711'))[0] === 3);
  const { page, go, complaints, barriers } = await open(t, '/requests?search=CASE-47');
  const row = page.getByRole('row', { name: /\/case-d/ });
  await row.getByText(/^case-4711 · /).waitFor();
  t.same(await barriers(), []);
  await row.getByRole('link').first().click();
  await page.getByRole('link', { name: 'case-4711', exact: true }).click();
  await page.getByText('2 requests', { exact: true }).waitFor();
  await go('/requests?view=requests&session_id=case-4711');
  await page.getByText('3 requests', { exact: true }).waitFor();
  await askIn('/case-e');
  await page.getByText('4 requests', { exact: true }).waitFor();
  t.same(complaints(), []);
  const body = { name: 'E', user_path: '/case-e', dashboard_access: true };
  const issued = (await (await proxy.fetch('/admin/auth-keys', { method: 'POST', body })).json()) as { value: string };
  for (const sought of ['session_id=case-4711', 'search=case-4711'])
    t.same(await total(sought, issued.value), [2, false], sought);
});

await test('a reload of the configuration is among the records: what changed, or why it was rejected', async (t) => {
  const withCap = (cap: unknown) => ({
    rate_limits: { user_paths: [{ path: '/full', limits: [{ period: 'day', max_requests: cap }] }] },
  });
  const desired = async (): Promise<string> => {
    const status = await (await fleet.admin('/admin/status')).json();
    return (status as { desired: { config_revision: string } }).desired.config_revision;
  };
  const apply = async (cap: number): Promise<string> => {
    const before = await desired();
    await proxy.applyConfig({ 'limits.yaml': withCap(cap) });
    return waitFor('the control plane to follow', async () => {
      const now = await desired();
      return now === before ? undefined : now;
    });
  };
  await apply(1);
  const revision = await apply(7);
  const { page, go, complaints, barriers } = await open(t, `/requests?view=changes&search=reload-${revision}`);
  const applied = page.getByRole('row', { name: /\/admin\/config.*200/s });
  await applied.getByText('the directory', { exact: true }).waitFor();
  t.equal(await applied.count(), 1, 'two proxies and the control plane have read it, and it is recorded once');
  await applied.getByRole('link').first().click();
  await page.locator('summary', { hasText: 'What was sent: body' }).click();
  await page.getByText(/loosened: rule user_path \/full day: max_requests 1 → 7/).waitFor();
  t.same(await barriers(), []);
  proxy.writeConfig({ 'limits.yaml': withCap('many') });
  await go('/requests?view=changes&path=/admin/config&status_code=400');
  await page
    .getByRole('row', { name: /400 config_rejected/ })
    .first()
    .getByText(/limits\.yaml:\d+/)
    .waitFor();
  t.same(complaints(), []);
  await apply(8);
});

await test('a test of the configuration is made of a refused request, and of an explanation', async (t) => {
  await fleet.write('PUT', { user_path: '/made', period: 'hour', max_requests: 1 });
  const body = { model: `fake/${model}`, messages: [{ role: 'user', content: 'Hello' }] };
  const headers = { 'x-gateway-user-path': '/made' };
  const post = () => proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body });
  let refused = await post();
  await waitFor('the rule to refuse', async () => {
    await refused.body?.cancel();
    refused = await post();
    return refused.status === 429;
  });
  const { page, go, complaints, barriers } = await open(t, '/requests?user_path=/made&status_code=429');
  await page
    .getByRole('row', { name: /429 rate_limit_exceeded/ })
    .getByRole('link')
    .first()
    .click();
  await page.getByRole('button', { name: 'Make a test' }).click();
  const dialog = page.getByRole('dialog', { name: 'A test of the configuration' });
  const text = (await dialog.locator('pre').textContent()) ?? '';
  t.match(text, /user_path: \/made\n.*requests: 1\n.*code: rate_limit_exceeded\n/s);
  const saving = page.waitForEvent('download');
  await dialog.getByRole('button', { name: /^Save as / }).click();
  const saved = await saving;
  t.match(saved.suggestedFilename(), /^[\w-]+\.test\.yaml$/);
  t.equal(readFileSync(await saved.path(), 'utf8'), text);
  await dialog.getByRole('button', { name: 'Close' }).click();
  process.env['GATEWAY_MASTER_KEY'] = proxy.masterKey;
  const { output } = await testOf([refused.headers.get('x-request-id') ?? '', '--url', proxy.url]);
  t.equal(`${output}\n`, text, 'the command makes the same');
  await go(`/explain?user_path=/made&model=fake/${model}`);
  await page.getByRole('button', { name: 'Make a test' }).click();
  await dialog.getByRole('button', { name: 'Copy YAML' }).waitFor();
  t.match(await dialog.locator('pre').textContent(), /rule: user_path \/made hour\n +requests: 1\n/);
  t.same(await barriers(), []);
  t.same(complaints(), []);
});
