// The page of models shows how the mirror of an alias compares, in every form of the page, and an edit of the alias keeps it.
import { t as suite, test } from 'tap';
import { chooseAction } from '../support/choose-action.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { shareFleet } from '../support/shared.ts';
import { shareBrowser } from '../support/shared-browser.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const [large = '', small = ''] = upstream.models;
const fleet = await shareFleet({ store: 'sqlite', upstream, config: {} });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');
const browser = await shareBrowser();

await test('an alias with a mirror shows how both models answer, and keeps it when it is edited', async (t) => {
  const mirror = { target: `fake/${large}`, share: 1 };
  const put = { method: 'PUT', body: { source: 'twin', target: `fake/${small}`, mirror } } as const;
  t.equal((await fleet.admin('/admin/virtual-models', put)).status, 200);
  await waitFor('the alias to be used', async () => {
    const body = { model: 'twin', messages: [{ role: 'user', content: 'Hello' }] };
    const answer = await proxy.fetch('/v1/chat/completions', { method: 'POST', body });
    await answer.body?.cancel();
    return answer.ok;
  });
  await waitFor('a comparison', async () => {
    const { mirrors } = (await (await fleet.admin('/admin/mirrors')).json()) as { mirrors: readonly object[] };
    return mirrors.length > 0;
  });
  const opened = await browser.open(t, { origin: proxy.url, path: '/models' });
  const { page, complaints, barriers, turn, picture } = opened;
  const dialog = page.getByRole('dialog');
  const row = page.getByRole('table', { name: 'Mirrors' }).getByRole('row', { name: /^twin/ });
  await row.getByText('1 request', { exact: true }).waitFor();
  t.match(await row.textContent(), new RegExp(`fake/${small}.*fake/${large}.*100%.*ms.*p95`, 's'));
  for (const theme of ['light', 'dark'] as const) {
    await turn(theme);
    t.same(await barriers(), [], theme);
    await row.scrollIntoViewIfNeeded();
    await picture(`mirrors-${theme}`);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await row.scrollIntoViewIfNeeded();
  t.same(await barriers(), [], 'narrow');
  await picture('mirrors-narrow');
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390, 'nothing scrolls sideways');
  await page.setViewportSize({ width: 1440, height: 900 });
  await chooseAction(page.getByRole('table', { name: 'Aliases' }).getByRole('row', { name: /^twin/ }), 'Edit');
  await dialog.getByLabel('Description (optional)').fill('two models');
  await dialog.getByText('The same as YAML').click();
  t.match(await dialog.locator('pre').textContent(), `mirror: ${JSON.stringify(mirror)}`);
  await dialog.getByRole('button', { name: 'Store alias' }).click();
  await page.getByText('In force on all 2 proxies.').waitFor();
  const { virtual_models: stored } = (await (await fleet.admin('/admin/virtual-models')).json()) as {
    virtual_models: readonly { source: string }[];
  };
  const kept = { source: 'twin', description: 'two models', mirror };
  t.match(
    stored.find(({ source }) => source === 'twin'),
    kept,
  );
  t.same(complaints(), []);
});
