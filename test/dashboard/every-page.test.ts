// Every page for a key of one subtree, and every page while the control plane is away and comes back.
import { t as suite, test } from 'tap';
import { isFull } from '../support/extent.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

/** A page: its address, what it shows of /team-b, and whether it shows the whole gateway. */
const pages = [
  ['', 'Refused by limits', 'subtree'],
  ['/rate-limits', '/team-b', 'subtree'],
  ['/budgets', '/team-b', 'subtree'],
  ['/explain?user_path=/team-b&model=chat', 'Rules of the consumer', 'subtree'],
  ['/playground', 'Nothing was asked yet.', 'subtree'],
  ['/requests?view=requests', '/team-b/app', 'subtree'],
  ['/usage?by=user_path', '/team-b/app', 'subtree'],
  // Of a key of the configuration, whose uses are noted nowhere.
  ['/keys', 'not noted', 'subtree'],
  ['/models', 'chat', 'whole'],
  ['/config', 'The directory holds what is in force.', 'whole'],
  ['/guardrails', 'mask-personal-data', 'whole'],
  ['/cache', 'Hit ratio', 'whole'],
] as const;

const upstream = await startFakeUpstream({ t: suite });
const teams = ['/team-a', '/team-b'];
const declared = {
  keys: [{ name: 'ci', hash: `sha256:${'0'.repeat(64)}`, user_path: '/team-b' }],
  rate_limits: { user_paths: teams.map((path) => ({ path, limits: [{ period: 'day', max_requests: 100 }] })) },
  budgets: { user_paths: teams.map((path) => ({ path, limits: [{ period: 'monthly', amount: 25 }] })) },
  aliases: [{ source: 'chat', target: `fake/${upstream.models[0]}` }],
  guardrails: [{ name: 'mask-personal-data', pii: { action: 'mask' } }],
  cache: { enabled: true },
};
const fleet = await shareFleet({ store: 'sqlite', upstream, files: { 'all.yaml': declared } });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

const issue = async (name: string, user_path: string, role = 'admin'): Promise<string> => {
  const body = { name, user_path, dashboard_access: true, role };
  const answer = await proxy.fetch('/admin/auth-keys', { method: 'POST', body });
  return ((await answer.json()) as { value: string }).value;
};
await issue('Key of A', '/team-a');
const keyOfB = await issue('Key of B', '/team-b');
for (const path of teams) {
  const body = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  const headers = { 'x-gateway-user-path': `${path}/app` };
  await (await proxy.fetch('/v1/chat/completions', { method: 'POST', headers, body })).body?.cancel();
}
await waitFor('the requests to be recorded', async () => {
  const text = await (await fleet.admin('/admin/audit/log')).text();
  return teams.every((path) => text.includes(`${path}/app`));
});

await test('every page for a key of one subtree', async (all) => {
  const { page, complaints, go } = await browser.open(all, { origin: proxy.url, key: keyOfB });
  await page.getByText('You see /team-b and below.', { exact: true }).waitFor();
  const main = page.getByRole('main');
  for (const [path, shown, extent] of pages) {
    await all.test(path === '' ? '/' : path, async (t) => {
      await go(path);
      await main
        .getByText(extent === 'subtree' ? shown : 'This page shows the whole gateway')
        .first()
        .waitFor();
      t.notMatch(await main.textContent(), /\/team-a|Key of A/);
      t.equal(await main.getByRole('button', { name: 'Reset all' }).count(), 0);
      if (extent === 'whole') t.equal(await main.getByRole('button').count(), 0);
      t.equal(await main.getByRole('alert').count(), 0);
      t.equal(await main.getByRole('heading', { name: 'Health' }).count(), 0);
      t.same(complaints(), [], 'the API has refused nothing');
    });
  }
});

/** What opens a window that changes something, or changes it. */
const changing =
  /^(New |Reset|Stop requests|Forget|Take out|Windows|Make a key|Write the|Actions|Override|Edit|Delete|Try)/;

await test('what a role may not do is not offered', async (all) => {
  const wanted: Readonly<Record<string, readonly string[]>> = {
    viewer: [],
    operator: ['/rate-limits', '/budgets', '/models', '/guardrails', '/cache'],
    admin: ['/rate-limits', '/budgets', '/playground', '/keys', '/models', '/guardrails', '/cache'],
  };
  for (const [role, offering] of Object.entries(wanted)) {
    await all.test(role, async (t) => {
      const { page, complaints, go } = await browser.open(t, { origin: proxy.url, key: await issue(role, '/', role) });
      t.equal(await page.getByLabel('You').getByText(role, { exact: true }).count(), 2, 'its name, and its role');
      const offers: string[] = [];
      for (const [path, shown] of pages) {
        await go(path);
        await page.getByRole('main').getByText(shown).first().waitFor();
        const named = await page.getByRole('main').getByRole('button', { name: changing }).count();
        if (named > 0) offers.push(path.replace(/\?.*/, ''));
      }
      t.same(offers, offering);
      t.same(complaints(), [], 'the API has refused nothing');
    });
  }
});

/** In a short run one of each kind: figures, a list, an answer of the proxy, a live list, and what is shown of the whole gateway. */
const watched = pages.filter(([path]) => isFull || /^(|\/rate-limits|\/explain.*|\/requests.*|\/config)$/.test(path));

await test('every open page says that the control plane is lost, and goes on by itself with the same session', async (t) => {
  const expected = /status of 503|ERR_/;
  const opened: { path: string; shown: string; page: Awaited<ReturnType<typeof browser.open>>['page'] }[] = [];
  for (const [path, shown] of watched) {
    const { page } = await browser.open(t, { origin: proxy.url, path, expected });
    await page.getByRole('main').getByText(shown).first().waitFor();
    await page.evaluate('window.isFirst = true');
    opened.push({ path, shown, page });
  }
  const cookies = await opened[0]?.page.context().cookies();
  await fleet.controlPlane.kill();
  for (const { path, shown, page } of opened) {
    // What the proxy answers by itself stays current: there is no loss to tell.
    if (!path.startsWith('/explain')) await page.getByText('No connection').waitFor({ timeout: 20_000 });
    t.ok(await page.getByRole('main').getByText(shown).first().isVisible(), `${path} keeps what was known`);
  }
  await fleet.restartControlPlane();
  for (const { path, shown, page } of opened) {
    await page.getByText('No connection').waitFor({ state: 'detached', timeout: 20_000 });
    const isCurrent = async () => (await page.getByText(/^Not current/).count()) === 0;
    await waitFor(`${path} to be current`, isCurrent);
    t.ok(await page.getByRole('main').getByText(shown).first().isVisible(), `${path} is back`);
    t.equal(await page.evaluate('window.isFirst'), true, `${path} was not loaded anew`);
  }
  t.same(await opened[0]?.page.context().cookies(), cookies, 'the session survives');
});
